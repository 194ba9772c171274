package session

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// inner parses and prepares the statement inside PREPARE, DECLARE or COPY.
func (s *Session) inner(ctx context.Context, st *state, sql string, offset int, types []uint32) (Statement, Prepared,
	error,
) {
	list, err := s.engine.Parse(strings.Clone(sql)) // what is kept of it is not to keep the whole text that it is part of
	if err != nil {
		return Statement{}, nil, withOffset(err, offset)
	}
	if len(list) != 1 {
		return Statement{}, nil, pgerr.New(pgerr.SyntaxError, "syntax error at end of input")
	}
	if r, refused := list[0].Command.(command.Refused); refused {
		return Statement{}, nil, r.Err
	}
	if list[0].Command != nil {
		return Statement{}, nil, pgerr.New(pgerr.FeatureNotSupported,
			"only queries can be prepared, declared or copied this way")
	}
	prepared, err := list[0].Parsed.Prepare(ctx, s.scope(st), types)
	return list[0], prepared, withOffset(err, offset)
}

// prepare does PREPARE.
func (s *Session) prepare(ctx context.Context, st *state, x *step, c command.Prepare) (*result, error) {
	if err := st.freeStatementName(c.Name); err != nil {
		return nil, err
	}
	var err error
	types := make([]uint32, len(c.Types))
	for i, t := range c.Types {
		if types[i], err = typeOID(t); err != nil {
			return nil, err
		}
	}
	if x.prepared == nil {
		if x.inner, x.prepared, err = s.inner(ctx, st, c.SQL, c.Offset, types); err != nil {
			return nil, err
		}
	}
	return &result{tag: "PREPARE"}, st.addStatement(&preparedStatement{
		name: c.Name, text: len(c.SQL), statement: &x.inner,
		prepared: x.prepared,
	})
}

// typeNames knows PostgreSQL's built-in types. Reading it is safe for concurrent use.
var typeNames = pgtype.NewMap()

func typeOID(t command.Type) (uint32, error) {
	name := t.Name
	if t.Array {
		name = "_" + name
	}
	if known, ok := typeNames.TypeForName(name); ok {
		return known.OID, nil
	}
	return 0, pgerr.New(pgerr.UndefinedObject, `type "`+t.Name+`" does not exist`, pgerr.At(t.At),
		pgerr.Hint("Leave the types out: they are inferred."))
}

// execute does EXECUTE: it binds a prepared statement to constants.
func (s *Session) execute(ctx context.Context, st *state, x *step, c command.Execute) (*result, error) {
	if x.query == nil {
		named, err := st.statement(c.Name)
		if err != nil {
			return nil, err
		}
		if named.prepared == nil || named.statement.Command != nil {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "EXECUTE takes prepared queries only")
		}
		want := len(named.prepared.Params())
		if want == 0 {
			c = command.Execute{Name: c.Name} // PostgreSQL does not even look at the arguments
		}
		if c.Query != "" {
			if c.Args, err = s.compute(ctx, st, c.Query); err != nil {
				return nil, err
			}
		}
		if want != len(c.Args) {
			return nil, pgerr.New(pgerr.SyntaxError, `wrong number of parameters for prepared statement "`+c.Name+`"`,
				pgerr.Detail("Expected %d parameters but got %d.", want, len(c.Args)))
		}
		values := make([][]byte, len(c.Args))
		for i, a := range c.Args {
			if a != nil {
				values[i] = []byte(*a)
			}
		}
		x.query, err = s.bindQuery(ctx, s.scope(st), named.prepared, nil, values, x.formats, command.Elsewhere)
		if err != nil {
			return nil, err
		}
	}
	return &result{columns: x.query.columns, query: x.query}, nil
}

// compute has the engine answer a SELECT of one row, as it answers any other statement: what it may cost is charged
// first.
func (s *Session) compute(ctx context.Context, st *state, sql string) ([]*string, error) {
	list, err := s.engine.Parse(sql)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || list[0].Command != nil {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "EXECUTE takes constants and what can be computed from constants")
	}
	prepared, err := list[0].Parsed.Prepare(ctx, s.scope(st), nil)
	if err != nil {
		return nil, err
	}
	q, err := s.bindQuery(ctx, s.scope(st), prepared, nil, nil, nil, 0)
	if err != nil {
		return nil, err
	}
	defer q.free()
	if err := s.load(ctx, q); err != nil {
		return nil, err
	}
	if q.rows.len() != 1 {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "set-returning functions are not allowed in EXECUTE parameters")
	}
	row := q.rows.row(0)
	args := make([]*string, len(row))
	for i, v := range row {
		if v != nil {
			text := string(v)
			args[i] = &text
		}
	}
	return args, nil
}

func (st *state) deallocate(c command.Deallocate) (*result, error) {
	if c.Name == "" {
		for name := range st.statements {
			if name != "" {
				st.dropStatement(name)
			}
		}
		return &result{tag: "DEALLOCATE ALL"}, nil
	}
	if _, err := st.statement(c.Name); err != nil {
		return nil, err
	}
	st.dropStatement(c.Name)
	return &result{tag: "DEALLOCATE"}, nil
}

// commandColumns describes what a session command will return; nil: no rows.
func (s *Session) commandColumns(st *state, c command.Command) []pgconn.FieldDescription {
	switch c := c.(type) {
	case command.Show:
		return showColumns(c)
	case command.Functions:
		return functionColumns(c)
	case command.Execute:
		if named, ok := st.statements[c.Name]; ok && named.prepared != nil && named.statement.Command == nil {
			return named.prepared.Columns()
		}
	case command.Fetch:
		if p, ok := st.portals[c.Name]; ok && !c.Move && p.query != nil {
			return p.query.columns
		}
	}
	return nil
}
