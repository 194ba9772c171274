package backend

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// Settings are the session settings that reach a backend. Empty ones have PostgreSQL's defaults. PostgreSQL judges
// their values: an unknown time zone comes back as its own error from shadow and public. Of all of them main sees the
// TimeZone alone, which the arithmetic of instants needs.
type Settings struct {
	TimeZone, DateStyle, IntervalStyle string
	ExtraFloatDigits, ByteaOutput      string
}

// pin sets one setting for a transaction.
type pin struct{ name, value string }

// statementLimit ends a runaway statement on shadow and public. Main has none of ours: there a limit would tell how
// long a statement took on private rows; the administrator may give main's role one.
const statementLimit = "60s"

// common pins fix how text is read and what it means, in a style of dates and intervals.
func (s Settings) common(dateStyle, intervalStyle string) []pin {
	return []pin{
		{"standard_conforming_strings", "on"},
		{"client_encoding", "UTF8"},
		{"TimeZone", or(s.TimeZone, "UTC")},
		{"DateStyle", dateStyle},
		{"IntervalStyle", intervalStyle},
		{"xmloption", "content"},
	}
}

// What main prints and reads never depends on a session.
const (
	isoDates  = "ISO, MDY"
	intervals = "postgres"
	allDigits = "3" // as many as a float has
)

// mainPins: the search_path holds nothing that a user could have made, and a row-level policy that would hide rows from
// main's role is an error instead of a silent filter. The costs let the planner parallelise a join below a leader's
// GROUP BY unit. An expression is compiled when a first row reaches it, which takes tens of milliseconds and
// would tell that there is one: nothing is compiled. Names are quoted as where the shapes of tables were read.
func (s Settings) mainPins() []pin {
	return append(s.common(isoDates, intervals),
		pin{"search_path", "pg_catalog, pg_temp"},
		pin{"quote_all_identifiers", "off"},
		pin{"extra_float_digits", allDigits},
		pin{"row_security", "off"},
		pin{"jit", "off"},
		pin{"parallel_tuple_cost", "0.001"},
		pin{"parallel_setup_cost", "10"},
	)
}

// publicPins have a client's text planned for the values of its parameters each time, as if it were not prepared: rows
// of public tables may be many.
func (s Settings) publicPins(path string) []pin {
	return append(s.clientPins(path), pin{"plan_cache_mode", "force_custom_plan"})
}

// clientPins returns the pins of shadow and public for the client's text. pg_temp comes last, so that nothing temporary
// hides a listed name.
func (s Settings) clientPins(path string) []pin {
	return append(s.common(or(s.DateStyle, isoDates), or(s.IntervalStyle, intervals)),
		append(shadowPins(path), pin{"extra_float_digits", or(s.ExtraFloatDigits, "1")},
			pin{"bytea_output", or(s.ByteaOutput, "hex")})...)
}

// planningPins let shadow and public read values as the session does, compute what main will compute, and print it
// canonically. The order of day and month, and the style of intervals, decide how input is read; what has been read
// once means the same under any.
func (s Settings) planningPins(path string) []pin {
	dateStyle := isoDates
	if _, order, found := strings.Cut(s.DateStyle, ","); found {
		dateStyle = "ISO," + order
	}
	return append(s.common(dateStyle, or(s.IntervalStyle, intervals)),
		append(shadowPins(path), pin{"extra_float_digits", allDigits}, pin{"bytea_output", "hex"})...)
}

// shadowPins hold for every statement on shadow and public.
func shadowPins(path string) []pin {
	return []pin{{"search_path", path}, {"statement_timeout", statementLimit}, {"jit", "off"}}
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// pinned is what is known of a connection.
type pinned struct {
	pins    *pinSet // that it has; nil: unknown
	pooled  bool    // a pooler stands before the server, and may give it to others between two transactions
	citus   bool    // the server asks workers, over connections of its own, which get the settings of a transaction alone
	watcher *ctxwatch.ContextWatcher
	buffer  []byte // for messages

	statements *statements
}

// pinnedKey is its place in the connection's own data.
const pinnedKey = "dpproxy"

func pinnedOf(conn *pgx.Conn) *pinned {
	known, _ := conn.PgConn().CustomData()[pinnedKey].(*pinned)
	return known
}

// rememberSQL asks who answers, and whether it is the coordinator of a Citus cluster.
const rememberSQL = "SELECT pg_catalog.pg_backend_pid(), EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')"

// remember makes a new connection one whose pins are remembered, unless there is a pooler or there are workers: a
// pooler makes up the process ID that it gives to its clients.
func remember(ctx context.Context, conn *pgx.Conn) error {
	var pid uint32
	known := &pinned{statements: newStatements(), watcher: ctxwatch.NewContextWatcher(cancelRequests(conn.PgConn()))}
	if err := conn.QueryRow(ctx, rememberSQL).Scan(&pid, &known.citus); err != nil {
		return err
	}
	known.pooled = pid != conn.PgConn().PID()
	conn.PgConn().CustomData()[pinnedKey] = known
	if !known.local() {
		return prepareGuard(ctx, conn.PgConn())
	}
	return nil
}

// local reports whether pins hold for a transaction, and not for the connection.
func (p *pinned) local() bool { return p.pooled || p.citus }

// unpin gives a connection the settings that it began with, as for reading catalogs: how these are printed must not
// depend on who was here before.
func unpin(ctx context.Context, conn *pgx.Conn) error {
	known := pinnedOf(conn)
	if known.local() {
		return nil
	}
	known.pins = nil
	_, err := conn.Exec(ctx, "RESET ALL")
	return err
}

// pinSQL sets all pins in one statement, for the rest of the transaction where local; the values are its parameters.
func pinSQL(pins []pin, local bool) (string, [][]byte) {
	var sql strings.Builder
	values := make([][]byte, len(pins))
	sql.WriteString("SELECT ")
	for i, p := range pins {
		if i > 0 {
			sql.WriteString(", ")
		}
		sql.WriteString("pg_catalog.set_config('" + p.name + "', $" + strconv.Itoa(i+1) + ", " + strconv.FormatBool(local) +
			")")
		values[i] = []byte(p.value)
	}
	return sql.String(), values
}

// propagate has Citus send the settings of a transaction to the workers: those of SET LOCAL, and not those of
// set_config.
var propagate = pin{"citus.propagate_set_commands", "local"}

// planAlone keeps an EXPLAIN on the coordinator.
var planAlone = pin{"citus.explain_distributed_queries", "off"}

// propagated sets pins for the rest of a transaction, on the workers of a Citus cluster as well.
func propagated(pins []pin) []string {
	list := []string{propagate.setSQL()}
	for _, p := range pins {
		list = append(list, p.setSQL())
	}
	return list
}

// setSQL sets a pin for the rest of the transaction. A list of schemas is one already; other values are constants.
func (p pin) setSQL() string {
	value := p.value
	if p.name != "search_path" {
		value = sqltext.EscapedLiteral(value)
	}
	return "SET LOCAL " + p.name + " = " + value
}

// searchPath lists the policy's schemas: public first, the others by name. pg_catalog is searched before them, as in
// PostgreSQL's default.
func searchPath(p *policy.Policy) string {
	var quoted []string
	for _, s := range p.Schemas() {
		quoted = append(quoted, pgx.Identifier{s}.Sanitize())
	}
	return strings.Join(append(quoted, "pg_temp"), ", ")
}
