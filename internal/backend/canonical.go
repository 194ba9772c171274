package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Values cross from one database to another in one form, rewrite.Canonical, which means the same value to every
// PostgreSQL whatever its settings are (P24). canonical, in this file, is the only place where one is made.
//
// Under the pins of planning the text that PostgreSQL prints is canonical already (ISO dates,
// extra_float_digits 3, hex), but for two types, whose printing needs a setting that their meaning needs too: an
// instant prints in the TimeZone, whose offset PostgreSQL does not read back where it is beyond 15:59, and an interval
// in the IntervalStyle. Those two cross the wire in binary and are spelled here.

// binary reports whether values of a type come in binary.
func binary(oid uint32) bool {
	switch oid {
	case pgtype.TimestamptzOID, pgtype.IntervalOID, pgtype.TimestamptzArrayOID, pgtype.IntervalArrayOID:
		return true
	}
	return false
}

// canonicalFormats returns the result formats in which canonical takes columns of these types.
func canonicalFormats(types []uint32) []int16 {
	formats := make([]int16, len(types))
	for i, oid := range types {
		if binary(oid) {
			formats[i] = pgtype.BinaryFormatCode
		}
	}
	return formats
}

// canonical makes the canonical form of a value of a type that PostgreSQL sent in the format of canonicalFormats; nil
// is NULL.
func canonical(oid uint32, value []byte) (*rewrite.Canonical, error) {
	if value == nil {
		return nil, nil
	}
	text, err := string(value), error(nil)
	switch oid {
	case pgtype.TimestamptzOID:
		text, err = scanned(oid, value, instant)
	case pgtype.IntervalOID:
		text, err = scanned(oid, value, signedInterval)
	case pgtype.TimestamptzArrayOID:
		text, err = scanned(oid, value, arrayOf(instant))
	case pgtype.IntervalArrayOID:
		text, err = scanned(oid, value, arrayOf(signedInterval))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: a value of type %d: %w", errProtocol, oid, err)
	}
	c := rewrite.Canonical(text)
	return &c, nil
}

// scanned spells a binary value.
func scanned[T any](oid uint32, value []byte, spell func(T) string) (string, error) {
	var v T
	err := types.Scan(oid, pgtype.BinaryFormatCode, value, &v)
	return spell(v), err
}

// arrayOf spells an array's elements, which stay in one dimension: ANY and unnest see no others.
func arrayOf[T any](spell func(T) string) func(pgtype.FlatArray[*T]) string {
	return func(list pgtype.FlatArray[*T]) string {
		parts := make([]string, len(list))
		for i, v := range list {
			if parts[i] = "NULL"; v != nil {
				parts[i] = `"` + spell(*v) + `"`
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
}

// instant spells a timestamp with time zone in UTC.
func instant(at pgtype.Timestamptz) string {
	// Not by types: a Map that encodes remembers how, in a map without a lock.
	plan := (&pgtype.TimestamptzCodec{}).PlanEncode(nil, pgtype.TimestamptzOID, pgtype.TextFormatCode, at)
	text, err := plan.Encode(at, nil)
	if err != nil {
		panic(err) // it was decoded by the same codec
	}
	return string(text)
}

// types knows the binary forms. Scanning only reads it; encoding would write to it.
var types = pgtype.NewMap()

// signedInterval gives every field its sign: IntervalStyle sql_standard takes one leading minus for all fields that
// have none.
func signedInterval(v pgtype.Interval) string {
	sign, micros := "+", v.Microseconds
	if micros < 0 {
		sign, micros = "-", -micros
	}
	seconds, micros := micros/1e6, micros%1e6
	return fmt.Sprintf("%+d mons %+d days %s%02d:%02d:%02d.%06d", v.Months, v.Days, sign, seconds/3600, seconds/60%60,
		seconds%60, micros)
}

// Constants are a statement's parameters and constants, as the shadow reads them.
type Constants struct {
	Parameters  rewrite.Values
	Literals    []*rewrite.Canonical // in the order of rewrite.Constants
	Expressions []*rewrite.Canonical
}

// Constants has the shadow read parameters and literals by their types' input functions, as the session would, and
// evaluate expressions, in one round trip. A value that cannot be read, or an expression that cannot be evaluated,
// fails it as a whole.
func (b *Backend) Constants(ctx context.Context, p Parameters, c rewrite.Constants, s Settings) (*Constants, error) {
	n, l := len(p.Values), len(c.Literals)
	if n+l+len(c.Expressions) == 0 {
		return &Constants{}, nil
	}
	values, formats, oids := slices.Clone(p.Values), make([]int16, n, n+l), slices.Clone(p.Types)
	for i := range formats {
		formats[i] = FormatAt(p.Formats, i)
	}
	for _, literal := range c.Literals {
		values, formats, oids = append(values, []byte(literal.Text)), append(formats, pgtype.TextFormatCode),
			append(oids, literal.Type)
	}
	var outputs []string
	for i := range values {
		outputs = append(outputs, "$"+strconv.Itoa(i+1))
	}
	results := slices.Clone(oids)
	for _, x := range c.Expressions {
		outputs, results = append(outputs, "("+x.SQL+")"), append(results, x.Type)
	}
	clock := slices.ContainsFunc(c.Expressions, func(x rewrite.Expression) bool { return rewrite.MayReadClock(x.SQL) })
	request := Request{
		SQL: "SELECT " + strings.Join(outputs, ", "), Parameters: values, Types: oids, Formats: formats,
		Repeats: !clock,
	}
	rows, err := b.shadow.canonicalRows(ctx, request, b.pins(planning, s), results)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("%w: %d rows of values", errProtocol, len(rows))
	}
	row := rows[0]
	return &Constants{row[:n:n], row[n : n+l], row[n+l:]}, nil
}

// Parameters are what a client binds.
type Parameters struct {
	Values  [][]byte
	Formats []int16
	Types   []uint32
}

// FormatAt applies the protocol's rule: no code means text, one code means all.
func FormatAt(formats []int16, i int) int16 {
	switch len(formats) {
	case 0:
		return pgtype.TextFormatCode
	case 1:
		return formats[0]
	}
	return formats[i]
}

// What plans ask for is bounded: no list has more than rewrite.MostListed values, and no column of them is longer.
const listBytes = 64 << 20

var errLongList = pgerr.New(pgerr.ProgramLimitExceeded, "the values that the statement needs take more than 64 MB",
	pgerr.Hint("Group by fewer or shorter keys."))

// Evaluate runs a query without tables on the shadow, where it means what it means on main.
func (b *Backend) Evaluate(ctx context.Context, q rewrite.Query, s Settings) (*rewrite.Table, error) {
	return b.shadow.canonicalTable(ctx, Request{SQL: q.SQL}, b.pins(planning, s), q.Types)
}

// PublicRows runs a query over public tables alone.
func (b *Backend) PublicRows(ctx context.Context, q rewrite.Query, s Settings) (*rewrite.Table, error) {
	if b.public == nil {
		return nil, b.policy.MissingDSN("public")
	}
	return b.public.canonicalTable(ctx, Request{SQL: q.SQL}, b.pins(planning, s), q.Types)
}

// Distinct returns the distinct non-NULL values of a public column of a type, ordered by the column (P10), at most one
// more than may be listed.
func (b *Backend) Distinct(ctx context.Context, c policy.ColumnOf, oid uint32, s Settings) ([]rewrite.Canonical,
	error,
) {
	if b.public == nil {
		return nil, b.policy.MissingDSN("public")
	}
	column, table := pgx.Identifier{c.Column}.Sanitize(), pgx.Identifier{c.Table.Schema, c.Table.Relation}.Sanitize()
	rows, err := b.public.canonicalRows(ctx, Request{
		SQL: "SELECT DISTINCT " + column + " AS k FROM " + table + " WHERE " + column + " IS NOT NULL ORDER BY k LIMIT " +
			strconv.Itoa(rewrite.MostListed+1),
	}, b.pins(planning, s), []uint32{oid})
	if err != nil {
		return nil, err
	}
	values := make([]rewrite.Canonical, len(rows))
	for i, row := range rows {
		values[i] = *row[0]
	}
	return values, nil
}

// canonicalRows reads all rows of a query whose columns have these types.
func (p *pool) canonicalRows(ctx context.Context, r Request, pins *pinSet, oids []uint32) (all [][]*rewrite.Canonical,
	err error,
) {
	err = p.eachCanonical(ctx, r, pins, oids, func(row []*rewrite.Canonical) { all = append(all, slices.Clone(row)) })
	return all, err
}

// canonicalTable reads rows of which there may be many.
func (p *pool) canonicalTable(ctx context.Context, r Request, pins *pinSet, oids []uint32) (*rewrite.Table, error) {
	table := rewrite.NewTable(len(oids))
	if err := p.eachCanonical(ctx, r, pins, oids, table.Add); err != nil {
		return nil, err
	}
	return table, nil
}

// eachCanonical calls f for all rows of a query whose columns have these types. f does not keep the row.
func (p *pool) eachCanonical(ctx context.Context, r Request, pins *pinSet, oids []uint32,
	f func([]*rewrite.Canonical),
) error {
	r.ResultFormats = canonicalFormats(oids)
	rows, err := p.rows(ctx, r, pins)
	if err != nil {
		return err
	}
	defer rows.Close()
	if columns := len(rows.Columns()); columns != len(oids) {
		return fmt.Errorf("%w: %d columns instead of %d", errProtocol, columns, len(oids))
	}
	for i, c := range rows.Columns() {
		if binary(c.DataTypeOID) != binary(oids[i]) {
			return fmt.Errorf("%w: column %d has type %d", errProtocol, i+1, c.DataTypeOID)
		}
	}
	var failed error
	bytes, values := 0, make([]*rewrite.Canonical, len(oids))
	err = rows.Each(func(row [][]byte) {
		for i, v := range row {
			if bytes += len(v); bytes > listBytes {
				failed = errLongList
				return
			}
			if values[i], err = canonical(oids[i], v); err != nil {
				failed = err
				return
			}
		}
		f(values)
	})
	return errors.Join(err, failed)
}

// parameters returns a query's values, with main's OIDs for types that are not built in: the two databases number those
// differently.
func (b *Backend) parameters(q rewrite.SQL) ([][]byte, []uint32) {
	values, oids := make([][]byte, len(q.Parameters)), make([]uint32, len(q.Parameters))
	names := b.types.Load()
	for i, p := range q.Parameters {
		if p.Value != nil {
			values[i] = []byte(*p.Value)
		}
		oids[i] = p.Type
		if names != nil {
			if main, ok := (*names)[p.Type]; ok {
				oids[i] = main
			}
		}
	}
	return values, oids
}
