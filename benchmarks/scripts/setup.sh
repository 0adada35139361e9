#!/bin/sh
# Installs what the project needs into benchmarks/.venv and benchmarks/.tools; silent when there is nothing to do.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

sync() {
    scripts/uv.sh sync --frozen --quiet "$@"
}

# What an interruption at the worst moment leaves, and uv refuses to touch.
is_broken() {
    [ -d .venv ] && [ ! -x .venv/bin/python ]
}

# Apart from the check, whose complaints are not for the reader: this may install uv, and says so.
scripts/uv.sh --version >/dev/null
# The mark says that the packages are compiled, which an environment of an earlier version is not.
compiled=.venv/.compiled
if [ ! -e "$compiled" ] || ! sync --check >/dev/null 2>&1; then
    echo "setup: installing Python packages into $PWD/.venv" >&2
    if ! sync; then
        is_broken || exit 2
        rm -rf .venv
        sync
    fi
    : >"$compiled"
fi
# The project's own code, which is used where it lies, is installed by nobody; only what has changed is compiled.
.venv/bin/python -m compileall -q -j 0 src >/dev/null || true

.venv/bin/swetrials agents install claude
.venv/bin/swetrials agents install codex || echo "setup: without codex, the codex judge is skipped" >&2
