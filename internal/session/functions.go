package session

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// functionColumns describes the result of command.Functions.
func functionColumns(c command.Functions) []pgconn.FieldDescription {
	columns := make([]pgconn.FieldDescription, len(c.Calls))
	for i, call := range c.Calls {
		columns[i] = textColumn(call.Column)
		switch call.Function {
		case "pg_advisory_unlock_all":
			columns[i].DataTypeOID, columns[i].DataTypeSize = 2278, 4 // void
		case "pg_advisory_unlock", "pg_advisory_unlock_shared":
			columns[i].DataTypeOID, columns[i].DataTypeSize = pgtype.BoolOID, 1
		}
	}
	return columns
}

// functionTypes infers the types of the parameters of command.Functions.
func functionTypes(c command.Functions) []uint32 {
	var types []uint32
	for _, call := range c.Calls {
		for i, a := range call.Args {
			for len(types) < a.Parameter {
				types = append(types, pgtype.TextOID)
			}
			switch {
			case a.Parameter == 0:
			case call.Function == "set_config" && i == 2, call.Function == "current_setting" && i == 1:
				types[a.Parameter-1] = pgtype.BoolOID
			case call.Function != "set_config" && call.Function != "current_setting":
				types[a.Parameter-1] = pgtype.Int8OID
			}
		}
	}
	return types
}

// lockModes names the locks that a client asks to release. A session holds none.
var lockModes = map[string]string{"pg_advisory_unlock": "ExclusiveLock", "pg_advisory_unlock_shared": "ShareLock"}

// functions calls each function in order and returns one row.
func (s *Session) functions(ctx context.Context, st *state, x *step, c command.Functions) (*result, error) {
	r := &result{tag: "SELECT 1", columns: withFormats(functionColumns(c), x.formats)}
	row := make([][]byte, len(c.Calls))
	for i, call := range c.Calls {
		args := make([]*string, len(call.Args))
		for j, a := range call.Args {
			args[j] = a.Value
			if a.Parameter > 0 {
				if a.Parameter > len(x.arguments) {
					return nil, pgerr.New("42P02", "there is no parameter $"+itoa(a.Parameter))
				}
				args[j] = x.arguments[a.Parameter-1].Value
			}
		}
		value, err := s.call(ctx, st, call.Function, args)
		if err != nil {
			return nil, err
		}
		if r.columns[i].DataTypeOID == pgtype.BoolOID && r.columns[i].Format == 1 {
			value = []byte{0} // no lock was held
		}
		if mode, ok := lockModes[call.Function]; ok {
			r.warn("01000", "you don't own a lock of type "+mode)
		}
		row[i] = value
	}
	r.rows = [][][]byte{row}
	return r, nil
}

func (s *Session) call(ctx context.Context, st *state, function string, args []*string) ([]byte, error) {
	switch function {
	case "set_config":
		return s.setConfig(ctx, st, args)
	case "current_setting":
		return s.currentSetting(st, args)
	case "pg_advisory_unlock_all":
		return []byte{}, nil
	}
	return []byte("f"), nil
}

func (s *Session) setConfig(ctx context.Context, st *state, args []*string) ([]byte, error) {
	if args[0] == nil {
		return nil, pgerr.New("22004", "SET requires parameter name")
	}
	local := false
	if args[2] != nil {
		local, _ = parseBool(*args[2])
	}
	set := command.Set{Name: *args[0], Local: local, Default: args[1] == nil}
	if args[1] != nil {
		set.Value = *args[1]
	}
	switch keyOf(set.Name) {
	case "role", "session_authorization":
		if set.Value == "none" && keyOf(set.Name) == "role" {
			set.Value = ""
		}
		if _, err := s.role(command.Role{Setting: keyOf(set.Name), Name: set.Value}); err != nil {
			return nil, err
		}
	default:
		if err := s.assign(ctx, st, set); err != nil {
			return nil, err
		}
	}
	value, _ := s.current(st, set.Name)
	return []byte(value), nil
}

func (s *Session) currentSetting(st *state, args []*string) ([]byte, error) {
	if args[0] == nil {
		return nil, nil
	}
	if value, ok := s.current(st, *args[0]); ok {
		return []byte(value), nil
	}
	if len(args) == 2 && args[1] != nil {
		if missingOK, _ := parseBool(*args[1]); missingOK {
			return nil, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "`+*args[0]+`"`)
}
