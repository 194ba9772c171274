package certify_test

import (
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
	releaseLine = regexp.MustCompile(`^  .*: (scalar|chained|quantile)[^,]*, sensitivity ([0-9.e+]+) × [0-9.e+-]+(?:, ([0-9.e+]+) × [0-9.e+-]+ in all groups)?`)
	groupsLine  = regexp.MustCompile(`in (\d+) groups at most|in one group|one row per unit`)
	textArray   = regexp.MustCompile(`\(\$(\d+)::pg_catalog\.text(\[\])?\)::pg_catalog\.(\w+)`)
	plainArray  = regexp.MustCompile(`\$(\d+)::pg_catalog\.(\w+)(\[\])?`)
	anyParam    = regexp.MustCompile(`\$(\d+)`)
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

// readQuery reads the texts of one query: those of the blocks one after the other, a block's measure before its histograms.
func readQuery(query string) (texts []measured) {
	type block struct {
		claims   []claim
		selected bool
	}
	var blocks []block
	groups := (*big.Rat)(nil)
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
			c := claim{quantile: m[1] == "quantile", delta: rat(m[2]), groups: groups}
			if c.total = c.delta; m[3] != "" {
				c.total = rat(m[3])
			}
			blocks[len(blocks)-1].claims = append(blocks[len(blocks)-1].claims, c)
		}
		if strings.HasSuffix(line, ": partition selection") && len(blocks) > 0 {
			blocks[len(blocks)-1].selected = true
		}
		for _, prefix := range []string{"measure: ", "histogram: "} {
			if sql, ok := strings.CutPrefix(line, prefix); ok {
				m := measured{sql: sql, histogram: prefix == "histogram: ", parameters: parametersOf(sql)}
				if len(blocks) == 1 {
					m.selected = blocks[0].selected
					for _, c := range blocks[0].claims {
						if c.quantile == m.histogram {
							m.claims = append(m.claims, c)
						}
					}
				}
				texts = append(texts, m)
			}
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

// examples are elements of array parameters, which the corpus does not print.
var examples = map[string]string{
	"text": "a", "int2": "1", "int4": "1", "int8": "1", "numeric": "1", "float8": "1", "bool": "t", "date": "2020-01-01",
	"timestamp": "2020-01-01 00:00:00", "timestamptz": "2020-01-01 00:00:00+00",
}

// parametersOf makes up the parameters of a text.
func parametersOf(sql string) []certify.Value {
	var list []certify.Value
	for _, m := range anyParam.FindAllStringSubmatch(sql, -1) {
		n := int(rat(m[1]).Num().Int64())
		for len(list) < n {
			one := "1"
			list = append(list, certify.Value{Elements: []*string{&one}})
		}
	}
	set := func(n, typ string, array bool) {
		if e, ok := examples[typ]; ok {
			list[rat(n).Num().Int64()-1] = certify.Value{Array: array, Elements: []*string{&e}}
		}
	}
	for _, m := range plainArray.FindAllStringSubmatch(sql, -1) {
		set(m[1], m[2], m[3] != "")
	}
	for _, m := range textArray.FindAllStringSubmatch(sql, -1) {
		set(m[1], m[3], m[2] != "")
	}
	return list
}

// check gives what Check says of a text, in one line, with a word to count it by.
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
		if integers[0].Delta == nil || integers[0].Delta.Cmp(big.NewRat(1, 1)) > 0 {
			return "selection by more than 1", "selection moves by " + integers[0].Influence.String()
		}
		integers = integers[1:]
	}
	if m.histogram && len(m.claims) > 1 {
		m.claims = m.claims[:1] // one text each
	}
	if len(integers) != len(m.claims) {
		return "certified, claims unread", "certified"
	}
	word = "certified, equal"
	var lines []string
	for i, o := range integers {
		lines = append(lines, o.Influence.String())
		k := m.claims[i]
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
