#!/bin/sh
# Many models, one after another, in the background. Takes the options of `swetrials batch`; works from any folder.
set -eu
scripts=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec "$scripts/uv.sh" run --project "$scripts/.." --frozen --quiet swetrials batch "$@"
