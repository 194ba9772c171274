package relay

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"
)

// decoder follows one connection: the text of each named statement, and the values of each portal.
type decoder struct {
	statements map[string]prepared
	portals    map[string]Query
}

type prepared struct {
	sql   string
	types []uint32
}

// message reads a message of the client. It returns a query if the message makes the server run one. An error says that
// the record is not complete.
func (d *decoder) message(kind byte, body []byte) (*Query, error) {
	switch kind {
	case 'P':
		var m pgproto3.Parse
		if err := m.Decode(body); err != nil {
			return nil, err
		}
		d.statements[m.Name] = prepared{m.Query, slices.Clone(m.ParameterOIDs)}
	case 'B':
		var m pgproto3.Bind
		if err := m.Decode(body); err != nil {
			return nil, err
		}
		s, known := d.statements[m.PreparedStatement]
		if !known {
			return nil, fmt.Errorf("a Bind of the statement %q, which was not parsed", m.PreparedStatement)
		}
		q := Query{SQL: s.sql, Types: s.types, Formats: slices.Clone(m.ParameterFormatCodes)}
		for _, v := range m.Parameters {
			q.Values = append(q.Values, bytes.Clone(v))
		}
		d.portals[m.DestinationPortal] = q
	case 'E':
		var m pgproto3.Execute
		if err := m.Decode(body); err != nil {
			return nil, err
		}
		q, known := d.portals[m.Portal]
		if !known {
			return nil, fmt.Errorf("an Execute of the portal %q, which was not bound", m.Portal)
		}
		return &q, nil
	case 'Q':
		var m pgproto3.Query
		if err := m.Decode(body); err != nil {
			return nil, err
		}
		return &Query{SQL: m.String}, nil
	case 'F':
		return nil, fmt.Errorf("a function call")
	}
	return nil, nil // Describe, Sync, Close, Flush, passwords: nothing runs
}
