#!/bin/bash
# Builds docs/ as a site into dist/site, with search. Needs Node.js and npm. A link to a page that is not there fails it.
set -euo pipefail
cd "$(dirname "$0")"
if ! [ node_modules/done -nt package-lock.json ]; then
	npm install --no-audit --no-fund --ignore-scripts
	touch node_modules/done
fi
rm -rf pages
cp -r ../docs pages # below this folder, where what they are compiled to finds its modules
npx vitepress build
