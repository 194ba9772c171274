package help

import (
	"regexp"
	"strings"
	"sync"

	"github.com/dpproxy/dpproxy/docs"
)

// Topic is a row of dpproxy.help.
type Topic struct{ Name, Text string }

// pages are read in this order. A page's beginning is the topic of its name, and every section the one of its heading;
// what has the same topic on two pages is joined: the refusal of a function, and the functions.
var pages = []struct{ name, section string }{
	{"refusals", "\n### "},
	{"functions", "\n## "},
	{"sql", ""},
	{"introspection", ""},
}

// Topics lists them in the order of the pages; what dpproxy adds to SQL stands last.
var Topics = sync.OnceValues(func() ([]Topic, error) {
	var list topics
	for _, page := range pages {
		text, err := docs.Pages.ReadFile(page.name + ".md")
		if err != nil {
			return nil, err
		}
		list.addPage(page.name, page.section, string(text))
	}
	text, err := docs.Pages.ReadFile("protocol.md")
	if err != nil {
		return nil, err
	}
	list.addAdditions(string(text))
	return list, nil
})

type topics []Topic

// add appends to a topic, or begins it.
func (l *topics) add(name, text string) {
	text = plain(text)
	for i := range *l {
		if t := &(*l)[i]; t.Name == name {
			t.Text += "\n\n" + text
			return
		}
	}
	*l = append(*l, Topic{name, text})
}

// addPage takes a page apart at its sections. What stands between a heading of a higher level and the next section is
// about several.
func (l *topics) addPage(name, section, text string) {
	_, text, _ = strings.Cut(text, "\n") // the title
	if section == "" {
		l.add(name, text)
		return
	}
	for i, part := range strings.Split(text, section) {
		if section == "\n### " {
			part, _, _ = strings.Cut(part, "\n## ")
		}
		if i > 0 {
			var heading string
			heading, part, _ = strings.Cut(part, "\n")
			name = Anchor(heading)
		}
		l.add(name, part)
	}
}

// addition is a row of the table of what dpproxy adds: names and what they are.
var (
	addition = regexp.MustCompile("(?m)^\\| (`dpproxy\\.[^|]*) \\| (.*) \\|$")
	ownName  = regexp.MustCompile("`(dpproxy\\.[a-z_]+)")
)

// addAdditions takes that table of docs/protocol.md: settings, functions and relations.
func (l *topics) addAdditions(page string) {
	for _, row := range addition.FindAllStringSubmatch(page, -1) {
		for _, name := range ownName.FindAllStringSubmatch(row[1], -1) {
			l.add(name[1], row[1]+": "+row[2])
		}
	}
}

// Anchor is how a heading is addressed.
func Anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }

var (
	link    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	comment = regexp.MustCompile(`(?m)^<!--.*-->\n`)
)

// plain takes out of Markdown what a terminal does not follow.
func plain(text string) string {
	return strings.TrimSpace(link.ReplaceAllString(comment.ReplaceAllString(text, ""), "$1"))
}
