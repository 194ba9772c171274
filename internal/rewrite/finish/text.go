package finish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// printer prints the reads of released values and collects their parameters.
type printer struct {
	planned *Planned
	args    []Arg
}

func (f *printer) arg(a Arg, cast string) string {
	f.args = append(f.args, a)
	return fmt.Sprintf("pg_catalog.unnest($%d::pg_catalog.%s)", len(f.args), cast)
}

// union reads the blocks of one placeholder: k1…, a1… and GROUPING values g1….
func (f *printer) union(u placeholderRead, index []int) string {
	var parts []string
	for i, block := range u.blocks {
		parts = append(parts, f.block(u, u.sets[i], f.planned.Blocks[block], index[block]))
	}
	return strings.Join(parts, " UNION ALL ")
}

// block prints the read of one block. Released integers are converted to the exact types here; everything above is the
// client's own text.
func (f *printer) block(u placeholderRead, set []int, k *release.Block, number int) string {
	outputs := append(keyOutputs(u, set, k), aggregateOutputs(k)...)
	outputs = append(outputs, groupingOutputs(u, set)...)
	arrays, names := f.arrays(u, k, number)
	outputs = append(outputs, f.summedOutputs(u, k, number)...)
	if len(outputs) == 0 {
		outputs = []string{"1 AS one"}
	}
	var from []string
	if len(arrays) > 0 {
		from = append(from, fmt.Sprintf("ROWS FROM (%s) AS x (%s)", strings.Join(arrays, ", "), strings.Join(names, ", ")))
	}
	if zeros := emptyValues(k); k.Source.Empty && zeros != "" {
		from = append(from, zeros)
	}
	text := "SELECT " + strings.Join(outputs, ", ")
	if len(from) > 0 {
		text += " FROM " + strings.Join(from, " CROSS JOIN ")
	}
	for i, c := range k.Kept {
		word := " AND "
		if i == 0 {
			word = " WHERE "
		}
		text += word + f.condition(c)
	}
	return text
}

// condition prints a condition that reads rows of stages.
func (f *printer) condition(c query.Scalar) string {
	sql := query.TextWith(c, len(f.args))
	for _, p := range sql.Parameters {
		f.args = append(f.args, Arg{Type: p.Type, Key: -1, Release: -1, Given: p.Given})
	}
	return "(" + sql.Text + ")"
}

// keyOutputs selects the keys k1, k2… of all grouping sets: NULL for those that this set lacks.
func keyOutputs(u placeholderRead, set []int, k *release.Block) []string {
	var outputs []string
	for i := range u.keys {
		at := slices.Index(set, i)
		if at < 0 {
			outputs = append(outputs, fmt.Sprintf("NULL::%s AS k%d", u.types[i], i+1))
			continue
		}
		g := k.Keys[at]
		outputs = append(outputs, fmt.Sprintf("%s AS k%d", query.Text(g.Shown(at)), i+1))
	}
	return outputs
}

// aggregateOutputs selects the aggregates a1, a2… and what dpproxy's functions say of their noise, i1, i2….
func aggregateOutputs(k *release.Block) []string {
	var outputs []string
	for i, o := range k.Outputs {
		outputs = append(outputs, fmt.Sprintf("%s AS a%d", query.Text(o), i+1))
	}
	for i, o := range k.Intervals {
		outputs = append(outputs, fmt.Sprintf("%s AS i%d", query.Text(o), i+1))
	}
	return outputs
}

// groupingOutputs selects the values g1, g2… of GROUPING(…) in a grouping set: a bit for each argument that the set
// lacks.
func groupingOutputs(u placeholderRead, set []int) []string {
	var outputs []string
	for i, args := range u.grouping {
		bits := 0
		for _, a := range args {
			bits <<= 1
			if !slices.Contains(set, a) {
				bits |= 1
			}
		}
		outputs = append(outputs, fmt.Sprintf("%d AS g%d", bits, i+1))
	}
	return outputs
}

// arrays unnests the parameters of a block, one for each key, release and derived quantity, and names their columns. A
// block without rows has keys alone.
func (f *printer) arrays(u placeholderRead, k *release.Block, number int) (arrays, names []string) {
	add := func(name string, a Arg, cast string) {
		a.Block, a.Whole = number, len(u.summed) > 0
		arrays, names = append(arrays, f.arg(a, cast)), append(names, name)
	}
	for i := range k.Keys {
		add(fmt.Sprintf("k%d", i+1), Arg{Type: pgtype.TextArrayOID, Key: i, Release: -1}, "text[]")
	}
	if k.Source.Empty {
		return arrays, names
	}
	for i := range k.Releases {
		add(string(release.ReleasedColumn(i)), Arg{Type: pgtype.Int8ArrayOID, Key: -1, Release: i}, "int8[]")
	}
	for _, d := range k.Derived {
		oid, cast := uint32(pgtype.Int8ArrayOID), "int8[]"
		if d.Quantity == aggregate.DerivedStddev || d.Column != nil && d.Column.Moments != nil {
			oid, cast = pgtype.Float8ArrayOID, "float8[]"
		}
		add(d.Name, Arg{Type: oid, Key: -1, Release: d.Release, Column: d.Column, Derived: d.Quantity}, cast)
	}
	for _, call := range u.summed {
		if k.Adds(call) {
			add(plainColumn(call), summedArg(k, call, pgtype.Int8ArrayOID, aggregate.DerivedPlain), "int8[]")
			add(noiseColumn(call), summedArg(k, call, pgtype.Float8ArrayOID, aggregate.DerivedNoise), "float8[]")
		}
	}
	if len(u.summed) > 0 {
		add("shown", Arg{Type: pgtype.BoolArrayOID, Key: -1, Release: -1, Derived: aggregate.DerivedShown}, "bool[]")
	}
	return arrays, names
}

func plainColumn(call int) string { return fmt.Sprintf("y%d", call+1) }
func noiseColumn(call int) string { return fmt.Sprintf("e%d", call+1) }

func summedArg(k *release.Block, call int, oid uint32, what aggregate.Derived) Arg {
	return Arg{Type: oid, Key: -1, Release: k.Columns[call].Releases[0], Column: &k.Columns[call], Derived: what}
}

// summedOutputs selects what windows add up over all groups, p1, p2…, with m1, m2… for the margin, and the
// share s1, s2… that is left out.
func (f *printer) summedOutputs(u placeholderRead, k *release.Block, number int) []string {
	if len(u.summed) == 0 {
		return nil
	}
	var outputs []string
	shown := "shown"
	if k.Source.Empty {
		shown = "true"
		outputs = append(outputs, "true AS shown")
	} else {
		outputs = append(outputs, shown)
	}
	for _, call := range u.summed {
		value := fmt.Sprintf("WHEN %s THEN %s END", shown, query.Text(k.Outputs[call]))
		margin, share := "NULL::pg_catalog.numeric", "NULL::pg_catalog.numeric"
		if k.Adds(call) {
			y := query.Name(plainColumn(call))
			value = fmt.Sprintf("WHEN %s IS NOT NULL THEN %s ", y, query.Text(k.OutputOf(call, y))) + value
			a := summedArg(k, call, pgtype.Float8OID, aggregate.DerivedShare)
			a.Block, a.Whole = number, true
			f.args = append(f.args, a)
			margin, share = noiseColumn(call), fmt.Sprintf("$%d::pg_catalog.float8::pg_catalog.numeric", len(f.args))
			switch k.Columns[call].Type {
			case pgtype.IntervalOID:
				margin += " * interval '1 microsecond'"
			case pgtype.Float4OID, pgtype.Float8OID:
			default:
				margin += "::pg_catalog.numeric"
			}
		}
		outputs = append(outputs, fmt.Sprintf("CASE %s AS p%d", value, call+1), fmt.Sprintf("%s AS m%d", margin, call+1),
			fmt.Sprintf("%s AS s%d", share, call+1))
	}
	return outputs
}

// Query is the client's statement with each block replaced by unnest() of released values.
type Query struct {
	SQL   string
	On    schema.Route // RouteShadow, or RoutePublic where it reads public tables
	Clock bool         // it reads the clock: its answer may be another at another time
	Args  []Arg
}

// Stage is a query over the values that are released of a plan's first blocks. Its rows are Given parameters of measure
// queries of the blocks behind those, and of no others (docs/privacy.md P28).
type Stage struct {
	Blocks int          // so many blocks are released before it
	Query  Query        // one row: an array for each column, or NULL where there are no rows
	Types  []uint32     // of the arrays
	List   schema.Query // makes rows of the arrays, which are its parameters
	Rows   int64        // the most rows that it may have
}

// stage prints the query of a stage, whose rows are those of rows.
func stage(s *relation.Stage, rows Query, blocks int) Stage {
	out := Stage{Blocks: blocks, Query: rows, Rows: s.Rows, Types: s.ArrayTypes()}
	var types, lists []string
	for i, c := range s.Columns {
		types = append(types, schema.TypeName(c.Type))
		lists = append(lists, fmt.Sprintf("pg_catalog.unnest($%d::%s[])", i+1, types[i]))
		out.List.Types = append(out.List.Types, c.Type)
	}
	out.Query.SQL = arraysOf(rows.SQL, types, s.Rows+1)
	out.List.SQL = "SELECT * FROM ROWS FROM (" + strings.Join(lists, ", ") + ")"
	return out
}

// arraysOf makes an array of each column of a query, which may be of a domain over the type, and of the first so many
// rows.
func arraysOf(sql string, types []string, rows int64) string {
	var names, arrays []string
	for i, typ := range types {
		name := fmt.Sprintf("c%d", i+1)
		names, arrays = append(names, name), append(arrays, fmt.Sprintf("pg_catalog.array_agg(s.%s::%s)", name, typ))
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT * FROM (%s) AS f LIMIT %d) AS s (%s)", strings.Join(arrays, ", "), sql,
		rows, strings.Join(names, ", "))
}

// TooLong reports whether a value of a column is longer than counts in the work of the measure queries that read it
// (docs/privacy.md P22a).
func (s Stage) TooLong(column int, value schema.Canonical) bool {
	return relation.TooLong(s.List.Types[column], value)
}

// Arg says what a finish parameter is bound to: a client parameter, a column of a stage, a block's key column, a
// block's release, or a derived quantity of a release or of an aggregate (docs/mechanisms.md, section 8).
type Arg struct {
	Type      uint32 // of the parameter; arrays for keys (text[]) and releases (int8[])
	Parameter int    // 1-based client parameter, or 0
	Given     *schema.StageColumn
	Block     int
	Key       int               // index into the block's keys, or -1
	Release   int               // index into the block's releases, or -1
	Column    *release.Column   // the aggregate that Derived is of; nil: Release
	Derived   aggregate.Derived // of Column or Release; empty: the released integer itself
	Whole     bool              `json:",omitempty"` // of all groups of the block, also those that are not shown
}

// emptyValues prints what replaces the releases of a block without rows: a row of zeros; "" where nothing is
// released.
func emptyValues(k *release.Block) string {
	var values []string
	for i := range k.Releases {
		values = append(values, "0::pg_catalog.int8 AS "+string(release.ReleasedColumn(i)))
	}
	for _, d := range k.Derived {
		values = append(values, "0::pg_catalog.int8 AS "+d.Name)
	}
	if len(values) == 0 {
		return ""
	}
	return "(SELECT " + strings.Join(values, ", ") + ") AS z"
}
