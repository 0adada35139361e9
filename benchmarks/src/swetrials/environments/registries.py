"""Package registries that a command may reach: which hosts, and what its tools have to be told.

No host stands here. Which ones are allowed is what this machine's uv, pip and npm are configured with, and what the
dataset names; where neither names any, none is reached.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from swetrials.environments.registry_files import (
    Index,
    ToolIndexes,
    UserMachine,
    npm_indexes,
    pip_indexes,
    uv_indexes,
)

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NAMED = re.compile(r"(?:[\w.-]+=)?(.*)", re.DOTALL)
"""uv's spelling of an index in a variable: its name may stand before it."""

_USUAL_PORTS = {"http": 80, "https": 443}
_ON_LOOPBACK = "lies on this machine's loopback, which commands do not reach: name it by another address of the machine"


@dataclass(frozen=True)
class RegistrySettings:
    """What commands may reach beside their model, and how their tools are told.

    Attributes:
        hosts: the allow-list of the meter's proxy.
        variables: the machine's own indexes, as variables of uv, pip and npm. None holds credentials.
        left_out: one line for each index that commands do not get, and why.
    """

    hosts: frozenset[str]
    variables: Mapping[str, str]
    left_out: tuple[str, ...]

    def variables_by(self, proxy_url: str) -> dict[str, str]:
        """Return all that the tools of a command are told: the indexes, and the proxy that leads there."""
        return {**self.variables, **proxy_variables(proxy_url)}


def registry_settings(
    named: Sequence[str],
    variables: Mapping[str, str] | None = None,
    home: Path | None = None,
    system: Path | None = None,
) -> RegistrySettings:
    """Return what the machine is configured with, and what a dataset adds.

    An index whose address holds credentials is not passed on; its host is allowed all the same, and may answer
    somebody without any.

    Args:
        named: hosts that the dataset names (``environment.registries``).
        variables: of the user who runs the harness; by default this process's own.
        home: of that user.
        system: the machine's folder of configuration; by default ``/etc``.
    """
    machine = UserMachine(os.environ if variables is None else variables, home or _home(), system or Path("/etc"))
    pip, uv, npm = pip_indexes(machine), uv_indexes(machine), npm_indexes(machine)
    hosts: set[str] = set()
    left_out = [fault for tool in (pip, uv, npm) for fault in tool.faults]
    for index in _all(pip, uv, npm):
        host = _host(index)
        if host is not None and not _is_loopback(host):
            hosts.add(host)
        if why := _why_not_passed(index, host):
            left_out.append(f"{index.origin}: {why}")
    left_out += [f"{index.origin}: npm's registry of one scope is not passed on" for index in npm.further]
    for host in named:
        if _is_loopback(host):
            left_out.append(f"environment.registries: {host}: {_ON_LOOPBACK}")
        else:
            hosts.add(host.lower())
    return RegistrySettings(frozenset(hosts), _variables(pip, uv, npm), tuple(dict.fromkeys(left_out)))


def _home() -> Path:
    """Return the user's home; a folder that holds nothing, where there is none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.devnull)


def proxy_variables(proxy_url: str) -> dict[str, str]:
    """Return what leads the tools of a command to its proxy, whatever else the machine's files say of one.

    Args:
        proxy_url: the meter's, with its secret (:attr:`swetrials.wire.meter.Meter.proxy_url`).
    """
    past = ",".join(_LOOPBACK)
    proxied = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), proxy_url)
    both = {**proxied, "NO_PROXY": past}
    return {
        **both,
        **{name.lower(): value for name, value in both.items()},
        "PIP_PROXY": proxy_url,
        "NPM_CONFIG_PROXY": proxy_url,
        "NPM_CONFIG_HTTPS_PROXY": proxy_url,
        "NPM_CONFIG_NOPROXY": past,
    }


def _all(*tools: ToolIndexes) -> Iterator[Index]:
    for tool in tools:
        if tool.default is not None:
            yield tool.default
        yield from tool.further


def _address(index: Index) -> str:
    found = _NAMED.fullmatch(index.address)
    return found[1] if found is not None and "://" in found[1] else index.address


def _host(index: Index) -> str | None:
    """Return the host of an index as an allow-list has it; ``None`` for one without a host."""
    try:
        url = urlsplit(_address(index))
        port = url.port
    except ValueError:
        return None
    if url.scheme not in _USUAL_PORTS or not url.hostname:
        return None
    return url.hostname if port in {None, _USUAL_PORTS[url.scheme]} else f"{url.hostname}:{port}"


def _is_loopback(host: str) -> bool:
    return host in _LOOPBACK or host.rpartition(":")[0] in _LOOPBACK


def _why_not_passed(index: Index, host: str | None) -> str:
    address = _address(index)
    if _holds_credentials(address):
        return "an index with credentials in its address is not passed on"
    if host is None and not address.startswith(("file:", "/")):
        return "an index that is no address of http or https is not passed on"
    if host is not None and _is_loopback(host):
        return f"an index {_ON_LOOPBACK}"
    return ""


def _holds_credentials(address: str) -> bool:
    return "@" in address.partition("://")[2].partition("/")[0] or "?" in address


def _variables(pip: ToolIndexes, uv: ToolIndexes, npm: ToolIndexes) -> dict[str, str]:
    told = {
        "PIP_INDEX_URL": _passed(pip.default),
        "PIP_EXTRA_INDEX_URL": _passed(*pip.further),
        "UV_DEFAULT_INDEX": _passed(uv.default),
        "UV_INDEX": _passed(*uv.further),
        "NPM_CONFIG_REGISTRY": _passed(npm.default),
    }
    return {name: value for name, value in told.items() if value}


def _passed(*indexes: Index | None) -> str:
    passed = [index.address for index in indexes if index is not None and not _why_not_passed(index, _host(index))]
    return " ".join(dict.fromkeys(passed))
