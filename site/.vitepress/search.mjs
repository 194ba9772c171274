// The site's search. A name with underscores is one word: somebody who looks for to_date means neither «to» nor «date».
export const search = {
  provider: 'local',
  options: {
    miniSearch: {
      options: { tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).filter(Boolean) },
      searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
    },
  },
}
