#!/bin/sh
# Runs uv with the arguments given: the one on PATH, else the project's own, which is installed when it is missing.
set -eu

UV_VERSION=0.13.9
project=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
tools=$project/.tools
own=$tools/uv/bin/uv

fail() {
    echo "setup: $1" >&2
    exit 2
}

find_python() {
    for candidate in python3 python3.11 python3.12 python3.13 python3.14 python; do
        # Run, not only looked up: a version manager's shim can be on PATH for a version that is switched off.
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# uv's wheel holds one self-contained program, so any pip can unpack it and the result can be moved.
install_uv() {
    python=$(find_python) || fail "Python 3.11 or newer is needed and was not found on PATH"
    # A machine's pip settings for registry, proxy and certificates are kept; these say what goes where.
    unset PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_DRY_RUN PIP_NO_INDEX PIP_NO_BINARY PIP_CONSTRAINT \
        PIP_REQUIRE_HASHES PIP_REQUIRE_VIRTUALENV PIP_REPORT PIP_QUIET PIP_VERBOSE
    export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_CACHE_DIR="$tools/cache/pip" PIP_DISABLE_PIP_VERSION_CHECK=1
    echo "setup: installing uv $UV_VERSION into $tools (one time)" >&2
    mkdir -p "$tools/uv/bin"
    partial=$(mktemp -d "$tools/uv.partial.XXXXXX")
    trap 'rm -rf "$partial"' EXIT
    trap 'exit 130' INT TERM
    if ! "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv "$partial/venv" >/dev/null 2>&1 ||
            fail "neither uv nor pip was found, and $python cannot make an environment with pip: install one of them"
        python=$partial/venv/bin/python
    fi
    "$python" -m pip install --quiet --only-binary=:all: --target "$partial/uv" "uv==$UV_VERSION" \
        >"$partial/log" 2>&1 || fail "pip could not install uv $UV_VERSION, and no uv is on PATH: $(grep -v WARNING "$partial/log" | tail -n 1)"
    mv -f "$partial/uv/bin/uv" "$own"
    rm -rf "$partial"
    trap - EXIT INT TERM
}

if uv --version >/dev/null 2>&1; then
    uv=uv
else
    uv=$own
    [ -x "$uv" ] || install_uv
fi
# Nothing of uv's goes anywhere but into the project, and no interpreter is downloaded behind a person's back.
export UV_CACHE_DIR="$tools/cache/uv" UV_PROJECT_ENVIRONMENT="$project/.venv" UV_PYTHON_DOWNLOADS=never
# Where PYTHONDONTWRITEBYTECODE is set, as in many images, nobody would compile later, and each start would anew.
export UV_COMPILE_BYTECODE=1
unset VIRTUAL_ENV
exec "$uv" "$@"
