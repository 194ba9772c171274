// Makes the folder of pages that the site consists of: docs/, whose list of pages gives way to README.md as the first one.
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

rmSync('pages', { recursive: true, force: true })
cpSync('../docs', 'pages', { recursive: true }) // below this folder, where what they are compiled to finds its modules
renameSync('pages/README.md', 'pages/contents.md')
const home = readFileSync('../README.md', 'utf8')
  .replace(/\]\((?!docs\/|https?:|#)/g, '](../') // files that are no pages
  .replaceAll('](docs/README.md', '](contents.md')
  .replaceAll('](docs/', '](')
writeFileSync('pages/index.md', home)
