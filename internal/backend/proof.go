package backend

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// indexSQL is true where a unique index over the columns @columns or a subset of them holds for every row that a scan of the relation
// @schema.@relation would read: valid, ready, immediate, neither partial nor over expressions, on a table without inheritance
// children (a partitioned table's index covers its partitions). It reads the catalogs as of the transaction's snapshot, and an
// index that exists there was enforced for every row that the snapshot can see (P1).
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
      WHERE k.at <= i.indnkeyatts AND a.attname::text <> ALL (w.fact::text[])))`

const textArrayOID = 1009

// failingSQL returns the places of those relations, of the lists $1 to $3, of which a fact is not true. One query asks for all: most
// of what a question to the catalogs takes is its planning.
func failingSQL(fact string) string {
	return `SELECT w.at FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[])) WITH ORDINALITY AS w (schema, relation, fact, at)
WHERE NOT COALESCE(` + fact + `, false) ORDER BY 1`
}

var (
	failingIndexes = failingSQL(indexSQL)
	failingShapes  = failingSQL("(" + strings.NewReplacer("$1::text", "w.schema", "$2::text", "w.relation").Replace(introspect.ShapeSQL) + ") = w.fact")
)

// proofSet sorts a plan's proofs by kind.
type proofSet struct{ shapes, indexes, values []rewrite.Proof }

func proofsOf(all []rewrite.Proof) (set proofSet) {
	for _, p := range all {
		switch {
		case p.Values.Text != "":
			set.values = append(set.values, p)
		case p.Shape != "":
			set.shapes = append(set.shapes, p)
		default:
			set.indexes = append(set.indexes, p)
		}
	}
	return set
}

// sendProofs queues the questions that readProofs reads the answers of.
func (b *Backend) sendProofs(tx *transaction, set proofSet) {
	send := func(sql string, proofs []rewrite.Proof, fact func(rewrite.Proof) string) {
		if len(proofs) == 0 {
			return
		}
		lists := make([][]string, 3)
		for _, p := range proofs {
			for i, text := range []string{p.Relation.Schema, p.Relation.Relation, fact(p)} {
				lists[i] = append(lists[i], text)
			}
		}
		values := [][]byte{[]byte(textArray(lists[0])), []byte(textArray(lists[1])), []byte(textArray(lists[2]))}
		tx.pipeline.SendQueryParams(sql, values, []uint32{textArrayOID, textArrayOID, textArrayOID}, nil, nil)
	}
	send(failingShapes, set.shapes, func(p rewrite.Proof) string { return p.Shape })
	send(failingIndexes, set.indexes, func(p rewrite.Proof) string { return textArray(p.Columns) })
	for _, p := range set.values {
		values, oids := b.parameters(p.Values)
		tx.pipeline.SendQueryParams(p.Values.Text, values, oids, nil, nil)
	}
}

// readProofs gives a *ProofError for the first proof that fails.
func readProofs(tx *transaction, set proofSet) error {
	for _, proofs := range [][]rewrite.Proof{set.shapes, set.indexes} {
		if len(proofs) == 0 {
			continue
		}
		rows, err := tx.answer()
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			at, err := strconv.Atoi(string(rows[0][0]))
			if err != nil || at < 1 || at > len(proofs) {
				return errProtocol
			}
			return &ProofError{proofs[at-1]}
		}
	}
	for _, p := range set.values {
		rows, err := tx.answer()
		if err != nil {
			return err
		}
		if len(rows) != 1 || string(rows[0][0]) != "t" {
			return &ProofError{p}
		}
	}
	return nil
}

// answer reads the whole result of the next queued query.
func (t *transaction) answer() ([][][]byte, error) {
	reader, err := t.reader()
	if err != nil {
		return nil, err
	}
	result := reader.Read()
	return result.Rows, result.Err
}

// ProofError says that main does not bear out what a plan rests on: an index that has gone or a table that has changed, so that Schema
// has to be read and the statement planned anew; or values that are equal on main though they are written differently. Neither says anything of a row.
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
