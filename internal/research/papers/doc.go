// Package papers implements `dpproxy paper`: the tables and figures of the three papers that the mechanisms come from,
// recomputed, with what this product does beside them; and where a paper is wrong, the number that shows it.
// docs/papers.md is its output.
//
//	command.go                    the commands, as kong structs
//	page.go                       a page as text and as Markdown
//	chenhale.go, fu.go, croft.go  one paper each
//	law.go                        densities
//
// The formulas are in packages mechanism and study.
package papers
