"""STS and Bedrock's control plane on loopback, as far as the checks ask them."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

ACCOUNT = "123456789012"
GOOD_KEY = "AKIDEXAMPLE"
PROFILE_ARN = f"arn:aws:bedrock:us-east-1:{ACCOUNT}:application-inference-profile/abc123def"

_MODELS = [
    {"modelId": "anthropic.claude-haiku-4-5-20251001-v1:0", "inferenceTypesSupported": ["ON_DEMAND"]},
    {"modelId": "anthropic.claude-opus-5", "inferenceTypesSupported": ["INFERENCE_PROFILE"]},
    {"modelId": "qwen.qwen3-32b", "inferenceTypesSupported": ["ON_DEMAND"]},
]
_PROFILES = {
    "SYSTEM_DEFINED": [
        (
            "us.anthropic.claude-opus-5",
            f"arn:aws:bedrock:us-east-1:{ACCOUNT}:inference-profile/us.anthropic.claude-opus-5",
        ),
        ("global.anthropic.claude-opus-5", f"arn:aws:bedrock:us-east-1:{ACCOUNT}:inference-profile/global.opus"),
    ],
    "APPLICATION": [("abc123def", PROFILE_ARN)],
}
_IDENTITY = f"""<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
<Arn>arn:aws:sts::{ACCOUNT}:assumed-role/Developer/jo</Arn><UserId>X:jo</UserId><Account>{ACCOUNT}</Account>
</GetCallerIdentityResult></GetCallerIdentityResponse>"""
_REFUSAL = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>InvalidClientTokenId</Code><Message>The security token included in the request is invalid.</Message></Error>
</ErrorResponse>"""


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["content-length"]))
        assert b"Action=GetCallerIdentity" in asked
        good = f"Credential={GOOD_KEY}/" in self.headers["authorization"]
        self._answer(200 if good else 403, (_IDENTITY if good else _REFUSAL).encode(), "text/xml")

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if not re.search(f"Credential={GOOD_KEY}/", self.headers.get("authorization", "")):
            self._json({"message": "not authorized to perform: bedrock:ListFoundationModels"}, 403)
        elif parts.path == "/foundation-models":
            self._json({"modelSummaries": [{**model, "modelArn": f"arn:{model['modelId']}"} for model in _MODELS]})
        else:
            profiles, place = _PROFILES[query["type"][0]], int(query.get("nextToken", ["0"])[0])
            more = {"nextToken": str(place + 1)} if place + 1 < len(profiles) else {}
            name, arn = profiles[place]
            self._json({"inferenceProfileSummaries": [_summary(name, arn)], **more})

    def _json(self, body: dict[str, Any], status: int = 200) -> None:
        self._answer(status, orjson.dumps(body), "application/json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if status == 403:
            self.send_header("x-amzn-errortype", "AccessDeniedException")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return None


def _summary(name: str, arn: str) -> dict[str, Any]:
    now = "2026-01-01T00:00:00Z"
    kind = {"inferenceProfileName": name, "createdAt": now, "updatedAt": now, "models": [], "status": "ACTIVE"}
    return {"inferenceProfileId": name, "inferenceProfileArn": arn, "type": "SYSTEM_DEFINED", **kind}


@contextmanager
def fake_aws() -> Iterator[dict[str, str]]:
    """Answer on loopback, and give the environment that sends boto3 there and nowhere else."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield {
            "AWS_ENDPOINT_URL_STS": url,
            "AWS_ENDPOINT_URL_BEDROCK": url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
