package session

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// Parse prepares one statement. A failed Parse stores nothing, but drops the unnamed statement that was there.
func (s *Session) Parse(ctx context.Context, name, sql string, parameterTypes []uint32) (err error) {
	since := time.Now()
	ctx = s.traced(ctx, since)
	defer func() { s.ended(ctx, since, true, err) }()
	if name == "" {
		s.state.dropStatement("")
	}
	parsed, err := s.parse(sql)
	if err != nil {
		return err
	}
	if len(parsed) > 1 {
		return pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	st := &preparedStatement{name: name, text: len(sql), trace: s.trace}
	if len(parsed) == 1 {
		st.statement = &parsed[0]
		s.trace.of(st.statement, new(*Trace))
		if err := s.state.usable(st.statement.Command); err != nil {
			return err
		}
		err := s.timed(ctx, func(ctx context.Context) error { return s.prepareStatement(ctx, st, parameterTypes) })
		if err != nil {
			return err
		}
	}
	return s.state.addStatement(st)
}

// prepareStatement fills in what is known before values are: the engine's part, or the parameters of a command.
func (s *Session) prepareStatement(ctx context.Context, st *preparedStatement, types []uint32) (err error) {
	switch c := st.statement.Command.(type) {
	case nil:
		s.state.tx.asked = true
		st.prepared, err = st.statement.Parsed.Prepare(ctx, s.scope(s.state), types)
		return withOffset(err, st.statement.Offset)
	case command.Declare:
		s.state.tx.asked = true
		_, st.prepared, err = s.inner(ctx, s.state, c.SQL, c.Offset, types)
		return err
	case command.Refused:
		return c.Err
	case command.Functions:
		st.types = functionTypes(c)
		for i := range types {
			if i < len(st.types) && types[i] != 0 {
				st.types[i] = types[i]
			}
		}
	}
	return nil
}

// command is the session's command; nil for a query and for an empty text.
func (st *preparedStatement) command() command.Command {
	if st.statement == nil {
		return nil
	}
	return st.statement.Command
}

// params are the statement's parameter types.
func (st *preparedStatement) params() []uint32 {
	if st.prepared != nil {
		return st.prepared.Params()
	}
	return st.types
}

// Bind makes a portal. The engine analyses the statement with its values; nothing is charged.
func (s *Session) Bind(ctx context.Context, b wire.Bind) (err error) {
	since := time.Now()
	ctx = s.traced(ctx, since)
	defer func() { s.ended(ctx, since, true, err) }()
	st, err := s.state.statement(b.Statement)
	if err != nil {
		return err
	}
	s.trace.of(st.statement, &st.trace)
	if err := s.state.usable(st.command()); err != nil {
		return err
	}
	if want := len(st.params()); want != len(b.Parameters) {
		return pgerr.New(pgerr.ProtocolViolation, "bind message supplies "+itoa(len(b.Parameters))+
			` parameters, but prepared statement "`+b.Statement+`" requires `+itoa(want))
	}
	if b.Parameters, err = s.parameters(st.params(), b); err != nil {
		return err
	}
	if b.Portal == "" {
		s.ClosePortal("")
	} else if _, taken := s.state.portals[b.Portal]; taken {
		return pgerr.New(pgerr.DuplicateCursor, `cursor "`+b.Portal+`" already exists`)
	}
	p := &portal{name: b.Portal, prepared: st, formats: b.ResultFormats, trace: s.trace}
	if st.statement != nil {
		err := s.timed(ctx, func(ctx context.Context) error { return s.bindPortal(ctx, p, b) })
		if err != nil {
			return err
		}
	}
	p.bytes = bindBytes(b) + portalBytes(p.query)
	if err := s.state.addPortal(p); err != nil {
		if p.query != nil {
			p.query.hold.Free()
		}
		return err
	}
	return nil
}

// bindBytes is how much memory a Bind takes that is kept. Its values are parts of its message, or of a copy in another
// encoding.
func bindBytes(b wire.Bind) int {
	n := len(b.Portal) + len(b.Statement) + 2*(len(b.ParameterFormats)+len(b.ResultFormats))
	for _, v := range b.Parameters {
		n += valueBytes + len(v)
	}
	return n
}

// portalBytes is how much a portal takes besides what its query holds.
func portalBytes(q *query) int {
	if q == nil {
		return objectBytes
	}
	return objectBytes + columnBytes*len(q.columns)
}

func (s *Session) bindPortal(ctx context.Context, p *portal, b wire.Bind) error {
	st := p.prepared
	switch c := st.statement.Command.(type) {
	case nil:
		if err := checkFormats(b.ResultFormats, len(st.prepared.Columns())); err != nil {
			return err
		}
		var err error
		p.query, err = s.bindQuery(ctx, s.scope(s.state), st.prepared, b.ParameterFormats, b.Parameters, b.ResultFormats,
			st.statement.Offset)
		return err
	case command.Declare:
		var err error
		p.inner, err = s.bindCursor(ctx, s.state, c, st.prepared, b.ParameterFormats, b.Parameters)
		return err
	}
	if err := checkFormats(b.ResultFormats, len(s.commandColumns(s.state, st.statement.Command))); err != nil {
		return err
	}
	var err error
	p.arguments, err = commandArguments(st.types, b)
	return err
}

// checkFormats holds the list of result formats against the columns.
func checkFormats(formats []int16, columns int) error {
	if len(formats) > 1 && len(formats) != columns {
		return pgerr.New(pgerr.ProtocolViolation, "bind message has "+itoa(len(formats))+" result formats but query has "+
			itoa(columns)+" columns")
	}
	return nil
}

// DescribeStatement costs nothing and reads nothing.
func (s *Session) DescribeStatement(_ context.Context, name string) ([]uint32, []pgconn.FieldDescription, error) {
	st, err := s.state.statement(name)
	if err != nil {
		return nil, nil, err
	}
	var columns []pgconn.FieldDescription
	switch {
	case st.statement == nil:
	case st.statement.Command == nil:
		columns = st.prepared.Columns()
	default:
		columns = withFormats(s.commandColumns(s.state, st.statement.Command), nil)
	}
	if columns != nil && s.state.tx.failed {
		return nil, nil, errAborted
	}
	return st.params(), columns, nil
}

// DescribePortal describes a portal or a cursor with the formats that its rows will have.
func (s *Session) DescribePortal(_ context.Context, name string) ([]pgconn.FieldDescription, error) {
	p, err := s.state.portal(name)
	if err != nil {
		return nil, err
	}
	var columns []pgconn.FieldDescription
	switch {
	case p.query != nil:
		columns = p.query.columns
	case p.columns != nil:
		columns = p.columns
	case p.prepared.statement != nil:
		columns = s.describeCommand(p)
	}
	if columns != nil && s.state.tx.failed {
		return nil, errAborted
	}
	return columns, nil
}

// describeCommand gives a command's columns the portal's formats. FETCH without formats keeps the cursor's own.
func (s *Session) describeCommand(p *portal) []pgconn.FieldDescription {
	columns := s.commandColumns(s.state, p.prepared.statement.Command)
	if _, isFetch := p.prepared.statement.Command.(command.Fetch); isFetch && len(p.formats) == 0 {
		return columns
	}
	return withFormats(columns, p.formats)
}

// CloseStatement forgets a prepared statement; an unknown name is no error.
func (s *Session) CloseStatement(name string) { s.state.dropStatement(name) }

// ClosePortal forgets a portal and its rows; an unknown name is no error.
func (s *Session) ClosePortal(name string) { s.state.dropPortal(name) }
