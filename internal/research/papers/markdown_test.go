package papers

import (
	"fmt"
	"strings"

	"github.com/dpproxy/dpproxy/internal/research/plot"
)

// Pages as docs/papers.md has them, which TestPages writes.

const markdownWidth = 120

// markdown is the page for docs/papers.md, with its figures in a folder.
func (p page) markdown(folder string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s", p.title, wrap(p.source+" `dpproxy paper "+p.name+"`", markdownWidth))
	for _, x := range p.blocks {
		b.WriteByte('\n')
		switch x := x.(type) {
		case heading:
			fmt.Fprintf(&b, "### %s\n", x)
		case prose:
			b.WriteString(wrap(linked(x), markdownWidth))
		case finding:
			b.WriteString(wrap("**Wrong:** "+linked(x), markdownWidth))
		case table:
			b.WriteString(x.markdown())
		case plot.Figure:
			fmt.Fprintf(&b, "![%s](%s/%s.svg)\n", x.Title, folder, x.Name)
		}
	}
	return b.String()
}

// linked is what is said, with a link to the other page.
func linked[T ~string](s T) string {
	return strings.ReplaceAll(string(s), "docs/mechanisms.md", "[mechanisms.md](mechanisms.md)")
}

func (t table) markdown() string {
	var b strings.Builder
	for i, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintf(&b, "| %s |\n", strings.ReplaceAll(strings.Join(row, "\x00"), "\x00", " | "))
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|---:", len(t.head)-1) + "|\n")
		}
	}
	return b.String()
}
