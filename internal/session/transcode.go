package session

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// transcode gives the rows of FETCH the formats that the client asked for when it bound the FETCH. Cursors keep text,
// because their formats are not known before; binary is made from it by the driver's own codecs.
func (r *result) transcode(formats []int16) error {
	r.columns = slices.Clone(r.columns)
	wanted := make([]int16, len(r.columns))
	change := false
	for i := range r.columns {
		wanted[i] = formatOf(formats, i)
		change = change || wanted[i] != r.columns[i].Format
	}
	if !change {
		return nil
	}
	codecs := pgtype.NewMap()
	for k, row := range r.rows {
		row = slices.Clone(row)
		for i, value := range row {
			if value == nil || wanted[i] == r.columns[i].Format {
				continue
			}
			converted, err := convert(codecs, r.columns[i].DataTypeOID, r.columns[i].Format, wanted[i], value)
			if err != nil {
				return pgerr.New(pgerr.FeatureNotSupported, `column "`+r.columns[i].Name+`" of a cursor cannot be sent in binary`,
					pgerr.Hint("Ask for text results, or declare the cursor BINARY."))
			}
			row[i] = converted
		}
		r.rows[k] = row
	}
	for i := range r.columns {
		r.columns[i].Format = wanted[i]
	}
	return nil
}

func convert(codecs *pgtype.Map, oid uint32, from, to int16, value []byte) ([]byte, error) {
	t, ok := codecs.TypeForOID(oid)
	if !ok || oid == pgtype.TextOID || oid == pgtype.VarcharOID || oid == pgtype.BPCharOID || oid == pgtype.NameOID {
		if ok {
			return value, nil // the same bytes in both formats
		}
		return nil, pgerr.New(pgerr.FeatureNotSupported, "unknown type")
	}
	v, err := t.Codec.DecodeValue(codecs, oid, from, value)
	if err != nil {
		return nil, err
	}
	return codecs.Encode(oid, to, v, nil)
}
