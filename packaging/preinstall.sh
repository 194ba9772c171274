#!/bin/sh
# Makes the user before the files, one of which belongs to its group.
set -e
getent group dpproxy >/dev/null || groupadd --system dpproxy
getent passwd dpproxy >/dev/null || useradd --system --gid dpproxy --home-dir /var/lib/dpproxy --shell /usr/sbin/nologin dpproxy
