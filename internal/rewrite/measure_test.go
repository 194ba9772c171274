package rewrite_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// bin is one row of a histogram: a grid step and how many rows have it.
type bin struct{ step, count int64 }

// exact is what the measure queries of one block return, by group.
type exact struct {
	keys   []string // names of groups, in the order of release
	texts  [][]*string
	units  map[string]int64
	values map[string][]int64 // one per release; 0 for quantiles
	bins   map[string]map[int][]bin
}

// run measures a plan on main, exactly, and answers its stages without noise.
func (w *world) run(q *question) (all []*exact, stages [][][]*rewrite.Canonical, err error) {
	for i := range q.plan.Blocks {
		for len(stages) < len(q.plan.Stages) && q.plan.Stages[len(stages)].Blocks <= i {
			stage := q.plan.Stages[len(stages)]
			var shown []*exact
			for j, e := range all {
				kept := *e
				kept.drop(&q.plan.Blocks[j])
				shown = append(shown, &kept)
			}
			values, types := finishArguments(q, stage.Query, shown, stages)
			if err := w.checkTypes(stage, types); err != nil {
				return nil, nil, err
			}
			r := backend.Request{SQL: stage.Query.SQL, Parameters: values, Types: types, Settings: w.session}
			rows, err := w.backend.StageRows(context.Background(), stage.Query.On, r, len(stage.Types), stage.List)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", stage.Query.SQL, err)
			}
			stages = append(stages, rows)
		}
		e, err := w.runBlock(given(&q.plan.Blocks[i], stages))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, e)
	}
	return all, stages, nil
}

// checkTypes holds the columns of a stage to what main reads, as the engine does before the charge.
func (w *world) checkTypes(s rewrite.Stage, parameters []uint32) error {
	described, err := w.backend.DescribeOn(context.Background(), s.Query.On, s.Query.SQL, parameters, w.session)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Query.SQL, err)
	}
	for i, f := range described.Fields {
		if f.DataTypeOID != s.Types[i] {
			return fmt.Errorf("%s: column %d has type %d, main reads %d", s.Query.SQL, i+1, f.DataTypeOID, s.Types[i])
		}
	}
	return nil
}

// given is a block whose queries have what stages answer.
func given(k *rewrite.Block, stages [][][]*rewrite.Canonical) *rewrite.Block {
	out := *k
	out.Measure, out.Histograms = k.Measure.With(stages), slices.Clone(k.Histograms)
	for i := range out.Histograms {
		out.Histograms[i].Measure = out.Histograms[i].Measure.With(stages)
	}
	return &out
}

func (w *world) runBlock(k *rewrite.Block) (*exact, error) {
	e := &exact{units: map[string]int64{}, values: map[string][]int64{}, bins: map[string]map[int][]bin{}}
	e.declared(k)
	if k.Measure.Text != "" {
		integers := len(k.Measured)
		if k.Select != nil {
			integers++ // units
		}
		rows, err := w.query(k.Measure, groupFormats(k, integers))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Measure.Text, err)
		}
		for _, r := range rows {
			name, rest := e.row(k, r)
			if k.Select != nil {
				e.units[name], rest = number(rest[0]), rest[1:]
			}
			for i, release := range k.Measured {
				e.values[name][release] = number(rest[i])
			}
		}
	}
	for _, h := range k.Histograms {
		rows, err := w.query(h.Measure, groupFormats(k, 2))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.Measure.Text, err)
		}
		for _, r := range rows {
			name, rest := e.row(k, r)
			for _, release := range h.Releases {
				e.bins[name][release] = append(e.bins[name][release], bin{number(rest[0]), number(rest[1])})
			}
		}
	}
	if k.Select != nil {
		e.keys = slices.DeleteFunc(e.keys, func(name string) bool { return e.units[name] == 0 })
		slices.Sort(e.keys)
		e.texts = nil
		for _, name := range e.keys {
			e.texts = append(e.texts, keyTexts(name, len(k.KeyTypes)))
		}
	}
	return e, nil
}

func (e *exact) group(k *rewrite.Block, name string, texts []*string) {
	if e.values[name] == nil {
		e.keys, e.texts = append(e.keys, name), append(e.texts, texts)
		e.values[name], e.bins[name] = make([]int64, len(k.Releases)), map[int][]bin{}
	}
}

// drop leaves out the groups that are not shown.
func (e *exact) drop(k *rewrite.Block) {
	keys, texts := e.keys, e.texts
	e.keys, e.texts = nil, nil
	for g, name := range keys {
		if values := noiseless(k, e, name); k.Shows(func(release int) int64 { return values[release] }) {
			e.keys, e.texts = append(e.keys, name), append(e.texts, texts[g])
		}
	}
}

// row finds the group of a measured row and returns what follows the group. Keys that are not declared are a group of
// their own: a fault that compare sees.
func (e *exact) row(k *rewrite.Block, r []*string) (string, []*string) {
	if k.ByKey {
		n := len(k.KeyTypes)
		name := keyName(r[:n])
		e.group(k, name, r[:n])
		return name, r[n:]
	}
	if k.Select == nil {
		e.group(k, *r[0], nil) // an ordinal beyond the domain is a group of its own: a fault that compare sees
		return *r[0], r[1:]
	}
	n := len(k.KeyTypes)
	name := keyName(r[:n])
	e.group(k, name, r[:n])
	return name, r[n:]
}

func keyName(texts []*string) string {
	var parts []string
	for _, t := range texts {
		if t == nil {
			parts = append(parts, "N")
		} else {
			parts = append(parts, "V"+*t)
		}
	}
	return strings.Join(parts, "\x00")
}

func keyTexts(name string, n int) []*string {
	var texts []*string
	for _, p := range strings.SplitN(name, "\x00", n) {
		if p == "N" {
			texts = append(texts, nil)
		} else {
			t := p[1:]
			texts = append(texts, &t)
		}
	}
	return texts
}

func number(text *string) int64 {
	if text == nil {
		return 0
	}
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// declared adds the groups of declared keys.
func (e *exact) declared(k *rewrite.Block) {
	if k.Keys == nil {
		return
	}
	for g := range k.Keys.Len() {
		key := make([]*string, len(k.KeyTypes))
		for i, v := range rewrite.KeyRow(k.Keys, g, len(key)) {
			key[i] = (*string)(v)
		}
		name := strconv.Itoa(g + 1)
		if k.ByKey {
			name = keyName(key)
		}
		e.group(k, name, key)
	}
}

// bound are a query's parameters as main gets them.
func bound(q rewrite.SQL) (values [][]byte, types []uint32) {
	for _, p := range q.Parameters {
		types = append(types, p.Type)
		if p.Value == nil {
			values = append(values, nil)
		} else {
			values = append(values, []byte(*p.Value))
		}
	}
	return values, types
}

// groupFormats asks for keys in binary whose text depends on the session's settings, and for n integers behind the
// group.
func groupFormats(k *rewrite.Block, n int) []int16 {
	if k.Select == nil && !k.ByKey {
		return nil
	}
	var fields []pgconn.FieldDescription
	for _, oid := range k.KeyTypes {
		fields = append(fields, pgconn.FieldDescription{DataTypeOID: oid})
	}
	return append(exactFormats(fields), make([]int16, n)...)
}

// query runs a measure query under main's pins.
func (w *world) query(q rewrite.SQL, formats []int16) ([][]*string, error) {
	w.measuring()
	values, types := bound(q)
	result := read(w.main.PgConn().ExecParams(context.Background(), q.Text, values, types, nil, formats))
	return texts(result), result.Err
}

func texts(result *pgconn.Result) [][]*string {
	var rows [][]*string
	for _, r := range result.Rows {
		var row []*string
		for _, v := range r {
			if v == nil {
				row = append(row, nil)
				continue
			}
			s := string(v)
			row = append(row, &s)
		}
		rows = append(rows, row)
	}
	return rows
}

// noiseless draws nothing: every release is its exact value, moved into its range; quantiles are by rank.
func noiseless(k *rewrite.Block, e *exact, name string) []int64 {
	out := slices.Clone(e.values[name])
	for i, r := range k.Releases {
		if r.Kind == mechanism.Quantile {
			out[i] = quantile(e.bins[name][i], r)
		}
	}
	for _, members := range mechanism.Chains(k.Releases) {
		for place, i := range members[1:] {
			out[i] += out[members[place]]
		}
	}
	for i, r := range k.Releases {
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
		switch r.Kind {
		case mechanism.SumGivenCount:
			n := out[r.CountRef]
			lo, hi = n*r.PerRow.Lo, n*r.PerRow.Hi
		case mechanism.Scalar:
			if r.Range[0].Lo != mechanism.NoLower {
				lo = r.Range[0].Lo
			}
			if r.Range[len(r.Range)-1].Hi != mechanism.NoUpper {
				hi = r.Range[len(r.Range)-1].Hi
			}
		}
		out[i] = min(max(out[i], lo), hi)
	}
	return out
}

func quantile(bins []bin, r mechanism.Release) int64 {
	slices.SortFunc(bins, func(a, b bin) int { return int(a.step - b.step) })
	total := int64(0)
	for _, b := range bins {
		total += b.count
	}
	if total == 0 {
		return r.Range[0].Lo
	}
	rank := max(1, int64(math.Ceil(r.Fraction*float64(total))))
	seen := int64(0)
	for _, b := range bins {
		if seen += b.count; seen >= rank {
			return b.step
		}
	}
	return bins[len(bins)-1].step
}

// finish runs the finish query over noiseless values.
func (w *world) finish(q *question) (*pgconn.Result, error) {
	measured, stages, err := w.run(q)
	if err != nil {
		return nil, err
	}
	for i, e := range measured {
		e.drop(&q.plan.Blocks[i])
	}
	values, types := finishArguments(q, q.plan.Finish, measured, stages)
	w.client()
	result := read(w.main.PgConn().ExecParams(context.Background(), q.plan.Finish.SQL, values, types, nil,
		exactFormats(q.described.Fields)))
	if result.Err != nil {
		return nil, fmt.Errorf("%s: %w", q.plan.Finish.SQL, result.Err)
	}
	return result, nil
}

// finishArguments are the parameters of a query over noiseless values.
func finishArguments(q *question, f rewrite.Finish, measured []*exact, stages [][][]*rewrite.Canonical) (
	values [][]byte, types []uint32,
) {
	for _, a := range f.Args {
		types = append(types, a.Type)
		if a.Parameter > 0 {
			values = append(values, q.values[a.Parameter-1])
			continue
		}
		if a.Given != nil {
			list := a.Given.List(stages)
			values = append(values, []byte(list))
			continue
		}
		values = append(values, []byte(argument(&q.plan.Blocks[a.Block], measured[a.Block], a)))
	}
	return values, types
}

// read is Read, with the columns of a result without rows, too.
func read(r *pgconn.ResultReader) *pgconn.Result {
	result := r.Read()
	result.FieldDescriptions = slices.Clone(r.FieldDescriptions())
	for _, row := range result.Rows {
		for i, f := range result.FieldDescriptions {
			if f.Format == pgtype.BinaryFormatCode && row[i] != nil {
				row[i] = spelled(f.DataTypeOID, row[i])
			}
		}
	}
	return result
}

// exactFormats asks for values in binary whose text depends on the session's settings.
func exactFormats(fields []pgconn.FieldDescription) []int16 {
	formats := make([]int16, len(fields))
	for i, f := range fields {
		switch f.DataTypeOID {
		case pgtype.Float4OID, pgtype.Float8OID, pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID,
			pgtype.IntervalOID, pgtype.Float8ArrayOID, pgtype.IntervalArrayOID:
			formats[i] = pgtype.BinaryFormatCode
		}
	}
	return formats
}

// spelled is a binary value as text, whatever the session's settings are.
func spelled(oid uint32, value []byte) []byte {
	m := pgtype.NewMap()
	t, _ := m.TypeForOID(oid)
	v, err := t.Codec.DecodeValue(m, oid, pgtype.BinaryFormatCode, value)
	if err != nil {
		panic(err)
	}
	if list, ok := v.([]any); ok && oid == pgtype.Float8ArrayOID {
		floats := make([]*float64, len(list))
		for i, x := range list {
			if x, ok := x.(float64); ok {
				floats[i] = &x
			}
		}
		v = floats
	} else if ok {
		spans := make([]pgtype.Interval, len(list))
		for i, x := range list {
			spans[i], _ = x.(pgtype.Interval)
		}
		v = spans
	}
	text, err := m.Encode(oid, pgtype.TextFormatCode, v, nil)
	if err != nil {
		panic(fmt.Sprintf("%T of type %d: %v", v, oid, err))
	}
	return text
}

// argument prints an array argument of the finish query.
func argument(k *rewrite.Block, e *exact, a rewrite.FinishArg) string {
	if a.Derived == rewrite.DerivedShare {
		return "0"
	}
	var parts []string
	for g, name := range e.keys {
		switch {
		case a.Key >= 0 && e.texts[g][a.Key] == nil:
			parts = append(parts, "NULL")
		case a.Key >= 0:
			parts = append(parts, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(*e.texts[g][a.Key])+`"`)
		case a.Derived == rewrite.DerivedShown:
			parts = append(parts, "t")
		case a.Derived != "" && a.Derived != rewrite.DerivedPlain: // there is no noise
			parts = append(parts, "0")
		default:
			parts = append(parts, strconv.FormatInt(noiseless(k, e, name)[a.Release], 10))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
