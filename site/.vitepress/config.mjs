// The pages of docs/ as a site, with search over all of them: make site. No page loads anything from another origin.
import { defineConfig } from 'vitepress'
import { search } from './search.mjs'

const repository = 'https://github.com/dpproxy/dpproxy/blob/main/'

// Links to files of the repository that are no pages of the site.
function outwards(md) {
  const render = md.renderer.rules.link_open ?? ((tokens, at, options, env, self) => self.renderToken(tokens, at, options))
  md.renderer.rules.link_open = (tokens, at, options, env, self) => {
    const href = tokens[at].attrGet('href')
    if (href?.startsWith('../') && !env.relativePath.includes('/')) tokens[at].attrSet('href', repository + href.slice(3))
    return render(tokens, at, options, env, self)
  }
}

// Indented blocks of code look as fenced ones do.
function fenced(md) {
  md.renderer.rules.code_block = (...block) => md.renderer.rules.fence(...block)
}

const page = (text, name) => ({ text, link: '/' + name })

export default defineConfig({
  title: 'dpproxy',
  description: 'A differential-privacy firewall for PostgreSQL',
  srcDir: 'pages',
  outDir: '../dist/site',
  markdown: { html: false, attrs: { disable: true }, config: (md) => { outwards(md); fenced(md) } },
  themeConfig: {
    search,
    outline: [2, 3],
    sidebar: [
      { text: 'Analysts', items: [page('Ask', 'ask'), page('Answers', 'answers'), page('SQL', 'sql'), page('Functions', 'functions'), page('Refusals', 'refusals'), page('Synthetic rows', 'synthetic'), page('BI tools', 'bi-tools'), page('Console', 'console'), page('Protocol', 'protocol'), page('Catalogs', 'introspection'), page('Statements', 'reference/statements')] },
      { text: 'Administrators', items: [page('Tutorial', 'tutorial'), page('Policy', 'policy'), page('Commands', 'commands'), page('Choosing bounds and ε', 'choosing'), page('Synthetic tables', 'synthesize'), page('Operations', 'operations'), page('Monitoring', 'monitoring'), page('Upgrades', 'upgrade'), page('Budget', 'budget'), page('Scale', 'scale')] },
      { text: 'Auditors', items: [page('Threat model', 'threat-model'), page('Privacy', 'privacy'), page('Certified queries', 'certify'), page('Mechanisms', 'mechanisms'), page('Papers', 'papers'), page('Accuracy', 'accuracy'), page('Questions', 'questions')] },
      { text: 'Contributors', items: [page('Architecture', 'architecture'), page('Testing', 'testing'), page('Decisions', 'decisions/README'), page('Benchmarks', 'bench'), page('Glossary', 'glossary')] },
      { text: 'All pages', link: '/contents' },
    ],
  },
})
