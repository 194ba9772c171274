#!/bin/sh
# Installs what the tests drive dpproxy with and that is missing here: PostgreSQL's server, psql, pgbench, PgBouncer, and the client
# libraries of Debian and Ubuntu. Elsewhere, or without the right to install, it says what to install and fails.
set -eu

missing=""
need() { # need PACKAGE COMMAND…: the command succeeds where the package is there
	package=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $package"
}
python() { /usr/bin/python3 -c "import $1"; }
server() { command -v postgres || ls /usr/lib/postgresql/*/bin/postgres || ls /usr/pgsql-*/bin/postgres; }
bouncer() { command -v pgbouncer || test -x /usr/sbin/pgbouncer; }
jdbc() { ls /usr/share/java/postgresql.jar; }
odbc() { odbcinst -q -d | grep -q 'PostgreSQL Unicode'; }
pgtcl() { echo 'exit [catch {package require Pgtcl}]' | tclsh; }

need postgresql server
need postgresql-contrib command -v pgbench
need postgresql-client command -v psql
need pgbouncer bouncer
need python3-psycopg2 python psycopg2
need python3-psycopg python psycopg
need python3-asyncpg python asyncpg
need python3-sqlalchemy python sqlalchemy
need libdbd-pg-perl perl -MDBD::Pg -e 1
need php-cli command -v php
need php-pgsql php -r 'exit(extension_loaded("pdo_pgsql") ? 0 : 1);'
need ruby-pg ruby -rpg -e 1
need tcl command -v tclsh
need libpgtcl pgtcl
need nodejs command -v node
need npm command -v npm
need default-jdk-headless javac -version
need libpostgresql-jdbc-java jdbc
need prometheus command -v promtool
need rpm command -v rpm
need odbc-postgresql odbc
need unixodbc command -v isql
need chromium command -v chromium

node_modules() { # node-postgres and postgres.js, and axe-core for the console, from npm, as each package-lock.json pins them
	for folder in "$(dirname "$0")" "$(dirname "$0")/../console"; do
		(
			cd "$folder"
			[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --ignore-scripts
		)
	done
}

if [ -z "$missing" ]; then
	node_modules
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "tests: install with your package manager what Debian calls:$missing" >&2
	exit 1
fi
root=""
if [ "$(id -u)" -ne 0 ]; then
	if ! sudo -n true 2>/dev/null; then
		echo "tests: run: sudo apt-get install$missing" >&2
		exit 1
	fi
	root="sudo -n"
fi
echo "tests: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -q
# shellcheck disable=SC2086 # a list of words
$root apt-get install -q -y --no-install-recommends $missing
node_modules
