"""The token that Hugging Face gives downloads their full speed for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from swetrials.errors import KnownError

VARIABLE = "HF_TOKEN"
FILE = ".hf_token"

WITHOUT_TOKEN = (
    f"no Hugging Face token ({VARIABLE}, or a file {FILE} in benchmarks/): models behind a licence are refused, "
    "and a first download of 60 to 160 GB crawls"
)


class TokenError(KnownError):
    """The token's file cannot be used; the message never holds what is in it."""

    exit_code = 3


@dataclass(frozen=True)
class HubToken:
    """A token and where it was found."""

    value: SecretStr
    source: str


def find_token(environment: Mapping[str, str], project: Path) -> HubToken | None:
    """Return the token of ``HF_TOKEN``, else that of ``.hf_token`` in the project's working folder.

    Raises:
        TokenError: the file cannot be read, or holds something else than one word.
    """
    if value := environment.get(VARIABLE, "").strip():
        return HubToken(SecretStr(value), VARIABLE)
    path = project / FILE
    if not path.exists():
        return None
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise TokenError(f"{path}: cannot be read: {reason}") from None
    if len(words) != 1:
        raise TokenError(f"{path}: expected one token and nothing else, found {len(words)} words")
    return HubToken(SecretStr(words[0]), str(path))
