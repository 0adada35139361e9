"""Which indexes of packages uv, pip and npm are configured with on this machine.

Read are variables and the files of the machine and of its user, in the order in which each tool lets one win over
another; a repository's own files are not, for whoever works in it writes them. Sources: pip's page "Configuration",
uv's pages "Configuration files" and "Environment variables", npm's pages "npmrc" and "config".
"""

import configparser
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Origin = str
"""Where an address stands: a variable's name, or a file's."""


@dataclass(frozen=True)
class Index:
    """The address of an index, and where it stands."""

    address: str
    origin: Origin


@dataclass
class ToolIndexes:
    """What one tool is configured with; what cannot be read is told in ``faults``.

    Attributes:
        default: the index that it asks first, or alone.
        further: the ones beside it.
        faults: one line for each file that cannot be read.
    """

    default: Index | None = None
    further: list[Index] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Machine:
    """Where a tool looks for its configuration.

    Attributes:
        variables: of the user who runs the harness.
        home: of that user.
        system: the machine's folder of configuration.
    """

    variables: Mapping[str, str]
    home: Path
    system: Path = Path("/etc")

    @property
    def user_config(self) -> Path:
        """The user's folder of configuration (XDG)."""
        return Path(self.variables.get("XDG_CONFIG_HOME") or self.home / ".config")

    @property
    def system_configs(self) -> list[Path]:
        """The machine's folders of configuration (XDG), the last of which wins."""
        named = self.variables.get("XDG_CONFIG_DIRS")
        return [Path(folder) for folder in reversed(named.split(":")) if folder] if named else [self.system / "xdg"]


def pip_indexes(machine: Machine) -> ToolIndexes:
    """Return pip's. The sections of single commands count as indexes beside the default."""
    found = ToolIndexes()
    for file in _pip_files(machine):
        _read_pip_file(file, found)
    if default := machine.variables.get("PIP_INDEX_URL"):
        found.default = Index(default, "PIP_INDEX_URL")
    if further := machine.variables.get("PIP_EXTRA_INDEX_URL"):
        found.further = _words(further, "PIP_EXTRA_INDEX_URL")
    return found


def _pip_files(machine: Machine) -> list[Path]:
    named = machine.variables.get("PIP_CONFIG_FILE")
    if named == "/dev/null":
        return []
    files = [folder / "pip" / "pip.conf" for folder in machine.system_configs]
    files += [machine.system / "pip.conf", machine.home / ".pip" / "pip.conf", machine.user_config / "pip" / "pip.conf"]
    return [*files, Path(named)] if named else files


def _read_pip_file(file: Path, found: ToolIndexes) -> None:
    parser = configparser.RawConfigParser()
    try:
        text = _text(file, found)
        parser.read_string(text, str(file))
    except configparser.Error:
        found.faults.append(f"{file}: is no file of configuration")
        return
    for section in parser.sections():
        values = {name.replace("_", "-"): value for name, value in parser.items(section)}
        if section == "global" and values.get("index-url"):
            found.default = Index(values["index-url"].strip(), str(file))
        elif values.get("index-url"):
            found.further += _words(values["index-url"], str(file))
        found.further += _words(values.get("extra-index-url", ""), str(file))


def uv_indexes(machine: Machine) -> ToolIndexes:
    """Return uv's."""
    found = ToolIndexes()
    for file in _uv_files(machine):
        _read_uv_file(file, found)
    for name in ("UV_INDEX_URL", "UV_DEFAULT_INDEX"):
        if default := machine.variables.get(name):
            found.default = Index(default, name)
    for name in ("UV_EXTRA_INDEX_URL", "UV_INDEX"):
        found.further += _words(machine.variables.get(name, ""), name)
    return found


def _uv_files(machine: Machine) -> list[Path]:
    if named := machine.variables.get("UV_CONFIG_FILE"):
        return [Path(named)]
    if machine.variables.get("UV_NO_CONFIG"):
        return []
    folders = [machine.system, *machine.system_configs, machine.user_config]
    return [folder / "uv" / "uv.toml" for folder in folders]


def _read_uv_file(file: Path, found: ToolIndexes) -> None:
    try:
        said = tomllib.loads(_text(file, found))
    except tomllib.TOMLDecodeError:
        found.faults.append(f"{file}: is no TOML")
        return
    for table in (said.get("pip"), said):
        if isinstance(table, dict):
            _read_uv_table(table, str(file), found)


def _read_uv_table(table: Mapping[str, Any], origin: Origin, found: ToolIndexes) -> None:
    if isinstance(default := table.get("index-url"), str):
        found.default = Index(default, origin)
    if isinstance(further := table.get("extra-index-url"), list):
        found.further += [Index(address, origin) for address in further if isinstance(address, str)]
    indexes = table.get("index")
    for index in indexes if isinstance(indexes, list) else []:
        if not isinstance(index, dict) or not isinstance(address := index.get("url"), str):
            continue
        if index.get("default") is True:
            found.default = Index(address, origin)
        else:
            found.further.append(Index(address, origin))


def npm_indexes(machine: Machine) -> ToolIndexes:
    """Return npm's; the registries of single scopes are the ones beside the default."""
    found = ToolIndexes()
    settings = {name.lower(): (name, value) for name, value in machine.variables.items()}
    for file in _npm_files(machine, settings):
        for name, value in _npm_lines(file, machine.variables, found):
            if name == "registry":
                found.default = Index(value, str(file))
            elif name.endswith(":registry"):
                found.further.append(Index(value, str(file)))
    if named := settings.get("npm_config_registry"):
        found.default = Index(named[1], named[0])
    return found


def _npm_files(machine: Machine, settings: Mapping[str, tuple[str, str]]) -> list[Path]:
    node = shutil.which("node", path=machine.variables.get("PATH"))
    beside_node = [Path(node).resolve().parent.parent / "etc" / "npmrc"] if node else []
    files = [[machine.system / "npmrc", *beside_node], [machine.home / ".npmrc"]]
    for index, name in enumerate(("npm_config_globalconfig", "npm_config_userconfig")):
        if named := settings.get(name):
            files[index] = [Path(named[1])]
    return [*files[0], *files[1]]


def _npm_lines(file: Path, variables: Mapping[str, str], found: ToolIndexes) -> Iterator[tuple[str, str]]:
    parser = configparser.RawConfigParser(
        delimiters=("=",), comment_prefixes=("#", ";"), strict=False, allow_no_value=True
    )
    try:
        parser.read_string(f"[npmrc]\n{_text(file, found)}", str(file))
    except configparser.Error:
        found.faults.append(f"{file}: is no file of configuration")
        return
    for name, value in parser.items("npmrc"):
        plain = (value or "").strip().strip("\"'")
        yield name, re.sub(r"\$\{(\w+)\}", lambda held: variables.get(held[1], held[0]), plain)


def _words(text: str, origin: Origin) -> list[Index]:
    return [Index(word, origin) for word in text.split()]


def _text(file: Path, found: ToolIndexes) -> str:
    """Return what stands in a file; nothing where there is none."""
    try:
        return file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        found.faults.append(f"{file}: cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}")
        return ""
