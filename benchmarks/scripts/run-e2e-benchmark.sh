#!/bin/sh
# The whole flow: pre-flight, trials, judging, summary. Takes the options of `swetrials e2e`; works from any folder.
set -eu
scripts=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec "$scripts/uv.sh" run --project "$scripts/.." --frozen --quiet swetrials e2e "$@"
