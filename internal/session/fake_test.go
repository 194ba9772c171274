package session

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// fakeEngine knows some functions: SELECT rows(n, m) gives n rows of m bytes, SELECT counts(n) the numbers from 1 to n,
// SELECT breaks(n) n rows and an error; SELECT fails() fails before its rows; SELECT refused() is refused in analysis;
// SELECT $1 gives its parameter. Each costs 1.
type fakeEngine struct {
	log     []string // what was asked of the engine, in order, between what the client of a conversation got
	budget  int      // charges that are left
	scopes  []Scope  // of every Bind
	reloads int      // so many charges come behind a reload
}

func (e *fakeEngine) Parse(sql string) ([]Statement, error) {
	tree, err := pg_query.Parse(sql)
	if err != nil {
		return nil, pgerr.New(pgerr.SyntaxError, err.Error())
	}
	var list []Statement
	for _, raw := range tree.Stmts {
		end := len(sql)
		if raw.StmtLen > 0 {
			end = int(raw.StmtLocation + raw.StmtLen)
		}
		text := strings.TrimLeft(sql[raw.StmtLocation:end], " ")
		st := Statement{SQL: strings.TrimSpace(text), Offset: end - len(text), Word: command.Word(raw.Stmt)}
		st.Command, _ = command.Of(raw.Stmt, sql[raw.StmtLocation:end])
		st.Parsed = fakeParsed{e, st.SQL}
		list = append(list, st)
	}
	return list, nil
}

type fakeParsed struct {
	e   *fakeEngine
	sql string
}

func (p fakeParsed) Prepare(ctx context.Context, _ Scope, _ []uint32) (Prepared, error) {
	TraceOf(ctx).Stage("analyse", time.Now())
	if p.sql == "SELECT refused()" {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "refused", pgerr.At(8))
	}
	return fakePrepared(p), nil
}

func (e *fakeEngine) Charge(ctx context.Context, _ Scope, bound Bound) error {
	TraceOf(ctx).Stage("charge", time.Now())
	if e.reloads > 0 {
		e.reloads--
		return ErrReloaded
	}
	if e.budget == 0 {
		return pgerr.New(pgerr.BudgetExceeded, "over budget")
	}
	e.budget--
	e.log = append(e.log, "charge "+bound.(fakeBound).sql)
	return nil
}

func (e *fakeEngine) CheckSetting(_ context.Context, _, value string) (string, error) {
	e.log = append(e.log, "check "+value)
	return value, nil
}

func (e *fakeEngine) Info(context.Context) (Info, error) {
	return Info{
		Parameters: map[string]string{"server_version": "15.18", "TimeZone": "UTC", "unheard_of": "x"},
		Database:   "clinic", Epsilon: 0.5, EpsilonMax: 1,
		Rows: func(analyst string) string {
			if analyst == "alice" {
				return Synthetic
			}
			return "refuse"
		},
	}, nil
}

type fakePrepared struct {
	e   *fakeEngine
	sql string
}

type fakeBound struct {
	fakePrepared
	values [][]byte
}

func (p fakePrepared) Params() []uint32 {
	types := make([]uint32, strings.Count(p.sql, "$"))
	for i := range types {
		types[i] = pgtype.TextOID
	}
	return types
}

func (p fakePrepared) Columns() []pgconn.FieldDescription {
	columns := []pgconn.FieldDescription{{Name: "x", DataTypeOID: pgtype.TextOID}}
	for range strings.Count(p.sql, "$") - 1 {
		columns = append(columns, pgconn.FieldDescription{Name: "y", DataTypeOID: pgtype.TextOID})
	}
	return columns
}

func (p fakePrepared) Bind(ctx context.Context, scope Scope, _ []int16, values [][]byte, _ []int16) (Bound, error) {
	TraceOf(ctx).Stage("plan", time.Now())
	p.e.scopes = append(p.e.scopes, scope)
	return fakeBound{p, values}, nil
}

func (b fakeBound) Execute(ctx context.Context) (Rows, error) {
	TraceOf(ctx).Stage("finish", time.Now())
	b.e.log = append(b.e.log, "run "+b.sql)
	switch {
	case strings.HasPrefix(b.sql, "SELECT fails"):
		return nil, fmt.Errorf("private detail")
	case strings.HasPrefix(b.sql, "SELECT sleeps"):
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r := &fakeRows{size: 1}
	fmt.Sscanf(b.sql, "SELECT rows(%d, %d)", &r.left, &r.size)
	if n, _ := fmt.Sscanf(b.sql, "SELECT counts(%d)", &r.left); n == 1 {
		r.size = 0
	}
	if n, _ := fmt.Sscanf(b.sql, "SELECT breaks(%d)", &r.left); n == 1 {
		r.fails = true
	}
	if r.left == 0 && strings.Contains(b.sql, "$") || !strings.Contains(b.sql, "(") {
		r.left, r.values = 1, b.values
	}
	r.total = r.left
	return r, nil
}

// Bytes is what "holds(n)" says.
func (b fakeBound) Bytes() (n int) {
	_, _ = fmt.Sscanf(b.sql, "SELECT holds(%d)", &n)
	return n
}

// Account says that every statement that came to run was charged 1.
func (b fakeBound) Account() Account {
	if b.e.budget == 0 {
		return Account{Fingerprint: b.sql}
	}
	return Account{Verdict: "private", Epsilon: 1, Fingerprint: b.sql}
}

func (b fakeBound) Void() { b.e.log = append(b.e.log, "void "+b.sql) }

// fakeRows are left rows of size bytes, or the numbers from 1 where size is 0, or the values of the parameters.
type fakeRows struct {
	total, left, size int
	values            [][]byte
	fails             bool
}

func (r *fakeRows) Columns() []pgconn.FieldDescription { return nil }
func (r *fakeRows) Tag() string                        { return "SELECT " + strconv.Itoa(r.total) }
func (r *fakeRows) Close()                             {}
func (r *fakeRows) Notices() []*pgconn.Notice {
	return []*pgconn.Notice{{Severity: "NOTICE", Code: "00000", Message: "epsilon spent"}}
}

func (r *fakeRows) Next() ([][]byte, error) {
	if r.left == 0 && r.fails {
		return nil, pgerr.New("22012", "division by zero", pgerr.At(8))
	}
	if r.left == 0 {
		return nil, io.EOF
	}
	r.left--
	switch {
	case len(r.values) > 0:
		return r.values, nil
	case r.size == 0:
		return [][]byte{[]byte(strconv.Itoa(r.total - r.left))}, nil
	}
	return [][]byte{[]byte(strings.Repeat("x", r.size))}, nil
}
