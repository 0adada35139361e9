"""Taking secrets out of whatever is about to be written."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Self
from urllib.parse import quote

MASK = "[redacted]"

_SHORTEST = 8
# Shorter values cannot be told from ordinary text: masking "abc" everywhere would ruin the artifacts.
# They are kept from the agent by the allow-list of its environment instead.

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|COOKIE|AUTH(?!OR(?!IZ))", re.IGNORECASE)
# The name of a commit's author is in no way secret, and stands in many a text.
_LIMIT_NAME = re.compile(r"(?:^|_)(?:MAX|MIN|LIMIT|BUDGET|THRESHOLD|WINDOW)(?:_|$)", re.IGNORECASE)
_AMOUNT = re.compile(r"[0-9]{1,9}")
_AS_BYTES = "surrogateescape"
# How Python hands over a variable that is not UTF-8.

_PLACE = re.compile(r"^[/.~]|^(?:true|false|yes|no)$", re.IGNORECASE)


class Redactor:
    """Replaces known secret values: as they are, quoted for a URL, and as JSON writes them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Take the values to hide; values under eight characters are not secrets that can be found again."""
        forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._forms = frozenset(forms)
        self._text = re.compile("|".join(map(re.escape, longest_first))) if forms else None
        self._bytes = (
            re.compile(b"|".join(re.escape(f.encode(errors=_AS_BYTES)) for f in longest_first)) if forms else None
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], extra: Iterable[str] = ()) -> Self:
        """Return a redactor for the values of every variable whose name speaks of a secret, and for ``extra``."""
        named = (v for name, v in environment.items() if _speaks_of_a_secret(name, v) and not _PLACE.search(v))
        return cls([*named, *extra])

    def and_also(self, secrets: Iterable[str]) -> Self:
        """Return a redactor that hides further values, too."""
        return type(self)([*self._forms, *secrets])

    def text(self, text: str) -> str:
        """Return ``text`` with every secret masked."""
        return self._text.sub(MASK, text) if self._text else text

    def bytes(self, data: bytes) -> bytes:
        """Return ``data`` with every secret masked."""
        return self._bytes.sub(MASK.encode(), data) if self._bytes else data

    def hides(self, name: str, value: str) -> bool:
        """Whether a variable has to be masked when it is shown."""
        return value in self._forms or _speaks_of_a_secret(name, value)


def _speaks_of_a_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret, as its name has it.

    One that names a limit of tokens and holds a number, such as ``CLAUDE_CODE_MAX_OUTPUT_TOKENS=32000``, holds none.
    The name has to say a word for a limit and no other word for a secret: a token may well be of digits alone.
    """
    said = {word.upper() for word in _SECRET_NAME.findall(name)}
    is_a_limit = said == {"TOKEN"} and _LIMIT_NAME.search(name) and _AMOUNT.fullmatch(value)
    return bool(said) and not is_a_limit


def _forms(secret: str) -> tuple[str, ...]:
    in_json = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    return (secret, quote(secret, safe="", errors=_AS_BYTES), *in_json)
