// Fails the build where the site's search does not find, among its first pages, what somebody looks for.
import { readdirSync } from 'node:fs'
import MiniSearch from 'minisearch'
import { search } from './.vitepress/search.mjs'

const chunks = new URL('../dist/site/assets/chunks/', import.meta.url)
const name = readdirSync(chunks).find((file) => file.startsWith('@localSearchIndexroot'))
const { default: index } = await import(new URL(name, chunks))
const { options, searchOptions } = search.options.miniSearch
const fields = { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'] }
const found = MiniSearch.loadJSON(index, { ...fields, ...options, searchOptions })

for (const [words, page] of [['to_date', '/functions'], ['date_trunc', '/functions'], ['max_rows_per_unit', '/policy'], ['install', '/']]) {
  const pages = [...new Set(found.search(words).map(({ id }) => id.replace(/(\.html)?(#.*)?$/, '')))].slice(0, 5)
  if (!pages.includes(page)) throw new Error(`search for ${words} finds ${pages.join(', ')}, and not ${page}`)
}
