"""The environment a program of an attempt gets: built from an allow-list, never by leaving things out."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

TOOLCHAIN_ROOTS: Mapping[str, str | None] = {
    "ASDF_DATA_DIR": ".asdf",
    "ASDF_DIR": None,
    "DOTNET_ROOT": None,
    "GOROOT": None,
    "GRADLE_HOME": None,
    "JAVA_HOME": None,
    "MAVEN_HOME": None,
    "PYENV_ROOT": ".pyenv",
    "RBENV_ROOT": ".rbenv",
    "RUSTUP_HOME": ".rustup",
    "VOLTA_HOME": ".volta",
}
"""Where installed toolchains lie: variable -> its default below the invoker's home, for those that have one.

A launcher on the PATH (``cargo``, ``python`` of pyenv) finds its toolchain by these, and would look in the private
home without them. Left out on purpose: ``CARGO_HOME``, ``GOPATH``, ``GRADLE_USER_HOME``, ``npm_config_userconfig`` and
their like, which hold publishing tokens or are written to; in the private home they start empty.
"""

_PLAIN = frozenset(
    {
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "SHELL",
        "TERM",
        "TZ",
        "USER",
        # Certificates of the machine's own authority: file names, and needed to reach anything behind it.
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "NODE_EXTRA_CA_CERTS",
        "PIP_CERT",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        # Package mirrors: without them nothing can be installed where the public registries are out of reach.
        "GOPROXY",
        "NPM_CONFIG_REGISTRY",
        "PIP_INDEX_URL",
        "UV_DEFAULT_INDEX",
        "npm_config_registry",
    }
)
_PROXIES = frozenset({"ALL_PROXY", "FTP_PROXY", "HTTPS_PROXY", "HTTP_PROXY"})
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LOCALE = re.compile(r"LC_[A-Z]+")
_SECRET_NAME = re.compile(r"AUTH|CREDENTIAL|KEY|PASSW|PRIVATE|SECRET|TOKEN", re.IGNORECASE)
_CREDENTIALS_IN_URL = re.compile(r"://[^/\s,|]*@")


def allowed_environment(
    home: Path,
    temporary: Path,
    extra: Mapping[str, str] | None = None,
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the whole environment of a program of an attempt.

    Of the invoker's environment come through: the search path, locale, terminal, certificates, proxies, package
    mirrors and toolchain roots. A value with credentials in a URL (``http://user:pass@proxy``) is a secret and is
    left out whole: without its credentials a proxy would only answer 407. Whoever needs one gives the attempt an
    authenticating relay on loopback, or passes the variable in ``extra``. Connections to loopback never go
    through a proxy.

    Args:
        home: the private home; the XDG folders are set below it.
        temporary: the private folder for temporary files.
        extra: variables that win over all others, such as the agent's route with its key.
        base: the invoker's environment; by default this process's own.
    """
    source = os.environ if base is None else base
    kept = {name: value for name, value in source.items() if _passes(name, value)}
    return {
        **kept,
        **toolchain_roots(source),
        "PATH": search_path(source.get("PATH", os.defpath)),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "TMPDIR": str(temporary),
        "TMP": str(temporary),
        "TEMP": str(temporary),
        "GIT_TERMINAL_PROMPT": "0",
        **dict.fromkeys(("NO_PROXY", "no_proxy"), _no_proxy(source)),
        **(extra or {}),
    }


def toolchain_roots(base: Mapping[str, str]) -> dict[str, str]:
    """Return the toolchain roots that an environment names, and those that lie at their default place."""
    roots = {name: base[name] for name in TOOLCHAIN_ROOTS if base.get(name)}
    home = base.get("HOME")
    for name, default in TOOLCHAIN_ROOTS.items():
        if home and default and name not in roots and is_open_folder(Path(home, default)):
            roots[name] = str(Path(home, default))
    return roots


def search_path(path: str) -> str:
    """Return a PATH without this program's own virtual environment, relative folders, and those that are closed to us.

    A ``python`` or ``pytest`` that an attempt starts is then the machine's, not the one that runs this program. A
    closed folder (root's home, in many images) holds nothing for us, and whoever looks for a missing program would be
    told "permission denied" for "not found".
    """
    folders = [Path(name) for name in path.split(os.pathsep) if name]
    own = Path(sys.prefix) if sys.prefix != sys.base_prefix else None
    return os.pathsep.join(
        str(folder)
        for folder in folders
        if folder.is_absolute() and not (own and folder.is_relative_to(own)) and not _is_closed(folder)
    )


def is_open_folder(path: Path) -> bool:
    """Whether there is such a folder, and we may look into it and at what is in it.

    The way to ask about any folder that is named by the invoker's environment: :meth:`pathlib.Path.is_dir` raises
    ``PermissionError`` where a folder above is closed.
    """
    try:
        return path.is_dir() and os.access(path, os.R_OK | os.X_OK)
    except OSError:
        return False


def _is_closed(folder: Path) -> bool:
    try:
        folder.stat()
    except PermissionError:
        return True
    except OSError:
        return False
    return not os.access(folder, os.X_OK)


def _passes(name: str, value: str) -> bool:
    if _SECRET_NAME.search(name) or _CREDENTIALS_IN_URL.search(value):
        return False
    return name in _PLAIN or name.upper() in _PROXIES or _LOCALE.fullmatch(name) is not None


def _no_proxy(base: Mapping[str, str]) -> str:
    given = [part.strip() for name in ("NO_PROXY", "no_proxy") for part in base.get(name, "").split(",")]
    return ",".join(dict.fromkeys(part for part in (*given, *_LOOPBACK) if part))
