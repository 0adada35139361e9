"""What commands run in: what a dataset asks for, and what there was."""

import hashlib
import json
import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from swetrials.records.argv import Argv
from swetrials.records.record import Record, fault_at
from swetrials.records.sealing import NetworkAllowed

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,2}")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?")
_OWN_VARIABLES = frozenset(
    {"HOME", "PATH", "TMPDIR", "TMP", "TEMP", "ATTEMPT_ID", "LD_PRELOAD", "LD_AUDIT", "VIRTUAL_ENV"}
)


def variable_name(value: str) -> str:
    """Return ``value`` when it can name a variable that a dataset may set or ask for.

    Raises:
        ValueError: it is no name, or the variable is the harness's own to set.
    """
    if not _VARIABLE.fullmatch(value):
        raise ValueError(f"{value!r} is not the name of a variable")
    if value in _OWN_VARIABLES:
        raise ValueError(f"{value} is set by the harness itself")
    return value


def version_number(value: str) -> str:
    """Return ``value`` when it is a version such as ``3.12``, and can be no option of a program.

    Raises:
        ValueError: it is none.
    """
    if not _VERSION.fullmatch(value):
        raise ValueError(f'{value!r} is not a version such as "3.12"')
    return value


def registry_host(value: str) -> str:
    """Return ``value`` when it is the name of a host, with a port or without.

    Raises:
        ValueError: it is none.
    """
    if not _HOST.fullmatch(value):
        raise ValueError(f"{value!r} is not the name of a host, such as packages.example or packages.example:8443")
    return value.lower()


def glob_in_repository(value: str) -> str:
    """Return ``value`` when it is a pattern for files inside a repository.

    Raises:
        ValueError: it is absolute, climbs out, looks like an option, or points into git's own folder.
    """
    parts = value.split("/")
    if not value or value.startswith(("/", "-", "~")) or {"", "..", ".git"} & set(parts) or not value.isprintable():
        raise ValueError(f"{value!r} is not a pattern for files of the repository, such as requirements/*.txt")
    return value


def variable_value(value: str) -> str:
    """Return ``value`` when a program can be given it as a variable.

    Raises:
        ValueError: there is a NUL in it.
    """
    if "\0" in value:
        raise ValueError("a variable cannot hold a NUL character")
    return value


def program_first(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command whose first word is a program.

    Raises:
        ValueError: it is empty, or an option.
    """
    if not argv[0] or argv[0].startswith("-"):
        raise ValueError(f"{argv[0]!r} is not a program")
    return argv


SetupCommand = Annotated[Argv, AfterValidator(program_first)]
VariableValue = Annotated[str, AfterValidator(variable_value)]
VariableName = Annotated[str, AfterValidator(variable_name)]
Version = Annotated[str, AfterValidator(version_number)]
RegistryHost = Annotated[str, AfterValidator(registry_host)]
RepositoryGlob = Annotated[str, AfterValidator(glob_in_repository)]


class EnvironmentSpec(Record):
    """What the commands of an agent and of a verification run in. It is prepared once for equal content."""

    keys_of_others = {
        "image": "leave it out: there are no containers yet; python, node and setup prepare this machine's files",
        "containerfile": "leave it out: there are no containers yet; setup prepares this machine's files",
    }

    python: Version | None = Field(
        None, description="version of the virtual environment that comes first on PATH; default: what the machine has"
    )
    node: Version | None = Field(None, description="major version of Node that has to be there")
    setup: tuple[SetupCommand, ...] = Field((), description="commands in the checkout, once per content, with network")
    setup_inputs: tuple[RepositoryGlob, ...] = Field(
        (), description="further files of the repository on which setup depends"
    )
    setup_secrets: tuple[VariableName, ...] = Field((), description="your own variables that setup alone may see")
    env: dict[VariableName, VariableValue] = Field({}, description="variables of every command")
    network: NetworkAllowed = Field(
        "model", description="model: the model's route and nothing else; registries: and package registries; open"
    )
    registries: tuple[RegistryHost, ...] = Field(
        (), description="hosts beside those of the machine's own configuration, for network: registries"
    )
    memory_gb: float | None = Field(None, gt=0, description="limit of memory, where the kind of environment keeps one")

    @model_validator(mode="after")
    def _every_key_has_an_effect(self) -> Self:
        if self.registries and self.network != "registries":
            raise fault_at("registries are reached with network: registries alone; write that, too", "registries")
        for name in ("setup_inputs", "setup_secrets"):
            if getattr(self, name) and not self.setup:
                raise fault_at(f"{name} are for setup, and there is none", name)
        return self

    @model_validator(mode="after")
    def _each_is_named_once(self) -> Self:
        for name in ("setup_inputs", "setup_secrets", "registries"):
            values: tuple[str, ...] = getattr(self, name)
            for index, value in enumerate(values):
                if value in values[:index]:
                    raise fault_at(f"{value!r} is named twice", name, index)
        for index, secret in enumerate(self.setup_secrets):
            if secret in self.env:
                raise fault_at(f"{secret} is in env, too, which every command sees", "setup_secrets", index)
        return self

    @property
    def prepares(self) -> bool:
        """Whether anything has to be there before a command runs."""
        return bool(self.python or self.setup)

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of what is asked for; ``None``: nothing is.

        With the commit it says what is prepared, but for the versions that a machine has of its tools.
        """
        if self == EnvironmentSpec():
            return None
        asked = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class EnvironmentRecord(Record):
    """What a trial ran in.

    Attributes:
        kind: what kept it from the machine.
        engine: the program that did, with its version; ``None``: nothing did.
        spec_sha256: of what the dataset asks for; ``None``: nothing.
        preparation_sha256: of the content that was prepared; ``None``: nothing was.
        cores: processor cores that it could use; 1.5: a quota lets it have one and a half.
        memory_gb: memory of the machine, or what a control group leaves of it, in 10**9 bytes.
        load: the machine's load over the last minute, when it began.
        limits_kept: limits that were asked for and kept.
        limits_not_kept: limits that were asked for, and that this kind cannot keep.
    """

    kind: str
    engine: str | None = None
    spec_sha256: str | None = None
    preparation_sha256: str | None = None
    cores: float | None = None
    memory_gb: float | None = None
    load: float | None = None
    limits_kept: tuple[str, ...] = ()
    limits_not_kept: tuple[str, ...] = ()
