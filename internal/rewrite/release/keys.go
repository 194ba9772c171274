package release

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// KeyLimits bound the combinations of the keys of one block: every one of them is released, whether or not a row has
// it. A key of a million takes less than 200 bytes of memory for each, until the answer is read.
var KeyLimits = expr.Limits{Listed: schema.MostListed, Computed: 20_000}

// Key is one group expression.
type Key struct {
	*expr.Expr
	node            *pg_query.Node
	ColumnCollation string       // of a bare column
	Selection       query.Scalar // in canonical text, where main names groups by their keys
	perUnit         bool
	inside          []query.Scalar // a row that does not fulfil these is in no group
}

// Equality prints how the key's values are compared everywhere: " COLLATE …" for text, so that no operand's own
// collation decides.
func (g *Key) Equality() string {
	switch {
	case !g.Collatable():
		return ""
	case g.Collation() == "":
		return ` COLLATE pg_catalog."default"`
	}
	return " COLLATE " + g.Collation()
}

// listedAs prints the collation under which the key's values are told apart where they are listed, by bytes. The
// default collation tells the same values apart, as all do that are deterministic, and a list that is sorted by bytes
// needs one fast sort for both.
func (g *Key) listedAs() string {
	if g.Collatable() && g.Collation() == "" {
		return ` COLLATE pg_catalog."C"`
	}
	return g.Equality()
}

// Shown prints the i-th key as the finish query reads it.
func (g *Key) Shown(i int) query.Scalar {
	value := query.F("x.k{}::{}", i+1, g.TypeName())
	if g.ColumnCollation == "" {
		return value
	}
	return query.F("{} COLLATE {}", value, g.ColumnCollation)
}

// groupKeys types the group expressions and finds their values, or falls back to partition selection.
func (b *Planner) groupKeys(k *Block, sc *bind.Scope, groups []*pg_query.Node) error {
	perUnit := true
	for _, n := range groups {
		g, err := b.newKey(k, sc, n)
		if err != nil {
			return err
		}
		perUnit = perUnit && g.perUnit
		k.Keys = append(k.Keys, g)
	}
	undeclared, err := b.findDomains(k, sc)
	if err != nil {
		return err
	}
	if undeclared != nil {
		if err := b.selectKeys(k, undeclared); err != nil {
			return err
		}
	}
	listed := !k.Selected && b.Lookup != nil // the values of all keys are known
	b.nameByKeys(k)
	size, computed := int64(1), false
	for _, d := range k.Domains {
		if listed {
			size *= int64(d.Tuples.Len())
			if !k.ByKey {
				k.Proofs = append(k.Proofs, d.distinct())
			}
		}
		computed = computed || d.Computed
		if most := KeyLimits.Of(computed); size > most {
			return b.Refuse(refusal.TooManyGroups, groups[0], fmt.Sprintf("the group keys have more than %d combinations",
				most-1), "Group by fewer or coarser keys, or narrow them in WHERE.")
		}
	}
	if listed || len(groups) == 0 {
		k.groups = max(1, size)
	}
	k.boundRows()
	k.boundGroups(b.maxGroupsPerUnit(k.Source), perUnit || k.Single())
	b.boundRowsPerGroup(k)
	return nil
}

// findDomains lists the values of the keys: of those that read public rows alone, the combinations there; of any other,
// its own. undeclared says why the values of a key do not follow from anything.
func (b *Planner) findDomains(k *Block, sc *bind.Scope) (undeclared, err error) {
	xs := make([]*expr.Expr, len(k.Keys))
	for i, g := range k.Keys {
		xs[i] = g.Expr
	}
	of := make([]*Domain, len(k.Keys))
	for _, s := range b.PublicSources(k.Source, xs) {
		d, err := b.publicDomain(k, s)
		if err != nil {
			return nil, b.Located(b.Refusal(err), k.Keys[s.Of[0]].node)
		}
		for _, i := range s.Of {
			of[i] = d
		}
	}
	holds := k.Source.Conditions
	if k.Source.Preserved != nil {
		holds = k.Source.Preserved.Conditions // rows of the public table come back whatever the join says
	}
	for i, g := range k.Keys {
		if of[i] == nil {
			if err := b.declarePublic(g, sc); err != nil {
				return nil, err
			}
			of[i] = &Domain{Keys: []*Key{g}, At: []int{i}}
			err := b.listValues(of[i], holds)
			var refused *expr.Refusal
			switch located := b.Located(b.Refusal(err), g.node); {
			case errors.As(err, &refused) && refused.Reason == refusal.TooManyGroups:
				return nil, located // they are declared: nobody has asked for a selection
			case err != nil && undeclared == nil:
				undeclared = located
			}
		}
		if !slices.Contains(k.Domains, of[i]) {
			k.Domains = append(k.Domains, of[i])
		}
	}
	return undeclared, nil
}

// newKey types one group expression, and refuses one that identifies the unit.
func (b *Planner) newKey(k *Block, sc *bind.Scope, n *pg_query.Node) (*Key, error) {
	e, err := sc.Expression(n)
	if err != nil {
		return nil, err
	}
	g := &Key{Expr: e, node: n, perUnit: relation.PerUnit(e)}
	if e.OfUnit() {
		return nil, b.Refuse(refusal.UnitKey, n, fmt.Sprintf("%s identifies one %s and cannot be a group key of an answer",
			e.Text(), k.Source.UnitName), "Group by the unit inside a subquery and aggregate its rows.")
	}
	g.inside = e.Inside()
	b.NoteBeyond(relation.NoGroup, e.Clamped())
	b.NoteBeyond(relation.NearestKey, e.Computed())
	if c := e.Column(); c != nil {
		g.ColumnCollation = c.Collation
	}
	return g, nil
}

// Parameter makes a parameter of the query that has a value.
func Parameter(oid uint32, value schema.Canonical) query.Scalar {
	return &query.Parameter{Parameter: schema.Parameter{Type: oid, Value: &value}}
}

// declarePublic gives the columns of public tables in a key their distinct values as a domain (docs/privacy.md P10),
// where the key needs one, and types it again.
func (b *Planner) declarePublic(g *Key, sc *bind.Scope) error {
	if _, err := expr.Keys(g.Expr, KeyLimits); err == nil {
		return nil
	}
	declared := false
	for _, c := range g.Columns() {
		source, ok := c.Source.(*relation.Column)
		if !ok || c.Domain != nil {
			continue
		}
		if t := b.Schema.Policy.Table(source.Origin.Table); t == nil || !t.Public {
			continue
		}
		c.Domain, declared = []string{}, true // known at Plan
		if b.Lookup == nil {
			continue
		}
		var err error
		if c.Domain, err = b.PublicValues(source.Origin, c.Type); err != nil {
			return err
		}
	}
	if !declared {
		return nil
	}
	e, err := sc.Expression(g.node)
	if err == nil {
		g.Expr = e
	}
	return err
}

// boundRows finds the most rows of a unit in one group. If they differ in what is one value there, it is one, and a
// unit counts with no more rows than there are groups.
func (k *Block) boundRows() {
	k.rowsInGroup = k.Source.MaxRowsPerUnit
	same := map[*relation.Column]bool{}
	for _, c := range k.Source.Columns {
		same[c] = c.PerUnit
	}
	for _, g := range k.Keys {
		if c := relation.SourceOf(g.Expr); c != nil && query.Equal(g.SQL(), c.Value.Ref) {
			same[c] = true
		}
	}
	set := k.Source.UniqueOver(same)
	if set == nil || k.oneRow() {
		return
	}
	src := *k.Source
	if set.Proof != nil {
		src.Proofs = append(slices.Clone(src.Proofs), *set.Proof)
	}
	switch {
	case src.Proven:
		k.rowsInGroup = 1
	case k.groups > 0:
		k.rowsInGroup = min(k.rowsInGroup, k.groups) // the SQL keeps no more in all of them
		src.MaxRowsPerUnit = k.rowsInGroup
	}
	k.Source = &src
}

// boundGroups finds the most groups that one unit counts in: as many as it has rows, as there are, or as the policy
// says (0: it does not).
func (k *Block) boundGroups(declared int64, one bool) {
	if one || k.groups == 1 {
		k.MaxPartitionsContributed = 1 // the keys are functions of the unit, or there is one group
		return
	}
	k.ManyGroupsPerUnit = true
	k.MaxPartitionsContributed = k.Source.MaxRowsPerUnit
	if k.groups > 0 {
		k.MaxPartitionsContributed = min(k.MaxPartitionsContributed, k.groups)
	}
	if declared > 0 && declared < k.MaxPartitionsContributed {
		k.MaxPartitionsContributed, k.PicksGroups, k.ManyGroupsPerUnit = declared, true, declared > 1
	}
}

// maxGroupsPerUnit returns the policy's bound on groups per unit, the smallest of the tables'; 0: it sets none.
func (b *Planner) maxGroupsPerUnit(src *relation.Relation) int64 {
	c := int64(0)
	for _, t := range src.Tables {
		if n := int64(t.MaxGroupsPerUnit); !t.Public && n > 0 && (c == 0 || n < c) {
			c = n
		}
	}
	return c
}

// listValues lists the values of a key, NULL last, by a query without tables on the shadow.
func (b *Planner) listValues(d *Domain, holds []*expr.Expr) error {
	g := d.Keys[0]
	if err := b.publicDomains(g.Expr); err != nil {
		return err
	}
	if b.Lookup == nil && g.Provisional() {
		return nil
	}
	if b.Lookup != nil {
		if d.Tuples = b.asRead(g, holds); d.Tuples != nil {
			return nil
		}
	}
	list, err := expr.Keys(g.Expr, KeyLimits, holds...)
	if err != nil || b.Lookup == nil {
		return err
	}
	rows, err := b.Lookup.Rows(schema.Query{SQL: list.SQL, Types: []uint32{g.Type()}})
	if err != nil {
		return err
	}
	values := schema.NewTable(1)
	null := !list.Exact && g.Nullable()
	for v := range schema.KeyColumn(rows, 0) {
		if v != nil {
			values.Add([]*schema.Canonical{v})
		} else if list.Exact {
			null = true
		}
	}
	if null {
		values.Add([]*schema.Canonical{nil})
	}
	d.Tuples, d.Computed, d.Whole, d.Sorted = values, list.Computed, list.Whole, !g.Collatable()
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
		var err error
		if x.Domain, err = b.PublicValues(c.Origin, x.Type); err != nil {
			return err
		}
	}
	return nil
}

// selectKeys turns to partition selection; cause says why the keys are not declared.
func (b *Planner) selectKeys(k *Block, cause error) error {
	if b.Schema.Policy.Accounting.Delta <= 0 || k.Source.Preserved != nil { // public rows come back whoever joins them
		return cause
	}
	k.Selected, k.Domains = true, nil
	for _, g := range k.Keys {
		canonical, err := expr.SelectionKey(g.Expr)
		if err != nil {
			var pe *pgconn.PgError
			if errors.As(cause, &pe) && pe.Hint != "" {
				return cause
			}
			return b.Refusal(err)
		}
		g.Selection = canonical
		if c := g.Column(); c != nil { // no list keeps values beyond its bounds out
			g.inside = c.Inside()
		}
	}
	return nil
}

// selectBy finds a released count of units, or of rows of which every unit has one at most: what its value says of a
// group's units is what a selection needs to know, so it decides (docs/mechanisms.md, section 10). 0: there is none;
// else it is 1 + the release.
func (k *Block) selectBy() int {
	for _, what := range []string{"count ", "units "} {
		i, ok := k.index[what+query.Key(nil)]
		if ok && k.Selected && k.Releases[i].Sensitivity == 1 && !k.Releases[i].Choice.Bounding.Blurs() {
			return 1 + i
		}
	}
	return 0
}

// Weighs says that groups are selected by sums of weights, 1/√n of a unit that is in n of them: so each unit moves all
// groups together by a vector of length 1.
func (k *Block) Weighs() bool { return k.Selected && k.SelectBy == 0 && k.MaxPartitionsContributed > 1 }

// SelectRelease returns the partition selection on the number of units, or on the sum of their weights; nil where the
// keys are declared.
func (k *Block) SelectRelease() *mechanism.Release {
	if !k.Selected {
		return nil
	}
	r := mechanism.Release{
		Name: "groups", Kind: mechanism.Selection, Range: mechanism.Range{
			{Lo: 0, Hi: mechanism.NoUpper},
		}, Sensitivity: 1, Total: k.MaxPartitionsContributed,
		Groups: int(k.MaxPartitionsContributed), Weight: askedWeight, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1},
	}
	if k.Weighs() {
		r.Sensitivity, r.Squares, r.Grid.Step = query.WholeWeight, query.WholeWeight*query.WholeWeight, 1./query.WholeWeight
		r.Total *= query.WholeWeight
	}
	return &r
}
