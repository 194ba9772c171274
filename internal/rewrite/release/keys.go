package release

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// MaxKeys bounds the product of the key domains of one block: every key is released.
const MaxKeys = 20000

// Key is one group expression and the values that it may take.
type Key struct {
	*expr.Expr
	ColumnCollation string              // of a bare column
	Values          []*schema.Canonical // in order, NULL last; nil under selection
	Selection       query.Scalar        // in canonical text, under selection
	perUnit         bool
}

// Equality prints how the key's values are compared everywhere: " COLLATE …" for text, so that no operand's own collation decides.
func (g *Key) Equality() string {
	switch {
	case !g.Collatable():
		return ""
	case g.Collation() == "":
		return ` COLLATE pg_catalog."default"`
	}
	return " COLLATE " + g.Collation()
}

// Null says that the values include NULL.
func (g *Key) Null() bool {
	n := len(g.Values)
	return n > 0 && g.Values[n-1] == nil
}

// groupKeys types the group expressions and finds their values, or falls back to partition selection.
func (b *Planner) groupKeys(k *Block, sc *bind.Scope, groups []*pg_query.Node) error {
	perUnit := true
	var undeclared error
	holds := k.Source.Conditions
	if k.Source.Preserved != nil {
		holds = k.Source.Preserved.Conditions // rows of the public table come back whatever the join says
	}
	for _, n := range groups {
		g, err := b.newKey(k, sc, n)
		if err != nil {
			return err
		}
		perUnit = perUnit && g.perUnit
		k.Keys = append(k.Keys, g)
		if err := b.keyValues(g, holds); err != nil && undeclared == nil {
			undeclared = b.Located(b.Refusal(err), n)
		}
	}
	if undeclared != nil {
		if err := b.selectKeys(k, undeclared); err != nil {
			return err
		}
	}
	listed := !k.Selected && b.Lookup != nil // the values of all keys are known
	size := int64(1)
	for _, g := range k.Keys {
		if listed {
			size *= int64(len(g.Values))
			k.Proofs = append(k.Proofs, g.distinct())
		}
		if size > MaxKeys {
			return b.Refuse(refusal.TooManyGroups, groups[0], fmt.Sprintf("the group keys have more than %d combinations", MaxKeys), "Group by fewer or coarser keys, or narrow them in WHERE.")
		}
	}
	if listed || len(groups) == 0 {
		k.groups = max(1, size)
	}
	k.boundGroups(b.maxGroupsPerUnit(k.Source), perUnit || k.Single())
	return nil
}

// newKey types one group expression, and refuses one that identifies the unit.
func (b *Planner) newKey(k *Block, sc *bind.Scope, n *pg_query.Node) (*Key, error) {
	e, err := sc.Expression(n)
	if err != nil {
		return nil, err
	}
	declared, err := b.declarePublic(e)
	if err != nil {
		return nil, err
	}
	if declared {
		if e, err = sc.Expression(n); err != nil {
			return nil, err
		}
	}
	g := &Key{Expr: e, perUnit: true}
	for _, c := range e.Columns() {
		source, ok := c.Source.(*relation.Column)
		g.perUnit = g.perUnit && ok && source.PerUnit
	}
	if e.OfUnit() {
		return nil, b.Refuse(refusal.UnitKey, n, fmt.Sprintf("%s identifies one %s and cannot be a group key of an answer", e.Text(), k.Source.UnitName), "Group by the unit inside a subquery and aggregate its rows.")
	}
	if c := e.Column(); c != nil {
		g.ColumnCollation = c.Collation
	}
	return g, nil
}

// distinct gives what main has to prove of a declared key: its values differ under the equality that compares the key (P25).
func (g *Key) distinct() schema.Proof {
	d := query.Named("d")
	return schema.Proof{
		Of: "the values of " + g.Text(),
		Values: query.Print(&query.Select{
			Outputs: []query.Output{{X: query.F("count({}) = count(DISTINCT {}{})", d.Column("k"), d.Column("k"), g.Equality())}},
			From:    &query.Function{Call: query.F("pg_catalog.unnest({})", g.Domain()), As: d, Columns: []string{"k"}},
		}),
	}
}

// Domain prints the array of a declared key's values, in the key's type.
func (g *Key) Domain() query.Scalar {
	list := schema.TextArray(g.Values)
	return query.F("({}::pg_catalog.text[])::{}[]", Parameter(pgtype.TextArrayOID, list), g.TypeName())
}

// Parameter makes a parameter of the query that has a value.
func Parameter(oid uint32, value schema.Canonical) query.Scalar {
	return &query.Parameter{Parameter: schema.Parameter{Type: oid, Value: &value}}
}

// declarePublic gives the columns of public tables in a key their distinct values as a domain (docs/privacy.md P10), where the key
// needs one, and says whether it did: the key is then to be built again. Columns with too many values stay as they are.
func (b *Planner) declarePublic(e *expr.Expr) (bool, error) {
	if _, err := expr.Keys(e, MaxKeys); err == nil {
		return false, nil
	}
	declared := false
	for _, c := range e.Columns() {
		source, ok := c.Source.(*relation.Column)
		if !ok || c.Domain != nil {
			continue
		}
		if t := b.Schema.Policy.Table(source.Origin.Table); t == nil || !t.Public {
			continue
		}
		var values []schema.Canonical // known at Plan
		if b.Lookup != nil {
			var err error
			if values, err = b.Lookup.Distinct(source.Origin, c.Type); err != nil {
				return false, err
			}
			if len(values) > MaxKeys {
				continue
			}
			b.UsesDomain(source.Origin, values)
		}
		c.Domain, declared = relation.Texts(values), true
	}
	return declared, nil
}

// boundGroups finds the most groups that one unit counts in: as many as it has rows, as there are, or as the policy says (0: it does not).
func (k *Block) boundGroups(declared int64, one bool) {
	if one || k.groups == 1 {
		k.MaxPartitionsContributed = 1 // the keys are functions of the unit, or there is one group
		return
	}
	k.Spread = true
	k.MaxPartitionsContributed = k.Source.MaxRowsPerUnit
	if k.groups > 0 {
		k.MaxPartitionsContributed = min(k.MaxPartitionsContributed, k.groups)
	}
	if declared > 0 && declared < k.MaxPartitionsContributed {
		k.MaxPartitionsContributed, k.PicksGroups, k.Spread = declared, true, declared > 1
	}
}

// maxGroupsPerUnit gives the policy's bound on groups per unit, the smallest of the tables'; 0: it sets none.
func (b *Planner) maxGroupsPerUnit(src *relation.Relation) int64 {
	c := int64(0)
	for _, t := range src.Tables {
		if n := int64(t.MaxGroupsPerUnit); !t.Public && n > 0 && (c == 0 || n < c) {
			c = n
		}
	}
	return c
}

// keyValues lists the values of a key, by a query without tables on the shadow.
func (b *Planner) keyValues(g *Key, holds []*expr.Expr) error {
	if err := b.publicDomains(g.Expr); err != nil {
		return err
	}
	if b.Lookup == nil && g.Provisional() {
		g.Values = []*schema.Canonical{}
		return nil
	}
	list, err := expr.Keys(g.Expr, MaxKeys, holds...)
	if err != nil {
		return err
	}
	g.Values = []*schema.Canonical{}
	if b.Lookup == nil {
		return nil
	}
	rows, err := b.Lookup.Rows(schema.Query{SQL: list.SQL, Types: []uint32{g.Type()}})
	if err != nil {
		return err
	}
	if len(rows) > MaxKeys {
		return expr.Refuse(refusal.TooManyGroups, g.Location(), fmt.Sprintf("the group key has more than %d values", MaxKeys), "Group by a coarser key, or narrow it in WHERE.")
	}
	null := !list.Exact && g.Nullable()
	for _, r := range rows {
		if r[0] != nil {
			g.Values = append(g.Values, r[0])
		} else if list.Exact {
			null = true
		}
	}
	if null {
		g.Values = append(g.Values, nil)
	}
	return nil
}

// publicDomains declares the public columns of a key by their values (docs/privacy.md P10).
func (b *Planner) publicDomains(e *expr.Expr) error {
	for _, x := range e.Columns() {
		c, ok := x.Source.(*relation.Column)
		if !ok || x.Domain != nil || c.Origin.Column == "" {
			continue
		}
		t := b.Schema.Policy.Table(c.Origin.Table)
		if t == nil || !t.Public {
			continue
		}
		x.Domain = []string{}
		if b.Lookup == nil {
			continue
		}
		values, err := b.Lookup.Distinct(c.Origin, x.Type)
		if err != nil {
			return err
		}
		x.Domain = relation.Texts(values)
		b.UsesDomain(c.Origin, values)
	}
	return nil
}

// selectKeys turns to partition selection; cause says why the keys are not declared.
func (b *Planner) selectKeys(k *Block, cause error) error {
	if b.Schema.Policy.Accounting.Delta <= 0 {
		return cause
	}
	k.Selected = true
	for _, g := range k.Keys {
		g.Values = nil
		canonical, err := expr.SelectionKey(g.Expr)
		if err != nil {
			var pe *pgconn.PgError
			if errors.As(cause, &pe) && pe.Hint != "" {
				return cause
			}
			return b.Refusal(err)
		}
		g.Selection = canonical
	}
	return nil
}

// SelectRelease gives the partition selection on the number of units; nil where the keys are declared.
func (k *Block) SelectRelease() *mechanism.Release {
	if !k.Selected {
		return nil
	}
	return &mechanism.Release{Name: "groups", Kind: mechanism.Selection, Range: mechanism.Range{{Lo: 0, Hi: mechanism.NoUpper}}, Sensitivity: 1, Total: k.MaxPartitionsContributed, Groups: int(k.MaxPartitionsContributed), Weight: 1, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1}}
}

// Product lists the keys in the order of their ordinals: the last key runs fastest.
func (k *Block) Product() [][]*schema.Canonical {
	rows := [][]*schema.Canonical{{}}
	for _, g := range k.Keys {
		var next [][]*schema.Canonical
		for _, r := range rows {
			for _, v := range g.Values {
				next = append(next, append(append([]*schema.Canonical{}, r...), v))
			}
		}
		rows = next
	}
	return rows
}
