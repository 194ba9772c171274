package rewrite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// maxKeys bounds the product of the key domains of one block: every key is released.
const maxKeys = 20000

// groupKey is one group expression and the values that it may take.
type groupKey struct {
	*expr.Expr
	collation string
	values    []*Canonical // in order, NULL last; nil under selection
	selection query.Scalar // in which equal values are spelled alike, under selection
	perUnit   bool
}

// equality is how the key's values are compared wherever they are: " COLLATE …" for text, so that no operand's own collation decides.
func (g *groupKey) equality() string {
	switch {
	case !g.Collatable():
		return ""
	case g.Collation() == "":
		return ` COLLATE pg_catalog."default"`
	}
	return " COLLATE " + g.Collation()
}

// null says that NULL is one of the values.
func (g *groupKey) null() bool {
	n := len(g.values)
	return n > 0 && g.values[n-1] == nil
}

// groupKeys types the group expressions and finds their values, or falls back to partition selection.
func (b *builder) groupKeys(k *block, sc *scope, groups []*pg_query.Node) error {
	perUnit := true
	var undeclared error
	holds := k.src.conds
	if k.src.preserved != nil {
		holds = k.src.preserved.conds // rows of the public table come back whatever the join says
	}
	for _, n := range groups {
		e, err := sc.expression(n)
		if err != nil {
			return err
		}
		if declared, err := b.declarePublic(e); err != nil {
			return err
		} else if declared {
			if e, err = sc.expression(n); err != nil {
				return err
			}
		}
		g := &groupKey{Expr: e, perUnit: true}
		for _, c := range e.Columns() {
			source, ok := c.Source.(*column)
			g.perUnit = g.perUnit && ok && source.perUnit
		}
		if e.OfUnit() {
			return b.refuse(pgerr.InsufficientPrivilege, n, fmt.Sprintf("%s identifies one %s and cannot be a group key of an answer", e.Text(), k.src.kind), "Group by the unit inside a subquery and aggregate its rows.")
		}
		if c := e.Column(); c != nil {
			g.collation = c.Collation
		}
		perUnit = perUnit && g.perUnit
		k.keys = append(k.keys, g)
		if err := b.keyValues(g, holds); err != nil {
			if undeclared == nil {
				undeclared = b.located(b.refusal(err), n)
			}
		}
	}
	if undeclared != nil {
		if err := b.selectKeys(k, undeclared); err != nil {
			return err
		}
	}
	size := int64(1)
	for _, g := range k.keys {
		if !k.selected && b.lookup != nil {
			size *= int64(len(g.values))
		}
		if size > maxKeys {
			return b.refuse(pgerr.FeatureNotSupported, groups[0], fmt.Sprintf("the group keys have more than %d combinations", maxKeys), "Group by fewer or coarser keys, or narrow them in WHERE.")
		}
	}
	k.groups = b.maxGroups(k.src)
	switch {
	case perUnit || k.single():
		k.groups = 1 // the key is a function of the unit
	case !k.selected && size <= k.groups && b.lookup != nil:
		k.groups = max(1, size)
	default:
		k.pick = true
	}
	if !k.selected && b.lookup != nil {
		for _, g := range k.keys {
			k.proofs = append(k.proofs, g.distinct())
		}
	}
	return nil
}

// distinct is what main has to prove of a declared key: its values differ as the key's own are compared (P25).
func (g *groupKey) distinct() Proof {
	d := query.Named("d")
	return Proof{
		Of: "the values of " + g.Text(),
		Values: query.Print(&query.Select{
			Outputs: []query.Output{{X: query.F("count({}) = count(DISTINCT {}{})", d.Column("k"), d.Column("k"), g.equality())}},
			From:    &query.Function{Call: query.F("pg_catalog.unnest({})", g.domain()), As: d, Columns: []string{"k"}},
		}),
	}
}

// domain is the array of a declared key's values, in the key's type.
func (g *groupKey) domain() query.Scalar {
	list := textArray(g.values)
	return query.F("({}::pg_catalog.text[])::{}[]", parameter(pgtype.TextArrayOID, list), g.TypeName())
}

func parameter(oid uint32, value Canonical) query.Scalar {
	return &query.Parameter{Parameter: Parameter{Type: oid, Value: &value}}
}

// declarePublic gives the columns of public tables in a key their distinct values as a domain (PRIVACY 12), where the key
// needs one, and says whether it did: the key is then to be built again. Columns with too many values stay as they are.
func (b *builder) declarePublic(e *expr.Expr) (bool, error) {
	if _, err := expr.Keys(e, maxKeys); err == nil {
		return false, nil
	}
	declared := false
	for _, c := range e.Columns() {
		source, ok := c.Source.(*column)
		if !ok || c.Domain != nil {
			continue
		}
		if t := b.schema.Policy.Table(source.origin.Table); t == nil || !t.Public {
			continue
		}
		var values []Canonical // known at Plan
		if b.lookup != nil {
			var err error
			if values, err = b.lookup.Distinct(source.origin, c.Type); err != nil {
				return false, err
			}
			if len(values) > maxKeys {
				continue
			}
			b.usesDomain(source.origin, values)
		}
		c.Domain, declared = texts(values), true
	}
	return declared, nil
}

// maxGroups is the policy's bound on groups per unit: the smallest of the tables'.
func (b *builder) maxGroups(src *relation) int64 {
	c := int64(0)
	for _, t := range src.tables {
		if !t.Public && (c == 0 || int64(t.MaxGroupsPerUnit) < c) {
			c = int64(t.MaxGroupsPerUnit)
		}
	}
	return max(1, c)
}

// keyValues lists the values of a key, by a query without tables on the shadow.
func (b *builder) keyValues(g *groupKey, holds []*expr.Expr) error {
	if err := b.publicDomains(g.Expr); err != nil {
		return err
	}
	if !b.known && g.Provisional() {
		g.values = []*Canonical{}
		return nil
	}
	list, err := expr.Keys(g.Expr, maxKeys, holds...)
	if err != nil {
		return err
	}
	g.values = []*Canonical{}
	if b.lookup == nil {
		return nil
	}
	rows, err := b.lookup.Rows(Query{SQL: list.SQL, Types: []uint32{g.Type()}})
	if err != nil {
		return err
	}
	if len(rows) > maxKeys {
		return expr.Refuse(g.Location(), fmt.Sprintf("the group key has more than %d values", maxKeys), "Group by a coarser key, or narrow it in WHERE.")
	}
	null := !list.Exact && g.Nullable()
	for _, r := range rows {
		if r[0] != nil {
			g.values = append(g.values, r[0])
		} else if list.Exact {
			null = true
		}
	}
	if null {
		g.values = append(g.values, nil)
	}
	return nil
}

// publicDomains declares the public columns of a key by their values (PRIVACY 12).
func (b *builder) publicDomains(e *expr.Expr) error {
	for _, x := range e.Columns() {
		c, ok := x.Source.(*column)
		if !ok || x.Domain != nil || c.origin.Column == "" {
			continue
		}
		t := b.schema.Policy.Table(c.origin.Table)
		if t == nil || !t.Public {
			continue
		}
		x.Domain = []string{}
		if b.lookup == nil {
			continue
		}
		values, err := b.lookup.Distinct(c.origin, x.Type)
		if err != nil {
			return err
		}
		x.Domain = texts(values)
		b.usesDomain(c.origin, values)
	}
	return nil
}

// selectKeys turns to partition selection; cause says why the keys are not declared.
func (b *builder) selectKeys(k *block, cause error) error {
	if b.schema.Policy.Accounting.Delta <= 0 {
		return cause
	}
	k.selected = true
	for _, g := range k.keys {
		g.values = nil
		alike, err := expr.SelectionKey(g.Expr)
		if err != nil {
			var pe *pgconn.PgError
			if errors.As(cause, &pe) && pe.Hint != "" {
				return cause
			}
			return b.refusal(err)
		}
		g.selection = alike
	}
	return nil
}

// selectRelease is the partition selection on the number of units.
func (k *block) selectRelease() *mechanism.Release {
	if !k.selected {
		return nil
	}
	return &mechanism.Release{Name: "groups", Kind: mechanism.Selection, Range: mechanism.Range{{Lo: 0, Hi: mechanism.NoUpper}}, Sensitivity: 1, Groups: int(k.groups), Weight: 1, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1}}
}

// product lists the keys in the order of their ordinals: the last key runs fastest.
func (k *block) product() [][]*Canonical {
	rows := [][]*Canonical{{}}
	for _, g := range k.keys {
		var next [][]*Canonical
		for _, r := range rows {
			for _, v := range g.values {
				next = append(next, append(append([]*Canonical{}, r...), v))
			}
		}
		rows = next
	}
	return rows
}

// textArray prints non-NULL values as a PostgreSQL array of text.
func textArray(values []*Canonical) Canonical {
	var sb strings.Builder
	sb.WriteByte('{')
	first := true
	for _, v := range values {
		if v == nil {
			continue
		}
		if !first {
			sb.WriteByte(',')
		}
		first = false
		sb.WriteByte('"')
		sb.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(*v)))
		sb.WriteByte('"')
	}
	sb.WriteByte('}')
	return Canonical(sb.String())
}
