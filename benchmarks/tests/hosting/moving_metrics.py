"""A small HTTP server whose ``/metrics`` move with each look: a recorded vLLM's, its counters counting."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

RECORDED = (Path(__file__).parents[1] / "fixtures" / "vllm-metrics.txt").read_text(encoding="utf-8")

PROMPT_STEP, GENERATION_STEP, QUERIES_STEP, HITS_STEP = 300, 20, 100, 75
"""How much each counter grows from one look to the next."""


class MovingMetrics:
    """Serves metrics on loopback for as long as the block runs; ``started`` tells one run from the next."""

    def __init__(self, port: int = 0, *, started: float = 1000.0) -> None:
        owner = self
        self.looks = 0
        self._started = started

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = owner.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        """Where the metrics are."""
        return f"http://127.0.0.1:{self.port}/metrics"

    def text(self) -> str:
        """Return the metrics of the next look."""
        values = {
            "vllm:prompt_tokens_total": self.looks * PROMPT_STEP,
            "vllm:generation_tokens_total": self.looks * GENERATION_STEP,
            "vllm:prefix_cache_queries_total": self.looks * QUERIES_STEP,
            "vllm:prefix_cache_hits_total": self.looks * HITS_STEP,
            "vllm:num_requests_running": 3,
            "vllm:num_requests_waiting": 1,
            "vllm:kv_cache_usage_perc": 0.25,
            "process_start_time_seconds": self._started,
        }
        self.looks += 1
        text = RECORDED
        for name, value in values.items():
            text, found = re.subn(rf"^({name}(?:{{[^}}]*}})?) .*$", rf"\g<1> {value}", text, flags=re.MULTILINE)
            assert found == 1, name
        return text

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
