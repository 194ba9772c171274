package relation

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Base holds what one planning knows of main, of the session and of parameter values, and what it has found out. Copies
// share the findings.
type Base struct {
	sqltree.Text             // of the statement; empty in a view
	InView       policy.Name // the view whose definition locations count in
	Schema       *schema.Schema
	Settings     schema.Settings
	Desc         schema.Description
	Values       schema.Values
	Lookup       schema.Lookup // nil before values are known: in an analysis
	HashKey      string        // secret of the choice of groups (P9)
	KeepsEmpty   bool          // groups without rows are answers too
	Named        Names         // by the statement
	*findings
	*Foreseen
}

// Foreseen are the constants that the analysis of a statement found, for all its plans, and the columns that it relied
// on.
type Foreseen struct {
	schema.Constants
	places map[string]int // of expressions: index into Expressions
	relied map[policy.ColumnOf]bool
}

// findings are what a planning has found out.
type findings struct {
	literals map[schema.Literal]schema.Canonical // what the shadow has read: the clock stands still within a statement
	computed map[string]*schema.Canonical        // and what it has computed
	aliases  int
	Domains  map[string][]schema.Canonical    // what Distinct gave, for the fingerprint
	listed   map[string][][]*schema.Canonical // what Listed gave, by its SQL

	PublicProofs []schema.Proof // of the bounds of public columns (P10b)

	Relied map[policy.ColumnOf]bool // whose type, nullability and so on the plan rests on (Rely)

	*sqltree.Steps // nil: they are not counted

	CutConditions []string                        // that read numbers of one unit clamped (docs/privacy.md P8e)
	beyond        [Dropped + 1][]expr.OutOfBounds // by their use
	// a subquery that merges or compares rows leaves out those with values beyond
	dropped []expr.OutOfBounds

	ConditionSteps int64 // the most work of one level's conditions for a row (NoteConditions)
}

// New begins a planning. f is what the statement's analysis has foreseen; nil for an analysis.
func New(s *schema.Schema, settings schema.Settings, d schema.Description, text string, f *Foreseen) *Base {
	relied := map[policy.ColumnOf]bool{}
	if f == nil {
		f = &Foreseen{places: map[string]int{}, relied: relied}
	} else {
		maps.Copy(relied, f.relied)
	}
	return &Base{Foreseen: f, Text: sqltree.Text(text), Schema: s, Settings: settings, Desc: d, findings: &findings{
		literals: map[schema.Literal]schema.Canonical{}, computed: map[string]*schema.Canonical{},
		Domains: map[string][]schema.Canonical{}, Relied: relied, listed: map[string][][]*schema.Canonical{},
	}}
}

// NewAlias names one more FROM item.
func (b *Base) NewAlias() *query.Alias {
	b.aliases++
	return &query.Alias{ID: b.aliases}
}

// Rely notes a table's column that the plan rests on: one that a name of the statement or of a view is resolved to,
// whatever becomes of the name, as count(x) is count(*) where x is never NULL; one of a unique index; and one that main
// is asked to read. No more is known of a plan's tables than these say, so what becomes of other columns moves neither
// a bound nor a query (docs/privacy.md P1).
func (b *Base) Rely(c policy.ColumnOf) { b.Relied[c] = true }

// UsesDomain notes the values of a public column that the plan rests on.
func (b *Base) UsesDomain(c policy.ColumnOf, values []schema.Canonical) {
	b.Domains[fmt.Sprint(c)] = values
}

// ReadDomain gives the values of a public column that has been read.
func (b *Base) ReadDomain(c policy.ColumnOf) []schema.Canonical { return b.Domains[fmt.Sprint(c)] }

// resolved binds a relation's name as the backend's search_path does: public first, the other schemas of the policy by
// name. Views and tables are one name space.
func (b *Base) resolved(v *pg_query.RangeVar) policy.Name {
	var found policy.Name
	if v.Catalogname != "" && v.Catalogname != b.Settings.Database {
		return found
	}
	if v.Schemaname != "" {
		return policy.Name{Schema: v.Schemaname, Relation: v.Relname}
	}
	consider := func(n policy.Name) {
		if n.Relation != v.Relname || found.Schema == "public" {
			return
		}
		if found == (policy.Name{}) || n.Schema == "public" || n.Schema < found.Schema {
			found = n
		}
	}
	for _, t := range b.Schema.Policy.Tables {
		consider(t.Name)
	}
	for _, n := range b.Schema.Policy.Views {
		consider(n)
	}
	return found
}

// Table finds a listed table by the name that the analyst wrote; nil when the policy does not list it.
func (b *Base) Table(v *pg_query.RangeVar) *policy.Table {
	return b.Schema.Policy.Table(b.resolved(v))
}

// View finds a listed view; nil when there is none.
func (b *Base) View(v *pg_query.RangeVar) *schema.Relation {
	if n := b.resolved(v); slices.Contains(b.Schema.Policy.Views, n) {
		return b.Schema.Relations[n]
	}
	return nil
}

// Parameter gives the type of $n and, in a plan, its value.
func (b *Base) Parameter(n int) (uint32, *string, bool) {
	if n < 1 || n > len(b.Desc.ParameterTypes) {
		return 0, nil, false
	}
	if b.Lookup == nil || n > len(b.Values) {
		return b.Desc.ParameterTypes[n-1], nil, false
	}
	return b.Desc.ParameterTypes[n-1], (*string)(b.Values[n-1]), true
}

// Literal has the shadow read a constant, once per statement.
func (b *Base) Literal(oid uint32, text string) (string, bool, error) {
	key := schema.Literal{Type: oid, Text: text}
	if b.Lookup == nil {
		if !slices.Contains(b.Literals, key) {
			b.Literals = append(b.Literals, key)
		}
		return "", false, nil
	}
	if value, ok := b.literals[key]; ok {
		return string(value), true, nil
	}
	value, err := b.Lookup.Literal(oid, text)
	if err == nil {
		b.literals[key] = value
	}
	return string(value), true, err
}

// Holds evaluates a condition that reads no column: one that is never true costs nothing. Before values are known it is
// foreseen.
func (b *Base) Holds(c *expr.Expr) (holds, known bool) {
	value, known, err := b.evaluate(fmt.Sprintf("%s %d %s", b.InView, c.Location(), c.Text()), pgtype.BoolOID, c.SQL())
	return value != nil && *value == "t", known && err == nil
}

// Compute evaluates an operation on constants, once per statement. Where it fails, it fails as the client's own text.
func (b *Base) Compute(n *pg_query.Node, oid uint32, sql query.Scalar) (*string, bool, error) {
	key := fmt.Sprintf("%d %s", oid, sqltree.TreeKey(n))
	if value, ok := b.computed[key]; ok {
		return (*string)(value), true, nil
	}
	value, known, err := b.evaluate(key, oid, sql)
	if known && err == nil {
		b.computed[key] = value
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		own := *pe
		own.Position = int32(b.Position(sqltree.LocationOf(n))) // not that in our text
		err = &own
	}
	return (*string)(value), known, err
}

// evaluate has the shadow compute SQL that reads no row. Before values are known it is foreseen; place says which of
// the statement's expressions it is.
func (b *Base) evaluate(place string, oid uint32, sql query.Scalar) (value *schema.Canonical, known bool, err error) {
	n, foreseen := b.places[place]
	if b.Lookup == nil {
		if !foreseen {
			b.places[place] = len(b.Expressions)
			b.Expressions = append(b.Expressions, schema.Expression{Type: oid, SQL: query.Text(sql)})
		}
		return nil, false, nil
	}
	if foreseen {
		if value, known := b.Lookup.Expression(n); known {
			return value, true, nil
		}
	}
	rows, err := b.Lookup.Rows(schema.Query{SQL: "SELECT (" + query.Text(sql) + ")", Types: []uint32{oid}})
	if err != nil || rows.Len() != 1 {
		return nil, false, err
	}
	return rows.Rows()[0][0], true, nil
}

// Prints compares the session's styles with main's.
func (b *Base) Prints(oid uint32) bool {
	switch oid {
	case pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return strings.HasPrefix(strings.ToUpper(b.Settings.DateStyle), "ISO")
	case pgtype.IntervalOID:
		return strings.EqualFold(b.Settings.IntervalStyle, "postgres")
	}
	return true
}

// Refusal gives an expression's refusal its position in the client's text.
func (b *Base) Refusal(err error) error {
	var r *expr.Refusal
	if !errors.As(err, &r) {
		return err
	}
	e := *r.Err
	if e.Position == 0 {
		e.Position = int32(b.Position(r.Location))
	}
	return &e
}

// IsTrue reads the answer to a question of one boolean.
func IsTrue(rows *schema.Table) bool {
	if rows.Len() != 1 {
		return false
	}
	value, _ := rows.Value(0, 0)
	return value == "t"
}

// Foreign says that a relation reads a foreign table: postgres_fdw pushes CASE down, LEAST and GREATEST not.
func (b *Base) Foreign(r *Relation) bool {
	return slices.ContainsFunc(r.Tables, func(t *policy.Table) bool {
		m := b.Schema.Relations[t.Name]
		return m != nil && m.Kind == 'f'
	})
}

// MayBeForeign says that another server may evaluate conditions on rows of a relation: that of a foreign table, or of a
// partition that is one.
func (b *Base) MayBeForeign(r *Relation) bool {
	return slices.ContainsFunc(r.Tables, func(t *policy.Table) bool {
		m := b.Schema.Relations[t.Name]
		return m != nil && m.Kind != 'r'
	})
}

// Distributed says that servers read the rows of a relation each as of a moment of its own: what is true of all rows at
// one moment need not be so of those that a query reads.
func (b *Base) Distributed(r *Relation) bool {
	return slices.ContainsFunc(r.Tables, func(t *policy.Table) bool {
		m := b.Schema.Relations[t.Name]
		return m != nil && m.Distributed
	})
}

// HashSeed derives the seed of group selection from the proxy's secret.
func (b *Base) HashSeed() schema.Canonical {
	sum := sha256.Sum256([]byte("dpproxy group selection\x00" + b.HashKey))
	return schema.Canonical(strconv.FormatInt(int64(binary.BigEndian.Uint64(sum[:8])), 10))
}
