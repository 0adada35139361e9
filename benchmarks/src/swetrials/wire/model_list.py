"""``GET /v1/models``: what a server says that it serves, in the shape of OpenAI's API."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import httpx

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class ServedModel:
    """One entry of the list. ``max_model_len`` is vLLM's own: the window in tokens."""

    id: str
    owned_by: str
    max_model_len: int | None


class ModelListError(Exception):
    """What answers gives no list of models; the message is what it does instead."""

    def __init__(self, kind: Literal["web_page", "key_refused", "status", "other"], message: str) -> None:
        self.kind = kind
        super().__init__(message)


def read_model_list(response: httpx.Response) -> tuple[ServedModel, ...]:
    """Return the models that an answer to ``GET /v1/models`` lists.

    Raises:
        ModelListError: the answer is something else.
    """
    if response.status_code in {401, 403}:
        raise ModelListError("key_refused", f"refuses the key (status {response.status_code})")
    if "html" in response.headers.get("content-type", "") or response.text.lstrip()[:1] == "<":
        raise ModelListError("web_page", "answers with a web page: it is no model API")
    if response.status_code != httpx.codes.OK:
        raise ModelListError("status", f"answers with status {response.status_code}")
    try:
        return tuple(_entry(entry) for entry in response.json()["data"])
    except (ValueError, KeyError, TypeError):
        raise ModelListError("other", "answers with something that is not a list of models") from None


def is_loopback(base_url: str) -> bool:
    """Whether a base URL is on this machine, where no proxy belongs in between."""
    return urlsplit(base_url).hostname in _LOOPBACK


def _entry(entry: dict[str, object]) -> ServedModel:
    name = str(entry["id"])
    window = entry.get("max_model_len")
    return ServedModel(
        id=name,
        owned_by=str(entry.get("owned_by", "")),
        max_model_len=window if isinstance(window, int) and window > 0 else None,
    )
