#!/bin/sh
# The LiteLLM proxy for open-weight models on Bedrock: starts it; --status looks at it, --stop stops it. Further
# options go to `swetrials proxy`: --port, --config, --aws-region. Works from any folder.
set -eu
scripts=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
action=start
case "${1:-}" in
    --status) action=status; shift ;;
    --stop) action=stop; shift ;;
esac
exec "$scripts/uv.sh" run --project "$scripts/.." --frozen --quiet swetrials proxy "$action" "$@"
