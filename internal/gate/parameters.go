package gate

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// builtIn has the types of PostgreSQL, to look them up: what scans keeps plans, in some versions of the library.
var builtIn = pgtype.NewMap()

// Parameters are the values of a query whose stages are answered.
func Parameters(q schema.SQL) ([]certify.Value, error) {
	out := make([]certify.Value, len(q.Parameters))
	for i, p := range q.Parameters {
		t, known := builtIn.TypeForOID(p.Type)
		if !known {
			return nil, fmt.Errorf("parameter %d is of an unknown type", i+1)
		}
		array, isArray := t.Codec.(*pgtype.ArrayCodec)
		if out[i].Type, out[i].Array = t.Name, isArray && p.Value != nil; isArray {
			out[i].Type = array.ElementType.Name
		}
		if !out[i].Array { // NULL in place of an array is none that certify knows
			out[i].Elements = []*string{(*string)(p.Value)}
			continue
		}
		err := pgtype.NewMap().Scan(pgtype.TextArrayOID, pgtype.TextFormatCode, []byte(*p.Value), &out[i].Elements)
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
	}
	return out, nil
}
