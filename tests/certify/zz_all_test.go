package certify_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"sort"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

type dumped struct {
	Query, Client, Text string
	N, Variant          int
	Facts               certify.Facts
	Claims              []certify.Claim
	Releases            json.RawMessage
	Values              []certify.Value
}

// TestAll checks every measure query of MEASURES.
func TestAll(t *testing.T) {
	f, err := os.Open(os.Getenv("MEASURES"))
	if err != nil {
		t.Skip(err)
	}
	out, _ := os.Create(os.Getenv("MEASURES") + ".out")
	defer out.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	counts := map[string]int{}
	all := 0
	d := json.NewDecoder(lines)
	for d.More() {
		var m dumped
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		all++
		word := ""
		c, err := certify.Check(m.Facts, m.Text, m.Values, nil)
		detail := ""
		if err != nil {
			word = "missing: " + err.(*certify.Error).Rule
			detail = err.Error()
		} else if c, err = certify.Check(m.Facts, m.Text, m.Values, m.Claims); err != nil {
			word = "above: " + err.(*certify.Error).Rule
			detail = err.Error()
		} else {
			word = "certified, equal"
			hist := false
			for _, k := range m.Claims {
				hist = hist || k.Kind == certify.Bin
			}
			for i, o := range c.Outputs {
				k := m.Claims[i]
				if k.Kind != certify.Integer {
					continue
				}
				if hist {
					o.Delta = o.Place
				}
				for _, p := range [][2]*big.Rat{{o.Delta, k.Delta}, {o.Total, k.Total}, {o.Groups, k.Groups}} {
					if p[1] != nil && p[0].Cmp(p[1]) < 0 {
						word = "certified, smaller"
						detail += fmt.Sprintf(" output %d: %s", i, o.Influence)
					}
				}
			}
		}
		counts[word]++
		claims := ""
		for _, k := range m.Claims {
			claims += fmt.Sprintf("[%s %s]", k.Kind, k.Influence)
		}
		fmt.Fprintf(out, "%d %s\t%s\t%s\n\tclient: %s\n\tclaims: %s\n\t%s\n", m.N, m.Query, word, detail, m.Client, claims, m.Text)
	}
	var words []string
	for w := range counts {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool { return counts[words[i]] > counts[words[j]] })
	for _, w := range words {
		t.Logf("%4d %s", counts[w], w)
	}
	t.Log(all)
}
