"""A hosting path of somebody else's: a model that says one sentence, served on loopback by the provider itself."""

import json
import threading
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pydantic import SecretStr

from swetrials import Check, HostingRecord, NoTelemetry, Route

USAGE = {"input_tokens": 7, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 3}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = {"type": "text", "text": "Polly wants a test."}
        answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "content": [said]}
        body = json.dumps({**answer, "stop_reason": "end_turn", "stop_sequence": None, "usage": USAGE}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Parrot:
    name = serving = "parrot"
    dialects = frozenset({"anthropic"})
    priced = "free"
    scripted = True

    def preview(self, config):
        return Route(self.dialects, "http://127.0.0.1:PORT", SecretStr("key"), config.model)

    @asynccontextmanager
    async def open(self, config):
        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield AtWork(f"http://127.0.0.1:{server.server_port}", config.model)
            server.shutdown()


class AtWork:
    def __init__(self, address, model):
        self.address, self.model = address, model

    async def checks(self):
        return [Check("parrot", "ok", self.address)]

    def route(self, attempt_id):
        return Route(Parrot.dialects, self.address, SecretStr("key"), self.model)

    def served(self, attempt_id):
        return None

    def hosted_as(self):
        return HostingRecord()

    def telemetry(self, *, single_tenant):
        return NoTelemetry()
