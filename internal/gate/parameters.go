package gate

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Parameters are the values of a query whose stages are answered.
func Parameters(q schema.SQL) ([]certify.Value, error) {
	types := pgtype.NewMap()
	out := make([]certify.Value, len(q.Parameters))
	for i, p := range q.Parameters {
		if p.Value == nil {
			out[i].Elements = []*string{nil}
			continue
		}
		t, known := types.TypeForOID(p.Type)
		if _, array := codec(t).(*pgtype.ArrayCodec); !known || !array {
			text := string(*p.Value)
			out[i].Elements = []*string{&text}
			continue
		}
		out[i].Array = true
		if err := types.Scan(pgtype.TextArrayOID, pgtype.TextFormatCode, []byte(*p.Value), &out[i].Elements); err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
	}
	return out, nil
}

func codec(t *pgtype.Type) pgtype.Codec {
	if t == nil {
		return nil
	}
	return t.Codec
}
