#!/bin/bash
# Builds dist/dpproxy, which runs on any Linux of this machine's architecture, and the packages .deb and .rpm of it. What lies in dist depends on
# the commit alone: the same one gives the same bytes, wherever it is built with the Go of go.mod and the same gcc.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=1 GOFLAGS=
mkdir -p dist
rm -f dist/*.deb dist/*.rpm

# pg_query is C and needs glibc, which is linked in; names are looked up by Go, and not by glibc, which would load libraries for it.
go build -trimpath -tags netgo,osusergo -ldflags '-s -w -buildid= -linkmode external -extldflags "-static"' -o dist/dpproxy ./cmd/dpproxy
longest=40000000 # bytes: docs/decisions/0014-dependencies.md
if (($(stat -c %s dist/dpproxy) > longest)); then
	echo "dist/dpproxy has more than $longest bytes: see what a new library brings along (go tool nm -size)" >&2
	exit 1
fi

read -r _ version _ < <(dist/dpproxy --version)
[[ $version == v* ]] || version=v0.0.0-devel
version=${VERSION:-${version#v}}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH ARCH VERSION=$version
ARCH=$(go env GOARCH)
day=$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)
dist/dpproxy --man | sed "s/^\(\.TH DPPROXY 1 \)\"[^\"]*\"/\1\"$day\"/" | gzip -9n >dist/dpproxy.1.gz
# The newest nfpm whose modules can all be had from the module proxy.
for format in deb rpm; do
	go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.0 package --config packaging/nfpm.yaml --packager $format --target dist/
done
cd dist && sha256sum dpproxy -- *.deb *.rpm | tee SHA256SUMS
