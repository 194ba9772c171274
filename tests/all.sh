#!/bin/bash
# Everything there is to test, one part after the other, whatever became of those before. Ends with each part's time and outcome, as
# docs/testing.md has them of the last whole run.
set -uo pipefail
cd "$(dirname "$0")/.."
export FUZZTIME=${FUZZTIME:-5s} CORPUS=${CORPUS:-0[1-3]_*} # for each fuzz target; what each version of PostgreSQL is asked

table="part\ttime\toutcome\n"
failed=0
for part in lint vuln whole demo-check verify fuzz test-versions; do
  began=$SECONDS
  outcome=ok
  make "$part" || { outcome=FAILED; failed=1; }
  table+="$part\t$(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s\t$outcome\n"
done
echo "== all"
printf '%b' "$table" | expand -t 16,32
exit $failed
