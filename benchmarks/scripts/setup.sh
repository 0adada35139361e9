#!/bin/sh
# Installs what the project needs into benchmarks/.venv and benchmarks/.tools; silent when there is nothing to do.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

# What an interrupted installation leaves: a folder that uv refuses to touch.
[ -x .venv/bin/python ] || rm -rf .venv

if ! scripts/uv.sh sync --frozen --quiet --check >/dev/null 2>&1; then
    scripts/uv.sh --version >/dev/null
    echo "setup: installing Python packages into $PWD/.venv" >&2
    scripts/uv.sh sync --frozen --quiet
fi

.venv/bin/swetrials agents install claude
.venv/bin/swetrials agents install codex || echo "setup: without codex, the codex judge is skipped" >&2
