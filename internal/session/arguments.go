package session

import (
	"encoding/binary"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// commandArguments reads the parameters of a session command as text.
func commandArguments(types []uint32, b wire.Bind) ([]command.Arg, error) {
	args := make([]command.Arg, len(b.Parameters))
	for i, value := range b.Parameters {
		if value == nil {
			continue
		}
		text := string(value)
		if formatOf(b.ParameterFormats, i) == 1 {
			switch {
			case types[i] == pgtype.BoolOID && len(value) == 1:
				text = onOff(value[0] != 0)
			case types[i] == pgtype.Int8OID && len(value) == 8:
				text = strconv.FormatInt(int64(binary.BigEndian.Uint64(value)), 10)
			case types[i] != pgtype.TextOID && types[i] != pgtype.VarcharOID:
				return nil, pgerr.New("22P03", "incorrect binary data format in bind parameter "+itoa(i+1))
			}
		}
		args[i].Value = &text
	}
	return args, nil
}
