#!/bin/sh
# Installs the tools that TestTools runs, from Debian's packages and from npm as package-lock.json pins them. Without the right to
# install, or elsewhere, it says what is missing, and the test is skipped.
set -eu
cd "$(dirname "$0")"

packages="python3-django python3-pandas python3-peewee python3-sqlalchemy python3-psycopg2 ruby-activerecord ruby-sequel ruby-pg php-pgsql
php-doctrine-dbal php-illuminate-database adminer pgcli gdal-bin r-cran-dplyr r-cran-dbplyr r-cran-rpostgresql"
# shellcheck disable=SC2086 # a list of words
if ! dpkg --status $packages >/dev/null 2>&1; then
	root=""
	[ "$(id -u)" -eq 0 ] || root="sudo -n"
	if ! $root apt-get update -q || ! DEBIAN_FRONTEND=noninteractive $root apt-get install -q -y --no-install-recommends $packages; then
		echo "tests: TestTools is skipped; it needs what Debian calls: $packages" >&2
		rm -rf node_modules
		exit 0
	fi
fi
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --ignore-scripts
