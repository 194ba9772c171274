package backend

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// proofSQL is true where a unique index over $3 or a subset of it holds for every row that a scan of the relation $1.$2
// would read: valid, ready, immediate, neither partial nor over expressions, on a table without inheritance children
// (a partitioned table's index covers its partitions). It reads the catalogs as of the transaction's snapshot, and an
// index that exists there was enforced for every row that the snapshot can see. PRIVACY.md 2.
const proofSQL = `SELECT EXISTS (
  SELECT FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')
    AND i.indisunique AND i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate
    AND i.indpred IS NULL AND i.indexprs IS NULL
    AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid))
    AND NOT EXISTS (
      SELECT FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, at)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
      WHERE k.at <= i.indnkeyatts AND a.attname::text <> ALL ($3::text[])))`

// textArrayOID is the type of proofSQL's third parameter.
const textArrayOID = 1009

func (b *Backend) sendProofs(tx *transaction, proofs []rewrite.Proof) {
	for _, p := range proofs {
		if p.Values.Text != "" {
			values, oids := b.parameters(p.Values)
			tx.pipeline.SendQueryParams(p.Values.Text, values, oids, nil, nil)
			continue
		}
		if p.Shape != "" {
			tx.pipeline.SendQueryParams("SELECT ("+shapeSQL+") = $3::text", [][]byte{[]byte(p.Relation.Schema), []byte(p.Relation.Relation), []byte(p.Shape)},
				[]uint32{textOID, textOID, textOID}, nil, nil)
			continue
		}
		tx.pipeline.SendQueryParams(proofSQL,
			[][]byte{[]byte(p.Relation.Schema), []byte(p.Relation.Relation), []byte(textArray(p.Columns))},
			[]uint32{textOID, textOID, textArrayOID}, nil, nil)
	}
}

// readProofs gives a *ProofError for the first proof that fails.
func readProofs(tx *transaction, proofs []rewrite.Proof) error {
	for _, p := range proofs {
		reader, err := tx.reader()
		if err != nil {
			return err
		}
		result := reader.Read()
		if result.Err != nil {
			return result.Err
		}
		if len(result.Rows) != 1 || string(result.Rows[0][0]) != "t" {
			return &ProofError{p}
		}
	}
	return nil
}

// ProofError says that main does not bear out what a plan rests on: an index that has gone or a table that has changed, so that Schema
// has to be read and the statement planned anew; or values that are equal on main though they are written differently. Neither says anything of a row.
type ProofError struct{ Proof rewrite.Proof }

func (e *ProofError) Error() string {
	if e.Proof.Of != "" {
		return "main compares as equal some of " + e.Proof.Of
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

// identifier quotes a relation's or column's name.
func identifier(parts ...string) string { return pgx.Identifier(parts).Sanitize() }
