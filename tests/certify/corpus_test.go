package certify_test

import (
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// measured is a text for main that the corpus prints, and what the plan claims of its integers.
type measured struct {
	file, sql  string
	histogram  bool
	claims     []claim // in the order of the plan's releases
	selected   bool    // some key is under partition selection
	parameters []certify.Value
}

// claim is what a plan charges for: a release.
type claim struct {
	quantile             bool
	delta, total, groups *big.Rat
}

var (
	releaseLine = regexp.MustCompile(
		`^  .*: (scalar|chained|quantile)[^,]*, sensitivity ([0-9.e+]+) × [0-9.e+-]+(?:, ([0-9.e+]+) × [0-9.e+-]+ in all groups)?`)
	together   = regexp.MustCompile(`drawn together (\d+)`)
	groupsLine = regexp.MustCompile(`in (\d+) groups at most|in one group|one row per unit`)
	textArray  = regexp.MustCompile(`\(\$(\d+)::pg_catalog\.text(\[\])?\)::pg_catalog\.(\w+)`)
	plainArray = regexp.MustCompile(`\$(\d+)::pg_catalog\.(\w+)(\[\])?`)
	keyLine    = regexp.MustCompile(`^  key .*: (\d+) values?$`)
	domain     = regexp.MustCompile(`unnest\(\(?\$(\d+)::`)
	anyParam   = regexp.MustCompile(`\$(\d+)`)
)

// readCorpus reads the texts that the corpus prints, once each.
func readCorpus(t testing.TB) (all []measured) {
	files, err := filepath.Glob("../../internal/rewrite/testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range strings.Split(string(content), "\nquery") {
			for _, m := range readQuery(query) {
				if m.file = filepath.Base(f); !seen[m.sql] {
					seen[m.sql] = true
					all = append(all, m)
				}
			}
		}
	}
	return all
}

// readQuery reads the texts of one query: those of the blocks one after the other, a block's measure before its
// histograms.
func readQuery(query string) (texts []measured) {
	type block struct {
		claims   []claim
		selected bool
	}
	var blocks []block
	groups := (*big.Rat)(nil)
	var domains []int
	drawn := map[string]bool{}
	for line := range strings.Lines(query) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "block ") {
			blocks = append(blocks, block{})
			groups = nil
			if m := groupsLine.FindStringSubmatch(line); m != nil {
				groups = big.NewRat(1, 1)
				if m[1] != "" {
					groups = rat(m[1])
				}
			}
		}
		if m := releaseLine.FindStringSubmatch(line); m != nil && len(blocks) > 0 {
			if t := together.FindStringSubmatch(line); t != nil {
				if drawn[t[1]] {
					continue // one histogram for all of them
				}
				drawn[t[1]] = true
			}
			c := claim{quantile: m[1] == "quantile", delta: rat(m[2]), groups: groups}
			if c.quantile {
				c.groups = nil // its bins are groups too
			}
			if c.total = c.delta; m[3] != "" {
				c.total = rat(m[3])
			}
			blocks[len(blocks)-1].claims = append(blocks[len(blocks)-1].claims, c)
		}
		if m := keyLine.FindStringSubmatch(line); m != nil {
			domains = append(domains, number(m[1]))
		}
		if strings.HasSuffix(line, ": partition selection") && len(blocks) > 0 {
			blocks[len(blocks)-1].selected = true
		}
		for _, prefix := range []string{"measure: ", "histogram: "} {
			if sql, ok := strings.CutPrefix(line, prefix); ok {
				texts = append(texts, measured{sql: sql, histogram: prefix == "histogram: ", parameters: parametersOf(
					sql, domains)})
			}
		}
	}
	linear := 0
	for _, m := range texts {
		if !m.histogram {
			linear++
		}
	}
	at := 0
	for i := range texts {
		m := &texts[i]
		var b block
		switch {
		case len(blocks) == 1:
			b = blocks[0]
		case linear == len(texts) && linear == len(blocks):
			b = blocks[i]
		}
		m.selected = b.selected
		var quantiles []claim
		for _, c := range b.claims {
			switch {
			case !c.quantile && !m.histogram:
				m.claims = append(m.claims, c)
			case c.quantile:
				quantiles = append(quantiles, c)
			}
		}
		if m.histogram && len(quantiles) > 0 {
			m.claims = quantiles[min(at, len(quantiles)-1):][:1]
			at++
		}
	}
	return texts
}

func rat(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(s)
	}
	return r
}

// example is the n-th element of an array parameter, which the corpus does not print.
func example(typ string, n int) string {
	day := time.Date(2020, 1, 1+n, 0, 0, 0, 0, time.UTC)
	switch typ {
	case "int2", "int4", "int8", "numeric", "float8":
		return strconv.Itoa(n + 1)
	case "bool":
		return []string{"t", "f"}[n%2]
	case "date":
		return day.Format(time.DateOnly)
	case "timestamp":
		return day.Format(time.DateTime)
	case "timestamptz":
		return day.Format(time.DateTime) + "+00"
	}
	return "a" + strconv.Itoa(n)
}

// parametersOf makes up the parameters of a text. Those that are domains have as many elements as these.
func parametersOf(sql string, domains []int) []certify.Value {
	var list []certify.Value
	for _, m := range anyParam.FindAllStringSubmatch(sql, -1) {
		for one := "1"; len(list) < number(m[1]); {
			list = append(list, certify.Value{Type: "int8", Elements: []*string{&one}})
		}
	}
	sizes := map[int]int{}
	for _, m := range domain.FindAllStringSubmatch(sql, -1) {
		if n := number(m[1]); sizes[n] == 0 && len(domains) > 0 {
			sizes[n], domains = domains[0], domains[1:]
		}
	}
	set := func(n int, typ, of string, array bool) {
		v := certify.Value{Type: typ, Array: array}
		for i := range max(1, sizes[n]) {
			e := example(of, i)
			v.Elements = append(v.Elements, &e)
		}
		if list[n-1] = v; !array {
			list[n-1].Elements = v.Elements[:1]
		}
	}
	for _, m := range plainArray.FindAllStringSubmatch(sql, -1) {
		set(number(m[1]), m[2], m[2], m[3] != "")
	}
	for _, m := range textArray.FindAllStringSubmatch(sql, -1) {
		set(number(m[1]), "text", m[3], m[2] != "")
	}
	return list
}

func number(s string) int { return int(rat(s).Num().Int64()) }

// check returns what Check says of a text, in one line, with a word to count it by.
func check(m measured) (word, line string) {
	c, err := certify.Check(clinic, m.sql, m.parameters, nil)
	if err != nil {
		e := err.(*certify.Error)
		return "missing: " + e.Rule, "refused: " + err.Error()
	}
	var integers []certify.Output
	var private bool
	for _, o := range c.Outputs {
		if o.Kind == certify.Integer {
			integers = append(integers, o)
		}
		private = private || o.Kind == certify.Private
	}
	if private && !m.selected && !m.histogram {
		return "private key without selection", "private key"
	}
	if m.selected && len(integers) > 0 {
		weighed := integers[0].Squares != nil && integers[0].Squares.Cmp(big.NewRat(1<<40, 1)) <= 0
		if !weighed && (integers[0].Delta == nil || integers[0].Delta.Cmp(big.NewRat(1, 1)) > 0) {
			return "selection by more than 1", "selection moves by " + integers[0].Influence.String()
		}
		integers = integers[1:]
	}
	if len(integers) != len(m.claims) {
		return "certified, claims unread", "certified"
	}
	word = "certified, equal"
	var lines []string
	for i, o := range integers {
		lines = append(lines, o.Influence.String())
		k := m.claims[i]
		if m.histogram {
			o.Delta = o.Place
		}
		for _, p := range [][2]*big.Rat{{o.Delta, k.delta}, {o.Total, k.total}, {o.Groups, k.groups}} {
			switch {
			case p[0] == nil || p[1] != nil && p[0].Cmp(p[1]) > 0:
				word = "certified, larger"
			case p[1] != nil && p[0].Cmp(p[1]) < 0 && word == "certified, equal":
				word = "certified, smaller"
			}
		}
	}
	return word, word + ": " + strings.Join(lines, "; ")
}

func TestCorpus(t *testing.T) {
	golden := "testdata/corpus.txt"
	counts := map[string]int{}
	var body strings.Builder
	all := readCorpus(t)
	for _, m := range all {
		word, line := check(m)
		counts[word]++
		body.WriteString(m.file + "\t" + line + "\n\t" + m.sql + "\n")
	}
	words := slices.Collect(func(yield func(string) bool) {
		for w := range counts {
			if !yield(w) {
				return
			}
		}
	})
	slices.SortFunc(words, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	var head strings.Builder
	for _, w := range words {
		head.WriteString(big.NewInt(int64(counts[w])).String() + "\t" + w + "\n")
	}
	head.WriteString(big.NewInt(int64(len(all))).String() + "\ttexts\n\n")
	t.Log("\n" + head.String())
	got := head.String() + body.String()
	if *write {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != got {
		t.Errorf("%s differs: read what go test ./tests/certify -certified changes", golden)
	}
}

// BenchmarkCheck is the time of a text of the corpus, on average.
func BenchmarkCheck(b *testing.B) {
	all := readCorpus(b)
	b.ResetTimer()
	for i := range b.N {
		m := all[i%len(all)]
		_, _ = certify.Check(clinic, m.sql, m.parameters, nil)
	}
}
