package wire_test

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/session"
)

// fakeEngine knows a handful of statements by heart. Their answers are PostgreSQL's, so that one script fits both.
type fakeEngine struct {
	mu      sync.Mutex
	charged []string // texts in the order in which they were charged

	sleeping atomic.Int32 // statements that wait for their context
	denied   string       // Charge refuses this text
}

// known is a statement that the fake engine can answer.
type known struct {
	params  []uint32
	columns []pgconn.FieldDescription
	rows    func(params []any) [][]any
	prepare error // of Prepare
	fails   error // of Execute, after the rows
	sleeps  bool
}

func column(name string, oid uint32, size int16) pgconn.FieldDescription {
	return pgconn.FieldDescription{Name: name, DataTypeOID: oid, DataTypeSize: size, TypeModifier: -1}
}

func constant(rows ...[]any) func([]any) [][]any {
	return func([]any) [][]any { return rows }
}

func series(from, to int) func([]any) [][]any {
	return func([]any) [][]any {
		var rows [][]any
		for i := from; i <= to; i++ {
			rows = append(rows, []any{int32(i)})
		}
		return rows
	}
}

func echo(params []any) [][]any { return [][]any{params} }

var repertoire = map[string]known{
	"SELECT 1 AS one": {
		columns: []pgconn.FieldDescription{column("one", pgtype.Int4OID, 4)},
		rows:    constant([]any{int32(1)}),
	},
	"SELECT 2 AS two": {
		columns: []pgconn.FieldDescription{column("two", pgtype.Int4OID, 4)},
		rows:    constant([]any{int32(2)}),
	},
	"SELECT 'x'::text AS t, NULL::int4 AS n": {
		columns: []pgconn.FieldDescription{column("t", pgtype.TextOID, -1), column("n", pgtype.Int4OID, 4)},
		rows:    constant([]any{"x", nil}),
	},
	"SELECT 1.50::numeric AS x": {
		columns: []pgconn.FieldDescription{column("x", pgtype.NumericOID, -1)}, rows: constant([]any{"1.50"}),
	},
	"SELECT n FROM generate_series(1, 5) AS n": {
		columns: []pgconn.FieldDescription{column("n", pgtype.Int4OID, 4)}, rows: series(1, 5),
	},
	"SELECT n FROM generate_series(1, 0) AS n": {
		columns: []pgconn.FieldDescription{column("n", pgtype.Int4OID, 4)}, rows: series(1, 0),
	},
	"SELECT n FROM generate_series(1, 200000) AS n": {
		columns: []pgconn.FieldDescription{column("n", pgtype.Int4OID, 4)}, rows: series(1, 200000),
	},
	"SELECT 10/(2-n) AS q FROM generate_series(1,2) n": {
		columns: []pgconn.FieldDescription{column("q", pgtype.Int4OID, 4)}, rows: series(10, 10),
		fails: pgerr.New("22012", "division by zero"),
	},
	awkward: {
		columns: []pgconn.FieldDescription{column("n", pgtype.Int4OID, 4), column(`a,"b`, pgtype.TextOID, -1)},
		rows: constant([]any{int32(1), "a\tb,c"}, []any{int32(2), "back\\slash \"q\" 'é'"}, []any{nil, ""},
			[]any{int32(4), nil}, []any{int32(5), "\n\r\b\f\v\x01"}, []any{int32(6), `\N`}, []any{int32(7), `\.`}),
	},
	alone: {
		columns: []pgconn.FieldDescription{column("a", pgtype.TextOID, -1)},
		rows:    constant([]any{`\.`}, []any{""}, []any{nil}),
	},
	"SELECT $1::int4 AS v": {params: []uint32{pgtype.Int4OID}, columns: []pgconn.FieldDescription{
		column("v", pgtype.Int4OID, 4),
	}, rows: echo},
	"SELECT $1::text AS t": {params: []uint32{pgtype.TextOID}, columns: []pgconn.FieldDescription{
		column("t", pgtype.TextOID, -1),
	}, rows: echo},
	"SELECT nosuch":        {prepare: pgerr.New(pgerr.UndefinedColumn, `column "nosuch" does not exist`, pgerr.At(8))},
	"SELECT * FROM nosuch": {prepare: pgerr.New(pgerr.UndefinedTable, `relation "nosuch" does not exist`, pgerr.At(15))},
	"SELECT pg_sleep(60)": {
		columns: []pgconn.FieldDescription{column("pg_sleep", 2278, 4)}, rows: constant(),
		sleeps: true,
	},
	"SELECT": {columns: []pgconn.FieldDescription{}, rows: constant([]any{})},
	"SELECT internal": {
		columns: []pgconn.FieldDescription{column("x", pgtype.Int4OID, 4)}, rows: constant(),
		fails: io.ErrNoProgress,
	},
	"SELECT panic": {prepare: errPanic{}},
}

// What COPY has to escape.
const (
	awkward = `SELECT * FROM (VALUES (1, E'a\tb,c'), (2, E'back\\slash "q" ''é'''), (NULL, ''), (4, NULL), (5, E'\n\r\b\f\x0b\x01'), (6, E'\\N'), (7, E'\\.')) v (n, "a,""b")`
	alone   = `SELECT * FROM (VALUES (E'\\.'), (''), (NULL)) v (a)`
)

// errPanic makes Prepare panic.
type errPanic struct{}

func (errPanic) Error() string { return "panic" }

func (e *fakeEngine) Parse(sql string) ([]session.Statement, error) {
	tree, err := pg_query.Parse(sql)
	if err != nil {
		e := err.(*parser.Error)
		return nil, pgerr.New(pgerr.SyntaxError, e.Message, pgerr.At(e.Cursorpos))
	}
	var list []session.Statement
	for _, raw := range tree.Stmts {
		end := len(sql)
		if raw.StmtLen > 0 {
			end = int(raw.StmtLocation + raw.StmtLen)
		}
		st := session.Statement{SQL: sql[raw.StmtLocation:end], Offset: utf8.RuneCountInString(sql[:raw.StmtLocation])}
		st.Command, _ = command.Of(raw.Stmt, st.SQL)
		st.Parsed = fakeParsed{e, st.SQL}
		list = append(list, st)
	}
	return list, nil
}

type fakeParsed struct {
	engine *fakeEngine
	sql    string
}

func (p fakeParsed) Prepare(context.Context, session.Scope, []uint32) (session.Prepared, error) {
	text := strings.TrimLeft(p.sql, " \n")
	k, ok := repertoire[text]
	if !ok {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "the fake engine does not know "+strconv.Quote(text))
	}
	if _, yes := k.prepare.(errPanic); yes {
		panic("asked for")
	}
	if k.prepare != nil {
		pe := *k.prepare.(*pgconn.PgError)
		pe.Position += int32(len(p.sql) - len(text))
		return nil, &pe
	}
	return &fakePrepared{engine: p.engine, text: text, known: k}, nil
}

func (e *fakeEngine) Charge(_ context.Context, _ session.Scope, bound session.Bound) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := bound.(*fakeBound).text
	if e.denied != "" && text == e.denied {
		return pgerr.New(pgerr.BudgetExceeded, "privacy budget exceeded")
	}
	e.charged = append(e.charged, text)
	return nil
}

func (e *fakeEngine) CheckSetting(_ context.Context, name, value string) (string, error) {
	canonical := map[string]string{
		"UTC": "UTC", "utc": "UTC", "Europe/Paris": "Europe/Paris",
		"INTERVAL '+00:00'": "<+00>-00", "2": "<+02>-02",
	}
	if c, ok := canonical[value]; ok && name == "TimeZone" {
		return c, nil
	}
	return "", pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "`+name+`": "`+value+`"`)
}

func (e *fakeEngine) Info(context.Context) (session.Info, error) {
	return session.Info{
		Parameters: map[string]string{"server_version": "15.18", "server_version_num": "150018"},
		Epsilon:    0.5, EpsilonMax: 1, Rows: func(string) string { return "refuse" },
	}, nil
}

func (e *fakeEngine) charges() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.charged...)
}

type fakePrepared struct {
	engine *fakeEngine
	text   string
	known  known
}

func (p *fakePrepared) Params() []uint32                   { return p.known.params }
func (p *fakePrepared) Columns() []pgconn.FieldDescription { return p.known.columns }

func (p *fakePrepared) Bind(_ context.Context, _ session.Scope, formats []int16, values [][]byte,
	resultFormats []int16,
) (session.Bound, error) {
	m := pgtype.NewMap()
	params := make([]any, len(values))
	for i, v := range values {
		if v == nil {
			continue
		}
		t, _ := m.TypeForOID(p.known.params[i])
		decoded, err := t.Codec.DecodeValue(m, t.OID, format(formats, i), v)
		if err != nil {
			return nil, pgerr.New("22P02", `invalid input syntax for type integer: "`+string(v)+`"`)
		}
		params[i] = decoded
	}
	return &fakeBound{fakePrepared: p, params: params, formats: resultFormats}, nil
}

func format(formats []int16, i int) int16 {
	switch len(formats) {
	case 0:
		return 0
	case 1:
		return formats[0]
	}
	return formats[i]
}

type fakeBound struct {
	*fakePrepared
	params  []any
	formats []int16
}

func (b *fakeBound) Execute(ctx context.Context) (session.Rows, error) {
	if b.known.sleeps {
		b.engine.sleeping.Add(1)
		defer b.engine.sleeping.Add(-1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &fakeRows{bound: b, rows: b.known.rows(b.params), codecs: pgtype.NewMap()}, nil
}

type fakeRows struct {
	bound  *fakeBound
	rows   [][]any
	codecs *pgtype.Map
	at     int
}

func (r *fakeRows) Columns() []pgconn.FieldDescription { return r.bound.known.columns }
func (r *fakeRows) Tag() string                        { return "SELECT " + strconv.Itoa(len(r.rows)) }
func (r *fakeRows) Notices() []*pgconn.Notice          { return nil }
func (r *fakeRows) Close()                             {}

func (r *fakeRows) Next() ([][]byte, error) {
	if r.at == len(r.rows) {
		if r.bound.known.fails != nil {
			return nil, r.bound.known.fails
		}
		return nil, io.EOF
	}
	values := make([][]byte, len(r.rows[r.at]))
	for i, v := range r.rows[r.at] {
		if v == nil {
			continue
		}
		encoded, err := r.codecs.Encode(r.bound.known.columns[i].DataTypeOID, format(r.bound.formats, i), v, []byte{})
		if err != nil {
			return nil, err
		}
		values[i] = encoded
	}
	r.at++
	return values, nil
}
