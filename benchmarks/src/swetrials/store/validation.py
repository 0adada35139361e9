"""Plain values into records, with every fault in plain words at the place where it was written."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from swetrials.store.problems import DocumentError, Problem
from swetrials.store.yaml_source import Loc, Place, field_name

R = TypeVar("R", bound=BaseModel)

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "string_unicode": "UTF-8 text",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
}
_BOUNDS = {
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
}
_MAX_SHOWN = 60
_MAX_MESSAGE = 400


@dataclass(frozen=True)
class Origin:
    """Where a value came from: a place in a file, or, without one, a variable or a flag."""

    file: str
    place: Place | None = None


Locate = Callable[[Loc], Origin]
"""Where the value at a way through the data came from. The way always leads to a value that is there."""


def validated(model: type[R], data: object, locate: Locate) -> R:
    """Return ``data`` as a record of ``model``.

    Raises:
        DocumentError: every fault that was found, each at its own place.
    """
    try:
        record = model.model_validate(data)
    except ValidationError as error:
        faults = [_Fault(model, data, details) for details in error.errors(include_url=False)]
        raise DocumentError(fault.problem(locate) for fault in faults if not fault.is_echo) from None
    booleans = [_boolean_for_number(loc, locate(loc)) for loc in _numbers_from_booleans(data, record)]
    if booleans:
        raise DocumentError(booleans)
    return record


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """Return ``; did you mean '...'?`` when a known word is close to ``word``, else nothing.

    ``prefix`` stands before the suggestion and takes no part in the comparison.
    """
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return f"; did you mean {prefix + by_lower[near[0]]!r}?" if near else ""


class _Fault:
    """One of pydantic's error details, looked at from the data's side."""

    def __init__(self, model: type[BaseModel], data: object, details: ErrorDetails) -> None:
        self.model = model
        self.kind = details["type"]
        self.context: dict[str, Any] = details.get("ctx", {})
        self.standard_message = details["msg"]
        self.loc, self.raw = _existing(data, (*details["loc"], *self.context.get("at", ())))
        self.missing = str(details["loc"][-1]) if self.kind == "missing" else None

    @property
    def is_echo(self) -> bool:
        """Whether pydantic calls a list too short only because the items in it are faulty, which it says as well."""
        return (
            self.kind == "too_short"
            and isinstance(self.raw, list | tuple)
            and len(self.raw) >= self.context["min_length"]
        )

    def problem(self, locate: Locate) -> Problem:
        """Return the fault as a problem at the place that its writer has to look at."""
        origin = locate(self.loc)
        line = None
        if origin.place is not None:
            points_at_key = self.missing is not None or self.kind == "extra_forbidden"
            line = origin.place.key_line if points_at_key else origin.place.line
        loc = self.loc if self.missing is None else (*self.loc, self.missing)
        message = self._message(origin.place.text if origin.place else None)
        if len(message) > _MAX_MESSAGE:
            message = message[:_MAX_MESSAGE] + "..."
        return Problem(origin.file, line, field_name(loc), message)

    def _message(self, written: str | None) -> str:
        shown = "a value" if self._is_secret() else in_words(self.raw, written)
        if self.kind == "missing":
            return "the key is required and missing" + self._about_missing()
        if self.kind == "extra_forbidden":
            return self._unknown_key(str(self.loc[-1]))
        if self.kind in {"literal_error", "enum"}:
            return self._not_a_choice(shown, written)
        if self.kind in _EXPECTED:
            hint = self._in_quotes(written) or self._as_list() or self._colon()
            return f"expected {_EXPECTED[self.kind]}, got {shown}{hint}"
        if self.kind in _BOUNDS:
            bound = {name: f"{limit:.15g}" for name, limit in self.context.items()}
            return f"{_BOUNDS[self.kind].format(**bound)}, not {written or self.raw}"
        if self.kind in {"too_short", "string_too_short"} and self.context["min_length"] == 1:
            return "must not be empty"
        if self.kind == "value_error":
            return str(self.context["error"])
        return self.standard_message[0].lower() + self.standard_message[1:]

    def _unknown_key(self, key: str) -> str:
        if key == "<<":  # YAML's merge key, which other programs' files may well use
            return "the merge key << is not supported: write the keys out"
        for model in self._models_at(self.loc[:-1]):
            elsewhere: Mapping[str, str] = getattr(model, "keys_of_others", {})
            if key in elsewhere:
                return f"not a key here: {elsewhere[key]}"
        return f"unknown key{did_you_mean(key, self._known_keys())}"

    def _in_quotes(self, written: str | None) -> str:
        if self.kind != "string_type" or not isinstance(self.raw, bool | int | float):
            return ""
        return "; write it in quotes" + (f': "{written}"' if written and not self._is_secret() else "")

    def _as_list(self) -> str:
        """Return how to write one item as a list, where that is plain to write."""
        if self.kind in {"tuple_type", "list_type"} and isinstance(self.raw, dict) and not self._colon():
            return "; each item of a list begins with '- '"
        if self.kind not in {"tuple_type", "list_type"} or not isinstance(self.raw, str) or len(self.raw) > _MAX_SHOWN:
            return ""
        return f"; write it as a list: [{self.raw}]" if re.fullmatch(r"[\w./ =-]*\w[\w./ =-]*", self.raw) else ""

    def _colon(self) -> str:
        """Return what to do about a text that became a key by its colon: no key here has a space in it."""
        is_text = isinstance(self.raw, dict) and any(isinstance(key, str) and " " in key for key in self.raw)
        return "; text that holds ': ' has to be in quotes" if is_text else ""

    def _about_missing(self) -> str:
        hints = [getattr(model, "when_missing", {}).get(self.missing, "") for model in self._models_at(self.loc)]
        return next((f"; {hint}" for hint in hints if hint), "")

    def _not_a_choice(self, shown: str, written: str | None) -> str:
        choices = tuple(re.findall(r"'([^']*)'", self.context["expected"]))
        if not isinstance(self.raw, str):
            if written in choices:
                return f'{written} is not text; write it in quotes: "{written}"'
            return f"expected one of {', '.join(choices)}, got {shown}"
        quoted = repr(self.raw[:_MAX_SHOWN])
        return f"{quoted} is not one of {', '.join(choices)}{did_you_mean(self.raw, choices)}"

    def _known_keys(self) -> tuple[str, ...]:
        return tuple(name for model in self._models_at(self.loc[:-1]) for name in model.model_fields)

    def _models_at(self, loc: Loc) -> set[type[BaseModel]]:
        models = {self.model}
        for part in loc:
            fields = [model.model_fields[part] for model in models if part in model.model_fields]
            if fields:
                models = {inner for found in fields for inner in _models_in(found.annotation)}
        return models

    def _is_secret(self) -> bool:
        top: FieldInfo | None = self.model.model_fields.get(str(self.loc[0])) if self.loc else None
        return top is not None and SecretStr in (top.annotation, *get_args(top.annotation))


def _existing(data: object, loc: Loc) -> tuple[Loc, object]:
    """Follow ``loc`` through the data, leaving out the steps that are names of union members and not keys."""
    found: list[str | int] = []
    here: Any = data
    for part in loc:
        is_key = isinstance(here, dict) and part in here
        is_index = isinstance(here, list | tuple) and isinstance(part, int) and part < len(here)
        if is_key or is_index:
            here = here[part]
            found.append(part)
    return tuple(found), here


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _boolean_for_number(loc: Loc, origin: Origin) -> Problem:
    line = origin.place.line if origin.place else None
    return Problem(origin.file, line, field_name(loc), "expected a number, got true or false")


def _numbers_from_booleans(raw: object, value: object, loc: Loc = ()) -> Iterator[Loc]:
    """Find ``true`` and ``false`` that were taken for 1 and 0, as pydantic does outside its strict mode."""
    if isinstance(raw, bool) and isinstance(value, int | float) and not isinstance(value, bool):
        yield loc
    elif isinstance(raw, dict):
        for key, inner in raw.items():
            counterpart = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
            yield from _numbers_from_booleans(inner, counterpart, (*loc, key))
    elif isinstance(raw, list) and isinstance(value, list | tuple):
        for index, (inner, counterpart) in enumerate(zip(raw, value, strict=False)):
            yield from _numbers_from_booleans(inner, counterpart, (*loc, index))


def in_words(raw: object, written: str | None) -> str:
    """Return a value in words for a message: ``the number 1.10``. ``written`` is its text in the file."""
    match raw:
        case None:
            return "nothing"
        case bool():
            return written or str(raw).lower()
        case int() | float():
            return f"the number {written or raw}"
        case str():
            return f"the text {raw[:_MAX_SHOWN]!r}" + ("..." if len(raw) > _MAX_SHOWN else "")
        case list() | tuple():
            return "a list"
        case _:
            return "keys with values"
