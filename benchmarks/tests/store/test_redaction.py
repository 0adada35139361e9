"""Secrets are masked in whatever form they come, and nothing else is."""

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.store.redaction import MASK, Redactor
from swetrials.store.stream_log import StreamLog

SECRET = "sk-abc/def+123=="


@pytest.mark.parametrize(
    "said",
    [SECRET, "sk-abc%2Fdef%2B123%3D%3D", f"https://host/?key={SECRET}&x=1", f"{SECRET}{SECRET}", f"Bearer {SECRET}"],
)
def test_as_it_is_and_quoted_for_a_url(said: str) -> None:
    redactor = Redactor([SECRET])
    for masked in (redactor.text(said), redactor.bytes(said.encode()).decode()):
        assert MASK in masked
        assert "abc" not in masked


@pytest.mark.parametrize(
    "secret", ['pass"word\\1', "-----BEGIN KEY-----\nMIIEvQIBADAN\n-----END KEY-----", "pässwörter"]
)
def test_as_json_writes_it(secret: str) -> None:
    for said in (json.dumps({"out": secret}), json.dumps({"out": secret}, ensure_ascii=False)):
        assert json.loads(Redactor([secret]).text(said)) == {"out": MASK}


def test_a_variable_that_is_no_text() -> None:
    redactor = Redactor.from_environment({"MY_KEY": os.fsdecode(b"secret-\xff-value")})
    assert redactor.bytes(b"a secret-\xff-value") == b"a [redacted]"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert Redactor(["secret-1", "secret-1-and-more"]).text("secret-1-and-more") == MASK


def test_values_that_could_be_ordinary_text_are_left() -> None:
    redactor = Redactor(["abc", "1234567", ""])
    assert redactor.text("abc 1234567") == "abc 1234567"


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("ANTHROPIC_API_KEY", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("GITHUB_TOKEN", True),
        ("npm_config__authToken", True),
        ("DB_PASSWORD", True),
        ("HTTP_AUTHORIZATION", True),
        ("GIT_AUTHOR_NAME", False),
        ("GIT_AUTHOR_EMAIL", False),
        ("LANG", False),
        ("EDITOR", False),
    ],
)
def test_names_that_speak_of_a_secret(name: str, hidden: bool) -> None:
    redactor = Redactor.from_environment({name: "value-of-some-length"})
    assert (redactor.text("value-of-some-length") == MASK) is hidden
    assert redactor.hides(name, "anything") is hidden


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "32000000", False),
        ("OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX", "32000000", False),
        ("THINKING_TOKEN_BUDGET", "10000000", False),
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "sk-32000000", True),  # a secret in the wrong place
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "3200000000000000", True),  # no number of tokens
        ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "32000000\n", True),
        ("GITHUB_TOKEN", "12345678", True),
        ("MINIO_TOKEN", "12345678", True),
        ("MAX_AUTH_TOKEN", "12345678", True),
        ("TOKEN_LIMIT_KEY", "12345678", True),
        ("MAX_PASSWORD", "12345678", True),
    ],
)
def test_a_number_under_the_name_of_a_limit_of_tokens_is_no_secret(name: str, value: str, hidden: bool) -> None:
    redactor = Redactor.from_environment({name: value})
    assert redactor.hides(name, value) is hidden
    assert Redactor().hides(name, value) is hidden
    assert (MASK in redactor.text(f"see {value}")) is hidden


@pytest.mark.parametrize("value", ["/run/user/0/agent.sock", "~/.ssh/id_ed25519", "./secrets.env", "true", "False"])
def test_places_and_switches_are_no_secrets(value: str) -> None:
    assert Redactor.from_environment({"SSH_AUTH_SOCK": value}).text(f"see {value}") == f"see {value}"


def test_extra_values_are_hidden_whatever_they_are_called() -> None:
    redactor = Redactor.from_environment({"HARMLESS": SECRET}, [SECRET])
    assert redactor.text(SECRET) == MASK
    assert redactor.hides("HARMLESS", SECRET)


@given(st.text(max_size=200))
def test_text_without_a_secret_is_untouched(text: str) -> None:
    redactor = Redactor([SECRET])
    assert redactor.text(text) == text
    assert redactor.bytes(text.encode(errors="surrogatepass")) == text.encode(errors="surrogatepass")


@given(cuts=st.lists(st.integers(0, 120), max_size=20), newline=st.booleans())
def test_a_stream_cut_anywhere_never_shows_a_secret(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], newline: bool
) -> None:
    whole = f"first {SECRET}\nsecond\n\n{SECRET}{SECRET} third \xff {SECRET}".encode("latin-1") + b"\n" * newline
    path = tmp_path_factory.mktemp("log") / "attempts" / "stream.jsonl"
    with StreamLog(path, Redactor([SECRET])) as log:
        start = 0
        for cut in [*sorted(cuts), len(whole)]:
            log.write(whole[start:cut])
            start = max(start, cut)
    assert path.read_bytes() == whole.replace(SECRET.encode(), MASK.encode())


def test_a_reader_may_follow_a_stream_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl"
    with StreamLog(path, Redactor([SECRET])) as log:
        log.write(b"one\ntw")
        assert path.read_bytes() == b"one\n"
        log.write(b"o")
        assert path.read_bytes() == b"one\n"
        log.write(b"\n")
        assert path.read_bytes() == b"one\ntwo\n"


def test_a_line_of_100_megabytes_takes_no_longer_than_its_bytes(tmp_path: Path) -> None:
    chunk = b"x" * (1 << 18)
    before = time.process_time()
    with StreamLog(tmp_path / "stream.jsonl", Redactor()) as log:
        for _ in range(400):
            log.write(chunk)
    assert time.process_time() - before < 3  # joined anew with every chunk, it takes four times as long
    assert (tmp_path / "stream.jsonl").stat().st_size == 400 * len(chunk)
