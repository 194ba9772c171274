package expr

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// fixtureColumn is a column of the tests' table: its type, bounds, values inside them, and hostile values.
type fixtureColumn struct {
	name, sql string
	oid       uint32
	typmod    int32
	lo, hi    string // bounds; empty: none
	domain    []string
	notNull   bool
	benign    []string // SQL literals within the bounds
	hostile   []string
}

func decimalTypmod(p, s int32) int32 { return (p<<16 | s) + 4 }

var (
	hostileNumeric = []string{
		"1e-60", "-1e-61", "'NaN'", "'Infinity'", "'-Infinity'", "0", "-0.0", "1e-300", "-1e-300",
		"1e300", "-1e300", "1e-16000", "1e131000", "(repeat('9', 131072) || '.9')::numeric",
		"-(repeat('9', 131072) || '.9')::numeric", "0.5", "-0.5", "0.0000000000000000000000000000001", "20000.005",
	}
	hostileFloat = []string{
		"6.3e-61", "-6.3e-61", "1e-60", "'NaN'", "'Infinity'", "'-Infinity'", "0", "'-0'", "5e-324",
		"-5e-324", "2.2e-308", "1.7976931348623157e308", "-1.7976931348623157e308", "1e-200", "1e-160", "-1e-160", "0.1",
		"1e16", "2.5", "-0.5",
	}
	hostileStamp = []string{
		"'infinity'", "'-infinity'", "'4713-01-01 00:00:00 BC'", "'294276-12-31 23:59:59.999999'",
		"'0001-01-01'", "'0001-12-31 BC'", "'2000-02-29 23:59:59.999999'", "'1970-01-01'", "'2021-03-28 02:30:00'",
	}
	hostileText = []string{
		"''", "' '", `'\'`, "'%'", "'_'", "'ß'", "'İstanbul'", "'日本語'", "'a''b'", "E'\\t\\n'",
		"repeat('x', 5000)", "repeat('é', 300)", "'asthma '", "'$1'", "'A%b_c'",
	}
)

// hostileRanges are ranges between any two of the values, empty ones, and ones that begin or end nowhere.
func hostileRanges(typ string, values ...string) []string {
	out := []string{"'empty'", "'(,)'"}
	for _, a := range values {
		out = append(out, fmt.Sprintf("%s('%s', NULL)", typ, a), fmt.Sprintf("%s(NULL, '%s')", typ, a))
		for _, b := range values {
			if a != b {
				out = append(
					out,
					fmt.Sprintf(
						"(SELECT %[1]s(least(lower(x), lower(y)), greatest(lower(x), lower(y))) FROM (SELECT %[1]s('%[2]s', NULL) AS x, %[1]s('%[3]s', NULL) AS y) v)", typ, a, b))
			}
		}
	}
	return out
}

var fixture = []fixtureColumn{
	{
		name: "i2", sql: "int2", oid: pgtype.Int2OID, typmod: -1, lo: "0", hi: "100", benign: []string{"0", "7", "100", "55"},
		hostile: []string{"-32768", "32767", "-1", "101"},
	},
	{
		name: "i4", sql: "int4", oid: pgtype.Int4OID, typmod: -1, lo: "-50", hi: "120",
		benign: []string{"-50", "-1", "1", "33", "120"}, hostile: []string{"-2147483648", "2147483647", "0", "-51", "121"},
	},
	{
		name: "age", sql: "int4 NOT NULL", oid: pgtype.Int4OID, typmod: -1, lo: "0", hi: "120", notNull: true,
		benign: []string{"0", "1", "9", "17", "18", "65", "99", "119", "120"}, hostile: []string{
			"-2147483648", "2147483647",
			"-1", "500",
		},
	},
	{
		name: "i8", sql: "int8", oid: pgtype.Int8OID, typmod: -1, lo: "0", hi: "1000000000000",
		benign: []string{"1", "999", "1000000000000"}, hostile: []string{"-9223372036854775808", "9223372036854775807", "0"},
	},
	{
		name: "n", sql: "numeric", oid: pgtype.NumericOID, typmod: -1, lo: "-1000", hi: "1000.5",
		benign: []string{"-1000", "0.001", "3.14159265358979323846", "1000.5", "-2.5"}, hostile: hostileNumeric,
	},
	{
		name: "n2", sql: "numeric(12,2)", oid: pgtype.NumericOID, typmod: decimalTypmod(12, 2), lo: "0", hi: "20000",
		benign: []string{"0.01", "19.99", "20000", "2.50"}, hostile: []string{
			"'NaN'", "0", "-1", "9999999999.99",
			"-9999999999.99",
		},
	},
	{
		name: "disc", sql: "numeric(4,2)", oid: pgtype.NumericOID, typmod: decimalTypmod(4, 2), lo: "0", hi: "0.1",
		benign: []string{"0.00", "0.05", "0.10"}, hostile: []string{"'NaN'", "99.99", "-99.99"},
	},
	{
		name: "pn", sql: "numeric", oid: pgtype.NumericOID, typmod: -1, lo: "0.5", hi: "9",
		benign: []string{"0.5", "1", "8.999999", "9"}, hostile: hostileNumeric,
	},
	{
		name: "f4", sql: "float4", oid: pgtype.Float4OID, typmod: -1, lo: "0", hi: "100",
		benign: []string{"0.1", "33.3", "100"}, hostile: []string{
			"'NaN'", "'Infinity'", "'-Infinity'", "1e-45", "3.4e38",
			"-3.4e38", "0", "'-0'", "1e-20",
		},
	},
	{
		name: "f8", sql: "float8", oid: pgtype.Float8OID, typmod: -1, lo: "-1e6", hi: "1000000",
		benign: []string{"-1e6", "0.1", "3.5", "2.5", "999999.25"}, hostile: hostileFloat,
	},
	{
		name: "pf8", sql: "float8", oid: pgtype.Float8OID, typmod: -1, lo: "0.1", hi: "50",
		benign: []string{"0.1", "1", "49.5", "50"}, hostile: hostileFloat,
	},
	{
		name: "d", sql: "date", oid: pgtype.DateOID, typmod: -1, lo: "2015-01-01", hi: "2026-12-31",
		benign:  []string{"'2015-01-01'", "'2020-02-29'", "'2026-12-31'", "'2021-03-28'"},
		hostile: []string{"'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'", "'0001-01-01'"},
	},
	{
		name: "ts", sql: "timestamp", oid: pgtype.TimestampOID, typmod: -1, lo: "2015-01-01", hi: "2026-12-31 23:59:59",
		benign: []string{
			"'2015-01-01 00:00:00'", "'2020-02-29 12:30:45.123456'", "'2021-03-28 02:30:00'",
			"'2026-12-31 23:59:59'",
		}, hostile: hostileStamp,
	},
	{
		name: "tz", sql: "timestamptz", oid: pgtype.TimestamptzOID, typmod: -1, lo: "2015-01-01", hi: "2026-12-31",
		benign:  []string{"'2015-01-01 12:00:00+00'", "'2021-03-28 01:30:00+00'", "'2024-10-27 01:30:00+00'"},
		hostile: hostileStamp,
	},
	{name: "tm", sql: "time", oid: pgtype.TimeOID, typmod: -1, benign: []string{
		"'00:00'", "'23:59:59.999999'",
		"'12:30:15.5'",
	}, hostile: []string{"'24:00'"}},
	{
		name: "iv", sql: "interval", oid: pgtype.IntervalOID, typmod: -1, lo: "-10 days", hi: "30 days",
		benign: []string{"'1 hour'", "'2 days 03:00'", "'30 days'"},
		hostile: []string{
			"'178000000 years'", "'-178000000 years'", "'71582788 mons -2147483640 days'",
			"'-71582788 mons 2147483647 days'", "'70000000 mons -2130570000 days'", "'1000 mons -30437 days'",
			"'5 mons -150 days'", "'1 mon -30 days'", "'2147483647 days'", "'2 years'", "'-1 s'",
		},
	},
	{name: "t", sql: "text", oid: pgtype.TextOID, typmod: -1, benign: []string{
		"'Alice'", "'bob smith'", "'x-ray'",
		"'a_b%c'",
	}, hostile: hostileText},
	{
		name: "v", sql: "varchar(20)", oid: pgtype.VarcharOID, typmod: 24, benign: []string{"'Ward A'", "'ward b'"},
		hostile: []string{"''", "'ßßßßßßßßßßßßßßßßßßßß'", "'                    '"},
	},
	{
		name: "c", sql: "bpchar(5)", oid: pgtype.BPCharOID, typmod: 9, benign: []string{"'ab'", "'xyz12'"},
		hostile: []string{"''", "'日本'"},
	},
	{name: "b", sql: "bool", oid: pgtype.BoolOID, typmod: -1, benign: []string{"true", "false"}},
	{name: "nb", sql: "bool NOT NULL", oid: pgtype.BoolOID, typmod: -1, notNull: true, benign: []string{"true", "false"}},
	{name: "m", sql: "mood", oid: 0, typmod: -1, benign: []string{"'sad'", "'ok'", "'it''s {0}'"}},
	{
		name: "u", sql: "uuid", oid: pgtype.UUIDOID, typmod: -1, benign: []string{"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"},
		hostile: []string{"'00000000-0000-0000-0000-000000000000'"},
	},
	{
		name: "diag", sql: "text", oid: pgtype.TextOID, typmod: -1, domain: []string{"asthma", "cold", "flu"},
		benign: []string{"'asthma'", "'cold'", "'flu'"},
	},
	{
		name: "u4", sql: "int4", oid: pgtype.Int4OID, typmod: -1, benign: []string{"0", "5", "-7"},
		hostile: []string{"-2147483648", "2147483647"},
	},
	{
		name: "u8", sql: "int8", oid: pgtype.Int8OID, typmod: -1, benign: []string{"0", "5", "-7"},
		hostile: []string{"-9223372036854775808", "9223372036854775807"},
	},
	{
		name: "un", sql: "numeric", oid: pgtype.NumericOID, typmod: -1, benign: []string{"0", "1.5"},
		hostile: hostileNumeric,
	},
	{name: "uf", sql: "float8", oid: pgtype.Float8OID, typmod: -1, benign: []string{"0", "1.5"}, hostile: hostileFloat},
	{
		name: "ud", sql: "date", oid: pgtype.DateOID, typmod: -1, benign: []string{"'2020-02-29'"},
		hostile: []string{"'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'"},
	},
	{
		name: "uts", sql: "timestamp", oid: pgtype.TimestampOID, typmod: -1, benign: []string{"'2020-02-29 12:00'"},
		hostile: hostileStamp,
	},
	{
		name: "utz", sql: "timestamptz", oid: pgtype.TimestamptzOID, typmod: -1, benign: []string{"'2020-02-29 12:00+00'"},
		hostile: hostileStamp,
	},
	{
		name: "uiv", sql: "interval", oid: pgtype.IntervalOID, typmod: -1, benign: []string{"'1 day'"},
		hostile: []string{
			"'178000000 years'", "'-178000000 years'", "'2147483647 days'",
			"'-178956970 years -8 mons -2147483648 days -2562047788:00:54.775807'",
		},
	},
	{
		name: "dom", sql: "percent", oid: 0, typmod: -1, lo: "0", hi: "100", benign: []string{"0", "50", "100"},
		hostile: []string{"1000", "-5"},
	},
	{
		name: "dr", sql: "daterange", oid: pgtype.DaterangeOID, typmod: -1, lo: "2015-01-01", hi: "2026-12-31",
		benign: []string{
			"'[2015-01-01,2020-02-29)'", "'[2020-02-29,2020-02-29]'", "'[2021-03-28,)'", "'(,2026-12-31)'",
			"'empty'",
		}, hostile: hostileRanges("daterange", "infinity", "-infinity", "4713-01-01 BC", "5874897-12-31",
			"2030-01-01"),
	},
	{
		name: "tzr", sql: "tstzrange", oid: pgtype.TstzrangeOID, typmod: -1, lo: "2015-01-01", hi: "2026-12-31",
		benign: []string{
			"'[2015-01-01 12:00+00,2021-03-28 01:30+00]'", "'(2021-03-28 01:30+00,2024-10-27 01:30+00)'",
			"'empty'",
		}, hostile: hostileRanges("tstzrange", "infinity", "-infinity", "4713-01-01 00:00:00 BC",
			"294276-12-31 23:59:59.999999", "2021-03-28 02:30:00"),
	},
	{
		name: "ir", sql: "int4range", oid: pgtype.Int4rangeOID, typmod: -1, lo: "0", hi: "100",
		benign: []string{"'[0,100)'", "'[7,7]'", "'(3,)'", "'empty'"}, hostile: hostileRanges("int4range", "2147483647",
			"-2147483648", "-1", "101", "50"),
	},
	{
		name: "nr", sql: "numrange", oid: pgtype.NumrangeOID, typmod: -1, lo: "-1000", hi: "1000.5",
		benign: []string{"'[0.001,3.14159265358979323846]'", "'(-2.5,1000.5)'", "'[1,1]'"}, hostile: hostileRanges(
			"numrange", "NaN", "-1e300", "1e300", "Infinity", "-0.0001"),
	},
	{
		name: "ur", sql: "int8range", oid: pgtype.Int8rangeOID, typmod: -1, benign: []string{"'[0,5)'", "'[-7,)'"},
		hostile: hostileRanges("int8range", "9223372036854775807", "-9223372036854775808", "0"),
	},
	{name: "j", sql: "jsonb", oid: 3802, typmod: -1, benign: []string{"'{}'"}, hostile: []string{"'null'"}},
}

const fixtureTypes = `CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s {0}'); CREATE DOMAIN percent AS int4;`

// testScope resolves the fixture's columns and parameters. Without ask, literals are not known yet.
type testScope struct {
	columns map[string]*Column
	types   []uint32
	values  []*string
	known   bool
	ask     func(oid uint32, text string) (string, error)
	compute func(oid uint32, sql string) (*string, error)
}

func (s *testScope) Literal(oid uint32, text string) (string, bool, error) {
	if s.ask == nil {
		return "", false, nil
	}
	value, err := s.ask(oid, text)
	return value, true, err
}

// Compute asks the server, as literal does.
func (s *testScope) Compute(_ *pg_query.Node, oid uint32, sql query.Scalar) (*string, bool, error) {
	if s.compute == nil {
		return nil, false, nil
	}
	value, err := s.compute(oid, query.Text(sql))
	return value, err == nil, err
}

func (s *testScope) Column(fields []string, location int) (*Column, error) {
	if c := s.columns[fields[len(fields)-1]]; c != nil {
		return c, nil
	}
	return nil, Refuse(refusal.Types, location, "column "+strings.Join(fields, ".")+" does not exist", "")
}

func (s *testScope) Parameter(n int) (uint32, *string, bool) {
	if n < 1 || n > len(s.types) {
		return 0, nil, false
	}
	if !s.known {
		return s.types[n-1], nil, false
	}
	return s.types[n-1], s.values[n-1], true
}

func (s *testScope) DomainNamed(string, string) *Domain { return nil }

func (s *testScope) Prints(uint32) bool { return true }

func (s *testScope) SubLink(link *pg_query.SubLink, _ []*Expr) (*Expr, error) {
	return nil, Refuse(refusal.Types, int(link.Location), "subqueries are not supported here", "")
}

// newScope makes the fixture's columns; enum and domain OIDs are the server's, or made up without one.
func newScope(t testing.TB, enum, domain uint32) *testScope {
	t.Helper()
	s := &testScope{columns: map[string]*Column{}}
	for _, f := range fixture {
		c := &Column{
			Ref: query.Named("r").Column(sqltext.Ident(f.name)), Name: f.name, Type: f.oid, Typmod: f.typmod,
			Nullable: !f.notNull, Domain: f.domain, Scale: -1, DeterministicCollation: true,
		}
		base := f.oid
		switch f.name {
		case "m":
			c.Type, c.TypeName, c.EnumLabels = enum, "public.mood", []string{"sad", "ok", "it's {0}"}
		case "dom":
			c.Type, c.TypeName, c.Base, c.BaseTypmod = domain, "public.percent", pgtype.Int4OID, -1
			base = pgtype.Int4OID
		default:
			c.TypeName = pgresolve.Qualified(f.oid, f.typmod)
		}
		if f.lo != "" {
			r, err := bound.ForColumn(base, f.lo, f.hi)
			if err != nil {
				t.Fatal(f.name, err)
			}
			c.Bounds = bounds.New(r.Lo, r.Hi)
		}
		s.columns[f.name] = c
	}
	return s
}

// offlineScope is newScope without a server.
func offlineScope(t testing.TB) *testScope { return newScope(t, 90001, 90002) }

func parseExpr(t testing.TB, text string) *pg_query.Node {
	t.Helper()
	tree, err := pg_query.Parse("SELECT " + text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return tree.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val
}

// server is a database with the fixture's table: benign rows within all bounds, hostile ones.
type server struct {
	conn  *pgx.Conn
	scope *testScope
}

func startServer(t *testing.T) *server {
	t.Helper()
	s, name := pgservertest.Database(t, fixtureTypes)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.DSN(name, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(ctx) })
	sv := &server{conn: conn}
	var enum, domain uint32
	if err := conn.QueryRow(ctx, "SELECT 'mood'::regtype::oid, 'percent'::regtype::oid").Scan(&enum, &domain); err != nil {
		t.Fatal(err)
	}
	sv.scope = newScope(t, enum, domain)
	sv.scope.ask, sv.scope.compute = sv.literal, sv.compute
	var columns []string
	for _, f := range fixture {
		columns = append(columns, f.name+" "+f.sql)
	}
	sv.exec(t, "CREATE TABLE hostile ("+strings.Join(columns, ", ")+"); CREATE TABLE benign (LIKE hostile)")
	rng := rand.New(rand.NewPCG(1, 2))
	sv.exec(t, "INSERT INTO benign VALUES "+rows(rng, 40, false))
	sv.exec(t, "INSERT INTO hostile VALUES "+rows(rng, 400, true))
	return sv
}

// rows makes rows of random combinations; hostile rows hold a NULL in every eighth place.
func rows(rng *rand.Rand, n int, hostile bool) string {
	var out []string
	for range n {
		var values []string
		for _, f := range fixture {
			pool := f.benign
			if hostile {
				pool = append(append([]string{}, pool...), append(f.hostile, f.hostile...)...)
			}
			v := pool[rng.IntN(len(pool))]
			if hostile && !f.notNull && rng.IntN(8) == 0 {
				v = "NULL"
			}
			values = append(values, v)
		}
		out = append(out, "("+strings.Join(values, ", ")+")")
	}
	return strings.Join(out, ",\n")
}

func (s *server) exec(t testing.TB, sql string) {
	t.Helper()
	if _, err := s.conn.PgConn().Exec(context.Background(), sql).ReadAll(); err != nil {
		t.Fatalf("%v\nin: %.2000s", err, sql)
	}
}

// literal reads a constant under the connection's settings.
func (s *server) literal(oid uint32, text string) (string, error) {
	result := s.conn.PgConn().ExecParams(context.Background(), "SELECT $1::pg_catalog.text", [][]byte{[]byte(text)},
		[]uint32{oid}, nil, nil).Read()
	if result.Err != nil {
		return "", result.Err
	}
	return string(result.Rows[0][0]), nil
}

// compute evaluates an expression of a type under the connection's settings.
func (s *server) compute(oid uint32, sql string) (*string, error) {
	result := s.conn.PgConn().ExecParams(context.Background(), "SELECT "+sql, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	if got := result.FieldDescriptions[0].DataTypeOID; got != oid {
		return nil, fmt.Errorf("%s has type %d, not %d", sql, got, oid)
	}
	if result.Rows[0][0] == nil {
		return nil, nil
	}
	value := string(result.Rows[0][0])
	return &value, nil
}

// text runs a query and gives its rows as text; NULL is nil.
func (s *server) text(sql string) ([][]*string, error) {
	result := s.conn.PgConn().ExecParams(context.Background(), sql, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	var out [][]*string
	for _, r := range result.Rows {
		row := make([]*string, len(r))
		for i, v := range r {
			if v != nil {
				s := string(v)
				row[i] = &s
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// corpus reads a file of expressions, one a line; # starts a comment line.
func corpus(t testing.TB, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		t.Fatal(fmt.Errorf("%s holds no expression", file))
	}
	return out
}

// sqlOf prints an expression.
func sqlOf(e *Expr) string { return query.Text(e.SQL()) }
