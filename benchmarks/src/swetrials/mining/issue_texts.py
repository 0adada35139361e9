"""Texts of issues and requests out of a forge's export.

That is what ``gh issue list --state all --json number,title,body`` and ``gh pr list --state all --json
number,title,body`` print: a list of objects (GitHub CLI manual, "gh issue list", "JSON Fields"). A request may name the
issues that it closes in ``closingIssuesReferences``. GitLab's ``glab issue list --output json`` has ``iid`` and
``description`` in place of ``number`` and ``body``.
"""

from pathlib import Path

import orjson

from swetrials.errors import UsageError
from swetrials.store.reading import read_bytes

_HOW = "write it with: gh issue list --state all --limit 10000 --json number,title,body"


def read_issue_texts(path: Path) -> dict[int, str]:
    """Return title and body of each issue or request by its number.

    A request that closes an issue of the same export has that one's text, which says what was wanted and not what was
    done.

    Raises:
        UsageError: the file is not there, or is no such export.
        OSError: it cannot be read.
    """
    try:
        data = orjson.loads(read_bytes(path))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; {_HOW}") from None
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{path} is no JSON: {error}; {_HOW}") from None
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise UsageError(f"{path} holds no list of issues; {_HOW}")
    texts: dict[int, str] = {}
    closed: dict[int, list[int]] = {}
    for index, one in enumerate(data):
        number = one.get("number", one.get("iid"))
        if not isinstance(number, int):
            raise UsageError(f"{path}: entry {index + 1} has no number; {_HOW}")
        title, body = one.get("title") or "", one.get("body") or one.get("description") or ""
        texts[number] = f"{title}\n\n{body}".strip()
        references = one.get("closingIssuesReferences") or []
        closed[number] = [ref["number"] for ref in references if isinstance(ref, dict) and "number" in ref]
    return {number: next((texts[n] for n in closed[number] if texts.get(n)), text) for number, text in texts.items()}
