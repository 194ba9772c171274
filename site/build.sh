#!/bin/bash
# Builds docs/ as a site into dist/site, with search; README.md is its first page. Needs Node.js and npm. What fails it: a link
# to a page that is not there, a search that does not find what it should.
set -euo pipefail
cd "$(dirname "$0")"
if ! [ node_modules/done -nt package-lock.json ]; then
	npm install --no-audit --no-fund --ignore-scripts
	touch node_modules/done
fi
node pages.mjs
npx vitepress build
node search.mjs
