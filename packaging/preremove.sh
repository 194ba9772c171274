#!/bin/sh
# Debian says remove, RPM 0; upgrade and 1 are for a version that replaces this one, which restarts the service itself.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now dpproxy.service dpproxy-synthesize.timer
