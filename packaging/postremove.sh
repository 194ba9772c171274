#!/bin/sh
# Policy, user and ledger stay: a lost ledger would give every analyst a new budget.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
