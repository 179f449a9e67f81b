#!/bin/sh
# A gate for continuous integration: run the experiment, then fail the build when quality falls.
#
#     sh examples/gate.sh [FOLDER]     # exit code 1: the gate failed
#
# The first run makes the baseline; keep baseline.json in the repository and let later runs compare with it.
set -eu
here=$(dirname "$0")
out=${1:-gate-results}
assay run "$here/ladder.toml" --only bm25 --output "$out" --cache "$out/cache" --brief
[ -f "$out/baseline.json" ] || cp "$out/result.json" "$out/baseline.json"
assay gate "$out/result.json" --fail-under ndcg@10=0.55 --not-worse-than "$out/baseline.json" -m ndcg@10 \
    --margin 0.02 --junit "$out/gate.xml"
