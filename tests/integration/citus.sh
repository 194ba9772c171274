#!/bin/sh
# Puts a PostgreSQL with the extension Citus into the folder citus beside this script, for the tests that need one; they are skipped without
# it. Debian has no package of it, so it comes from an archive that lies in shared/citus beside the checkout, or in the folder that $CITUS
# names: built for Debian's PostgreSQL 15 on amd64. The server of the machine stays as it is.
set -eu
cd "$(dirname "$0")"

skip() {
	echo "tests: those of Citus are skipped: $1"
	exit 0
}

archive=$(ls "${CITUS:-../../../shared/citus}"/citus-*-pg15-debian12-amd64.tar.gz 2>/dev/null | tail -n 1)
[ -n "$archive" ] || skip "no archive of the extension"
[ ! citus/done -nt "$archive" ] || exit 0
command -v apt-get >/dev/null && grep -q bookworm /etc/os-release && [ "$(dpkg --print-architecture)" = amd64 ] || skip "the extension is for Debian 12 on amd64"
rm -rf citus
mkdir citus
# The newest of the major version: the extension may be newer than the server that is installed here.
(cd citus && apt-get update -q && apt-get download -q postgresql-15) >citus/log 2>&1 || skip "Debian's postgresql-15 cannot be downloaded"
dpkg -x citus/postgresql-15_*.deb citus
rm citus/postgresql-15_*.deb
tar xzf "$archive" -C citus
chmod -R a+rX citus # another user runs the server
[ -z "$(citus/usr/lib/postgresql/15/bin/postgres --version 2>&1 >/dev/null)" ] || skip "its server does not run here"
touch citus/done
