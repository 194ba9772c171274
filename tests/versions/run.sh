#!/bin/bash
# Runs what depends on PostgreSQL's version against each supported one: introspection and setup, connections, the ledger, the corpus against the truth and against the
# sensitivities that were claimed, and three clients. The servers come from npm, for Linux on amd64; psql is the machine's.
# VERSIONS="14 18" chooses; CORPUS='02_*' chooses files of the corpus.
set -euo pipefail
cd "$(dirname "$0")"
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "tests: the servers are for Linux on amd64, and this is $(uname -sm)" >&2; exit 1; }
if ! [ node_modules/done -nt package-lock.json ]; then
	npm ci --no-audit --no-fund --ignore-scripts
	for server in node_modules/postgres-*; do
		(cd "$server" && node scripts/hydrate-symlinks.js) # a package of npm holds none: those of the libraries are made here
	done
	chmod -R a+rX node_modules # another user runs the servers
	touch node_modules/done
fi
servers=$PWD/node_modules
cd ../..

failed=""
for version in ${VERSIONS:-14 15 16 17 18}; do
	programs=$servers/postgres-$version/native/bin
	echo "== $("$programs/postgres" --version)"
	try() { PATH="$programs:$PATH" go test -count=1 -timeout 60m "$@" || failed="$failed $version"; }
	try ./internal/introspect ./internal/provision ./internal/backend ./internal/ledger/stores/postgres
	try ./internal/rewrite -run 'TestOracle|TestSensitivity' -corpus "${CORPUS:-*}"
	try ./tests/integration -run 'TestPsql|TestPgx|TestLibPq'
done
[ -z "$failed" ] || { echo "tests: failed on PostgreSQL$failed" >&2; exit 1; }
