package backend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// indexSQL is true where a unique index over the columns @columns or a subset of them holds for every row that a scan
// of the relation @schema.@relation would read: valid, ready, immediate, neither partial nor over expressions, on a
// table without inheritance children (a partitioned table's index covers its partitions). It reads the catalogs as of
// the transaction's snapshot, and an index that exists there was enforced for every row that the snapshot can see (P1).
const indexSQL = `EXISTS (
  SELECT FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = w.schema AND c.relname = w.relation AND c.relkind IN ('r', 'p')
    AND i.indisunique AND i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate
    AND i.indpred IS NULL AND i.indexprs IS NULL
    AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid))
    AND NOT EXISTS (
      SELECT FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, at)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
      WHERE k.at <= i.indnkeyatts AND a.attname::text <> ALL (w.columns::text[])))`

// failingSQL returns the places of those relations of which a fact is not true. One query asks for all: most of what a
// question to the catalogs takes is its planning. It has no parameters, so that a connection on which it is prepared
// plans it once.
func failingSQL(fact string, proofs []rewrite.Proof) string {
	lists := make([][]string, 4)
	for _, p := range proofs {
		for i, text := range []string{p.Relation.Schema, p.Relation.Relation, textArray(p.Columns), p.Shape} {
			lists[i] = append(lists[i], text)
		}
	}
	var arrays []string
	for _, list := range lists {
		arrays = append(arrays, "pg_catalog.unnest("+sqltext.EscapedLiteral(textArray(list))+"::text[])")
	}
	return "SELECT w.at FROM ROWS FROM (" + strings.Join(arrays, ", ") +
		") WITH ORDINALITY AS w (schema, relation, columns, shape, at)\nWHERE NOT COALESCE(" + fact + ", false) ORDER BY 1"
}

var shapeSQL = "(" + introspect.ShapeOf("w.schema", "w.relation", "w.columns::text[]") + ") = w.shape"

// question is one that main answers for proofs.
type question struct {
	sql    string
	values [][]byte
	types  []uint32
	of     []rewrite.Proof
}

// questions are what main is asked to prove.
func (b *Backend) questions(proofs []rewrite.Proof) (list []question) {
	var shapes, indexes, values []rewrite.Proof
	for _, p := range proofs {
		switch {
		case p.Values.Text != "":
			values = append(values, p)
		case p.Shape != "":
			shapes = append(shapes, p)
		default:
			indexes = append(indexes, p)
		}
	}
	if len(shapes) > 0 {
		list = append(list, question{sql: failingSQL(shapeSQL, shapes), of: shapes})
	}
	if len(indexes) > 0 {
		list = append(list, question{sql: failingSQL(indexSQL, indexes), of: indexes})
	}
	for _, p := range values {
		given, types := b.parameters(p.Values)
		list = append(list, question{p.Values.Text, given, types, []rewrite.Proof{p}})
	}
	return list
}

// check gives a *ProofError for the first proof that the answer's rows say fails.
func (q question) check(rows [][]byte) error {
	if q.of[0].Values.Text != "" {
		if len(rows) != 1 || string(rows[0]) != "t" {
			return &ProofError{q.of[0]}
		}
		return nil
	}
	if len(rows) == 0 {
		return nil
	}
	at, err := strconv.Atoi(string(rows[0]))
	if err != nil || at < 1 || at > len(q.of) {
		return errProtocol
	}
	return &ProofError{q.of[at-1]}
}

// ProofError says that main does not bear out what a plan rests on: an index that has gone or a table that has changed,
// so that Schema has to be read and the statement planned anew; or values that are equal on main though they are
// written differently. Neither says anything of a row.
type ProofError struct{ Proof rewrite.Proof }

func (e *ProofError) Error() string {
	if e.Proof.Of != "" {
		return "main compares as equal some of " + e.Proof.Of
	}
	if e.Proof.Values.Text != "" {
		return "main's public tables are not as the plan has read them"
	}
	if e.Proof.Shape != "" {
		return fmt.Sprintf("main's table %s has changed", e.Proof.Relation)
	}
	return fmt.Sprintf("main has no unique index on %s any more", strings.Join(e.Proof.Columns, ", "))
}

// textArray prints an array of text in PostgreSQL's input form.
func textArray(values []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

// answer reads the first column of the whole result of the next queued query.
func (t *transaction) answer() (column [][]byte, _ error) {
	reader, err := t.reader()
	if err != nil {
		return nil, err
	}
	for reader.NextRow() {
		column = append(column, slices.Clone(reader.Values()[0]))
	}
	_, err = reader.Close()
	return column, err
}
