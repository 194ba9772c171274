package gate

import (
	"math/big"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Measure is one query for main, with what its outputs are charged for.
type Measure struct {
	SQL    schema.SQL
	Claims []certify.Claim
}

// Measures are the queries of a block: that of its integers, if it has one, and its histograms.
func Measures(k *rewrite.Block) []Measure {
	var all []Measure
	if k.Measure.Text != "" {
		claims := keys(k)
		if k.Select != nil {
			for i := range claims {
				claims[i].Kind = certify.Private
			}
			claims = append(claims, certify.Claim{Kind: certify.Selection, Influence: influence(*k.Select)})
		}
		for _, i := range k.Measured {
			claims = append(claims, claim(k.Releases[i]))
		}
		all = append(all, Measure{k.Measure, claims})
	}
	for _, h := range k.Histograms {
		claims := append(keys(k), certify.Claim{Kind: certify.Bin}, certify.Claim{Kind: certify.Integer})
		count, family := &claims[len(claims)-1], 0
		for _, i := range h.Releases {
			c, r := claim(k.Releases[i]), k.Releases[i]
			c.Influence = spread(c.Influence)
			count.Influence = least(count.Influence, c.Influence)
			if r.InFamily() && r.Family == family {
				continue // drawn and charged with the others, once in a layer
			}
			if count.Layers = append(count.Layers, c.Layers...); r.InFamily() {
				family = r.Family
			}
		}
		all = append(all, Measure{h.Measure, claims})
	}
	return all
}

// keys are the outputs that name a group: its ordinal among declared keys, or the keys themselves.
func keys(k *rewrite.Block) []certify.Claim {
	if k.Select == nil && !k.ByKey {
		return []certify.Claim{{Kind: certify.Public, Influence: certify.Influence{
			Groups: big.NewRat(int64(k.Keys.Len()), 1),
		}}}
	}
	claims := make([]certify.Claim, len(k.KeyTypes))
	for i, oid := range k.KeyTypes {
		claims[i].Kind = certify.Listed // or shown by selection, on the integers' query
		if t, known := builtIn.TypeForOID(oid); known {
			claims[i].Type = t.Name
		}
	}
	if k.Select == nil && len(claims) > 0 {
		claims[0].Groups = big.NewRat(int64(k.Keys.Len()), 1) // no other group is given out
	}
	return claims
}

// claim is what a release is charged for, and what its charge takes for granted of others (certify.Claim).
// mechanism.Compose charges a layer as its dearest member: so the members' parts of their totals add up to 1, counted
// in whole rows, as staircases and randomised response cost a stair for each (docs/mechanisms.md, sections 13 and 15).
// mechanism.PrepareVector may make one vector of all releases of a block with a Row and equally many rows of a unit
// (section 14); truncation and staircases spread those rows over groups even for one alone.
func claim(r mechanism.Release) certify.Claim {
	c := certify.Claim{Kind: certify.Integer, Influence: influence(r)}
	if r.Row > 0 {
		c.Row = big.NewRat(r.Row, 1)
	}
	if r.Layered() {
		c.Layers = []int{r.Layer}
	}
	return c
}

// spread says in its total in how many groups a quantile is charged for: of a histogram the bins are groups too. A
// quantile costs by the total alone, which is that of so many groups at most (docs/mechanisms.md, section 13).
func spread(i certify.Influence) certify.Influence {
	all := new(big.Rat).Mul(i.Delta, i.Groups)
	return least(certify.Influence{Delta: i.Delta, Total: i.Total}, certify.Influence{Total: all})
}

// influence is what a release is charged for by itself.
func influence(r mechanism.Release) certify.Influence {
	groups := int64(max(r.Groups, 1))
	total := big.NewRat(r.Total, 1)
	if r.Total == 0 {
		total = new(big.Rat).Mul(big.NewRat(r.Sensitivity, 1), big.NewRat(groups, 1))
	}
	i := certify.Influence{Delta: big.NewRat(r.Sensitivity, 1), Total: total, Groups: big.NewRat(groups, 1)}
	if r.Squares > 0 {
		i.Squares = big.NewRat(r.Squares, 1)
	}
	return i
}

// least takes the smaller of each bound.
func least(a, b certify.Influence) certify.Influence {
	smaller := func(x, y *big.Rat) *big.Rat {
		if x == nil || y != nil && y.Cmp(x) < 0 {
			return y
		}
		return x
	}
	return certify.Influence{
		Delta: smaller(a.Delta, b.Delta), Total: smaller(a.Total, b.Total),
		Groups: smaller(a.Groups, b.Groups),
	}
}
