package release

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// keptByStages finds the conditions of a block that say which of its groups exist, as soon as the stages before it are answered: those
// that read keys and rows of stages alone. They hold of a key what they hold of the rows of its group (docs/privacy.md P28). Keys are
// x.k1, x.k2… in them.
func (k *Block) keptByStages() []query.Scalar {
	if len(k.Keys) == 0 || k.Source.Preserved != nil || k.Source.Empty {
		return nil
	}
	var kept []query.Scalar
	var joined []query.Source // stages, each with the conditions of its rows
	conditions := map[query.Source][]query.Scalar{}
	for _, c := range expr.Conjuncts(k.Source.Conditions...) {
		x, keys := k.overKeys(c)
		names := query.NamesOf(x)
		if !keys || names.Tables {
			continue
		}
		stage, ok := k.stageOf(names)
		switch {
		case !ok || stage == nil && !names.Given:
		case stage == nil:
			kept = append(kept, x)
		default:
			if conditions[stage] == nil {
				joined = append(joined, stage)
			}
			conditions[stage] = append(conditions[stage], x)
		}
	}
	for _, s := range joined {
		kept = append(kept, query.Exists{Query: &query.Select{Outputs: []query.Output{{X: query.Integer(1)}}, From: s, Where: conditions[s]}})
	}
	return kept
}

// overKeys replaces the keys of the block in a condition, and says whether there is one.
func (k *Block) overKeys(c query.Scalar) (_ query.Scalar, found bool) {
	keys := map[string]query.Scalar{}
	for i, g := range k.Keys {
		keys[query.Key(g.SQL())] = g.Shown(i)
	}
	x := query.Map{Scalar: func(x query.Scalar) query.Scalar {
		key, ok := keys[query.Key(x)]
		if !ok {
			return x
		}
		found = true
		return key
	}}.OfScalar(c)
	return x, found
}

// stageOf finds the one stage whose rows a condition reads beside what it defines itself; nil if it reads none. ok is false where it reads
// anything else.
func (k *Block) stageOf(names query.Names) (stage query.Source, ok bool) {
	for alias := range names.Columns {
		if names.Defined[alias] {
			continue
		}
		var of query.Source
		for _, c := range k.Source.Columns {
			if d, isDerived := c.Stage.(*query.Derived); isDerived && d.As == alias {
				of = d
			}
		}
		if of == nil || stage != nil && stage != of {
			return nil, false
		}
		stage = of
	}
	return stage, true
}
