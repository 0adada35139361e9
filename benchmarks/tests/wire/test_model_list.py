"""What answers to ``GET /v1/models``, told apart."""

import httpx
import pytest

from swetrials.wire.model_list import ModelListError, ServedModel, is_loopback, read_model_list


def test_vllms_list() -> None:
    entry = {"id": "glm-5.2", "object": "model", "owned_by": "vllm", "max_model_len": 300_000}
    assert read_model_list(httpx.Response(200, json={"data": [entry]})) == (ServedModel("glm-5.2", "vllm", 300_000),)


def test_a_list_without_windows() -> None:
    entries = [{"id": "a"}, {"id": "b", "max_model_len": "many"}, {"id": "c", "max_model_len": 0}]
    assert [m.max_model_len for m in read_model_list(httpx.Response(200, json={"data": entries}))] == [None] * 3


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (httpx.Response(401, json={"error": "no key"}), "key_refused"),
        (httpx.Response(403), "key_refused"),
        (httpx.Response(200, html="<!doctype html><p>hello"), "web_page"),
        (httpx.Response(404, html="<html>not found"), "web_page"),
        (httpx.Response(200, text="  <html>mistyped"), "web_page"),
        (httpx.Response(404, json={"detail": "Not Found"}), "status"),
        (httpx.Response(500, text="oops"), "status"),
        (httpx.Response(200, text="hello"), "other"),
        (httpx.Response(200, json={"models": []}), "other"),
        (httpx.Response(200, json=[1]), "other"),
        (httpx.Response(200, json={"data": ["a"]}), "other"),
        (httpx.Response(200, json={"data": [{"name": "a"}]}), "other"),
        (httpx.Response(200, json={"data": None}), "other"),
    ],
)
def test_everything_else(response: httpx.Response, kind: str) -> None:
    with pytest.raises(ModelListError) as raised:
        read_model_list(response)
    assert raised.value.kind == kind


@pytest.mark.parametrize(
    ("base_url", "here"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost", True),
        ("http://[::1]:8000", True),
        ("http://10.0.0.7:8000", False),
        ("https://127.0.0.1.example.com", False),
    ],
)
def test_loopback(base_url: str, here: bool) -> None:
    assert is_loopback(base_url) is here
