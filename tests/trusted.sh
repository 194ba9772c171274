#!/bin/bash
# The code that has to be right for the promise to hold, and its lines (docs/certify.md). Everything else refuses or answers badly, where it is wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
total=0
part() { # what, files…
  local what=$1 lines
  shift
  lines=$(cat "$@" | wc -l)
  total=$((total + lines))
  printf '%7d  %s\n' "$lines" "$what"
}
code() { find "$1" -maxdepth 1 -name '*.go' ! -name '*_test.go'; }
mechanism() { printf "internal/mechanism/%s.go\n" "$@"; }
part "certify: text → what one unit moves" $(code internal/certify)
part "gate: facts, claims, receipts, draws" $(code internal/gate)
part "loss: what noise costs, as it is sampled" $(code internal/loss)
part "composition, and what is sampled" $(mechanism release sampled layers curve family)
part "thresholds of counts" $(mechanism threshold cube_distribution)
part "samplers" $(mechanism draw sampler kernel source uniform bigexp fixedexp ranges cells selection quantile intervalends finegrid floating jointcuts cube cube_vector)
part "amounts and the filter" internal/ledger/accounting/{account,amount,cost,curve,derive,filter,room}.go
part "admission and proofs on main, pins" internal/backend/{measure,proof,pins,pinset}.go internal/introspect/sql/shape.sql
printf '%7d  of %d lines of Go outside of tests\n' "$total" "$(find cmd internal -name '*.go' ! -name '*_test.go' -exec cat {} + | wc -l)"
