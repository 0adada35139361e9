"""The runner's configuration out of its four layers: flags, environment, file, defaults."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import get_origin

from swetrials.records.config import ENVIRONMENT_PREFIX, SAME_KEYS, RunnerConfig
from swetrials.store.problems import DocumentError, Problem
from swetrials.store.validation import Origin, did_you_mean, in_words, validated
from swetrials.store.yaml_source import Loc, YamlSource, read_yaml

_NOT_KEYS = frozenset({"HOME", "REPORT"})
"""Variables with the prefix that mean something else to the harness."""


def load_config(path: Path | None, environment: Mapping[str, str], flags: Mapping[str, object]) -> RunnerConfig:
    """Return the configuration: a flag beats ``SWETRIALS_*`` in the environment, that the file, that the default.

    Relative paths (``dataset``, ``output_dir``, ``clone_dir``, ``settings_file``, ``scenario``) are relative to the
    current directory wherever they are given, in the file too: the documented commands run from ``benchmarks/`` with
    ``config/runner.yaml``. In a variable or a flag the values of a list are separated by commas. An empty
    variable and a flag that is ``None`` or an empty list count as not given.

    Args:
        path: the configuration file; ``None``: there is none.
        environment: usually ``os.environ``.
        flags: values by key (``max_turns``, not ``--max-turns``), as text or typed.

    Raises:
        DocumentError: one problem per fault, naming the file and line, the variable or the flag.
    """
    return explained_config(path, environment, flags).config


@dataclass(frozen=True)
class ExplainedConfig:
    """A configuration, and where each of its values comes from.

    Attributes:
        config: the values.
        flags: the keys that a flag gives.
        variables: the keys that a variable of the environment gives.
        source: the file; ``None``: there is none.
    """

    config: RunnerConfig
    flags: frozenset[str]
    variables: frozenset[str]
    source: YamlSource | None

    def origin(self, key: str) -> Origin | None:
        """Return the flag, the variable, or the place in the file that gives a key; ``None``: its default holds."""
        told = (self._own_origin(name) for name in (key, SAME_KEYS.get(key)) if name is not None)
        return next((origin for origin in told if origin is not None), None)

    def _own_origin(self, key: str) -> Origin | None:
        in_file = self.source if self.source is not None and (key,) in self.source.places else None
        return _origin(key, (key,), self.flags, self.variables, in_file)


def explained_config(path: Path | None, environment: Mapping[str, str], flags: Mapping[str, object]) -> ExplainedConfig:
    """Return the configuration as :func:`load_config` does, with what says where each value comes from.

    Raises:
        DocumentError: as there.
    """
    source = read_yaml(path) if path is not None else None
    from_file = _file_layer(source)
    from_environment = {key: _value(key, text) for key, text in _environment_layer(environment).items()}
    from_flags = {key: _value(key, given) for key, given in flags.items() if given not in (None, [], ())}

    def locate(loc: Loc) -> Origin:
        key = str(loc[0]) if loc else ""
        return _origin(key, loc, from_flags, from_environment, source) or Origin("configuration")

    problems = _misspelt_variables(environment)
    if from_flags.get("tasks") == ():
        # Out of a script, with a variable that turned out empty: every task would be a dear surprise.
        problems.append(Problem("--tasks", None, "", "names no task; leave it out to run all"))
    try:
        config = validated(RunnerConfig, {**from_file, **from_environment, **from_flags}, locate)
    except DocumentError as error:
        raise DocumentError([*problems, *map(_named_once, error.problems)]) from None
    if problems:
        raise DocumentError(problems)
    return ExplainedConfig(config, frozenset(from_flags), frozenset(from_environment), source)


def _origin(
    key: str, loc: Loc, flags: Container[str], variables: Container[str], source: YamlSource | None
) -> Origin | None:
    """Return what gives a value: the strongest layer that has its key; ``None``: no layer at all."""
    if key in flags:
        return Origin(f"--{key.replace('_', '-')}")
    if key in variables:
        return Origin(ENVIRONMENT_PREFIX + key.upper())
    return Origin(source.file, source.places[loc]) if source is not None else None


def _named_once(problem: Problem) -> Problem:
    """Return a problem without its key where a flag or a variable of that name stands before it already."""
    spellings = (f"--{problem.field.replace('_', '-')}", ENVIRONMENT_PREFIX + problem.field.upper())
    return replace(problem, field="") if problem.file in spellings else problem


def _file_layer(source: YamlSource | None) -> dict[str, object]:
    if source is None:
        return {}
    if isinstance(source.data, dict):
        return source.data
    message = f"expected keys with values, got {in_words(source.data, source.places[()].text)}"
    raise DocumentError([Problem(source.file, source.places[()].line, "", message)])


def _environment_layer(environment: Mapping[str, str]) -> dict[str, str]:
    given = {key: environment.get(ENVIRONMENT_PREFIX + key.upper(), "") for key in RunnerConfig.model_fields}
    return {key: text for key, text in given.items() if text}


def _value(key: str, given: object) -> object:
    field = RunnerConfig.model_fields.get(key)
    if isinstance(given, PurePath):
        return str(given)
    if field is not None and get_origin(field.annotation) is tuple and isinstance(given, str | list | tuple):
        texts = [given] if isinstance(given, str) else given
        return tuple(part.strip() for text in texts for part in str(text).split(",") if part.strip())
    return given


def _misspelt_variables(environment: Mapping[str, str]) -> list[Problem]:
    known = {key.upper() for key in RunnerConfig.model_fields}
    given = (name.removeprefix(ENVIRONMENT_PREFIX) for name in environment if name.startswith(ENVIRONMENT_PREFIX))
    strange = (name for name in given if name not in known | _NOT_KEYS)
    hints = ((name, did_you_mean(name, known, ENVIRONMENT_PREFIX)) for name in strange)
    return [Problem(ENVIRONMENT_PREFIX + name, None, "", f"unknown variable{hint}") for name, hint in hints if hint]
