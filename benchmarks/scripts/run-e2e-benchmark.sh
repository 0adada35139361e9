#!/bin/sh
# The whole flow: pre-flight, trials, judging, summary. Takes the options of `swetrials e2e`; works from any folder.
# The first words may also be given by position: run-e2e-benchmark.sh PROVIDER [MODEL [DATASET]] [OPTIONS]
set -eu
scripts=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
provider= model= dataset=
for name in provider model dataset; do
    case "${1:-}" in
        "" | -*) break ;;
    esac
    eval "$name=\$1"
    shift
done
set -- ${provider:+"--provider=$provider"} ${model:+"--model=$model"} ${dataset:+"--dataset=$dataset"} "$@"
exec "$scripts/uv.sh" run --project "$scripts/.." --frozen --quiet swetrials e2e "$@"
