package redteam_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

// statement is what an analyst asks.
type statement struct {
	source string // where it is from
	number int    // among the statements of its source
	sql    string
	values []*string // of the parameters, as text; nil is NULL
}

// block is what EXPLAIN (FORMAT JSON) says of one release block.
type block struct {
	Measure    string
	Measured   []int
	Histograms []histogram
	Keys       int
	KeyColumns int  `json:"key_columns"`
	ByKey      bool `json:"by_key"`
	Selection  *charge
	Releases   []charge
}

// histogram is a measure query of rows (group, grid step, count) for quantiles.
type histogram struct {
	Measure  string
	Releases []int
}

// charge is what the ledger was charged for: how far one unit moves a release, and in how many groups.
type charge struct {
	Name        string
	Kind        string
	Sensitivity int64
	Total       int64
	Groups      int `json:"groups_per_unit"`
	Row         int64
	Layer       int
	Family      int
}

// texts are the measure queries of a block, in the order in which they run.
func (b block) texts() []string {
	var all []string
	if b.Measure != "" {
		all = append(all, b.Measure)
	}
	for _, h := range b.Histograms {
		all = append(all, h.Measure)
	}
	return all
}

// record is a statement that was answered: what was charged, and what main executed for it.
type record struct {
	statement
	session session
	blocks  []block
	pins    relay.Query   // the settings of main's transaction
	queries []relay.Query // what was measured, in the order of the blocks
	dropped atomic.Bool   // it has failed, or is too slow: no judge tries it any more
}

// errRefused is the verdict on a statement that is not answered.
var errRefused = errors.New("refused")

// ask explains a statement and runs it. The record is nil where nothing private was measured; an error other than
// errRefused is a violation.
func (w *world) ask(conn *pgconn.PgConn, s session, st statement) (*record, error) {
	ctx := context.Background()
	values, formats, err := w.encode(ctx, conn, s, st)
	if err != nil {
		return nil, refusal(err)
	}
	explained := conn.ExecParams(ctx, "EXPLAIN (FORMAT JSON) "+st.sql, values, nil, formats, nil).Read()
	if explained.Err != nil {
		return nil, refusal(explained.Err)
	}
	var plans []struct {
		Refused string
		Blocks  []block
	}
	if err := json.Unmarshal(explained.Rows[0][0], &plans); err != nil {
		return nil, nil // "this statement reads nothing private"
	}
	if plans[0].Refused != "" {
		w.t.Fatalf("the budget of %s does not last: %s", s.analyst(), plans[0].Refused)
	}
	before, err := w.relay.Take()
	if err != nil {
		w.t.Fatal(err)
	}
	w.pinned.note(before)
	failed := conn.ExecParams(ctx, st.sql, values, nil, formats, nil).Read().Err
	executed, err := w.relay.Take()
	if err != nil {
		w.t.Fatal(err)
	}
	defer w.pinned.note(executed)
	r := &record{statement: st, session: s, blocks: plans[0].Blocks}
	if failed != nil {
		r.queries = executed
		return r, refusal(failed)
	}
	return r, r.match(executed, w.pinned)
}

// encode prints the parameters as the session sends them.
func (w *world) encode(ctx context.Context, conn *pgconn.PgConn, s session, st statement) ([][]byte, []int16, error) {
	if len(st.values) == 0 {
		return nil, nil, nil
	}
	d, err := conn.Prepare(ctx, "", st.sql, nil)
	if err != nil {
		return nil, nil, err
	}
	types := pgtype.NewMap()
	values, formats := make([][]byte, len(st.values)), make([]int16, len(st.values))
	for i, v := range st.values {
		if v == nil {
			continue
		}
		values[i] = []byte(*v)
		if typ, known := types.TypeForOID(d.ParamOIDs[i]); s.binary && known {
			// What pgx cannot read goes as text.
			if decoded, err := typ.Codec.DecodeValue(types, typ.OID, 0, values[i]); err == nil {
				if encoded, err := types.Encode(typ.OID, 1, decoded, nil); err == nil {
					values[i], formats[i] = encoded, 1
					w.binary++
				}
			}
		}
	}
	return values, formats, nil
}

// refusal distinguishes a refusal from a failure of main: no statement may make main fail.
func refusal(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code != "XX000" {
		return fmt.Errorf("%w: %s %s", errRefused, e.Code, e.Message)
	}
	return fmt.Errorf("the statement failed: %w", err)
}

// privateTable finds a private table in SQL that dpproxy wrote.
var privateTable = regexp.MustCompile(
	`"public"\."(patients|visits|lab_results|profiles|staff|calls|ratings|bookings|samples|faces|entries)"`)

// match takes from what main executed the queries of private rows. They must be those of the blocks, in one snapshot.
func (r *record) match(executed []relay.Query, known pinned) error {
	var want []string
	for _, b := range r.blocks {
		want = append(want, b.texts()...)
	}
	conn := 0
	for _, q := range executed {
		if privateTable.MatchString(q.SQL) {
			conn = q.Conn
			r.queries = append(r.queries, q)
		}
	}
	if len(r.queries) != len(want) {
		return fmt.Errorf("main executed %d queries of private rows where %d were charged: %s", len(r.queries), len(want),
			list(r.queries))
	}
	for i, q := range r.queries {
		if q.Conn != conn || masked(q.SQL) != masked(want[i]) {
			return fmt.Errorf("query %d is not the one that was charged\nexecuted: %s\ncharged:  %s", i+1, q.SQL, want[i])
		}
	}
	r.pins = known[conn]
	return r.findPins(executed, conn)
}

// pinned are the settings that each connection to main has kept from earlier statements.
type pinned map[int]relay.Query

// note remembers the settings that connections keep beyond the transaction in which they were made.
func (p pinned) note(executed []relay.Query) {
	for _, q := range executed {
		if strings.Contains(q.SQL, "set_config(") && strings.HasSuffix(q.SQL, ", false)") {
			p[q.Conn] = q
		}
	}
}

// findPins finds the transaction of the measure queries, and its settings.
func (r *record) findPins(executed []relay.Query, conn int) error {
	begin, measured := "", 0
	for _, q := range executed {
		switch {
		case q.Conn != conn:
		case privateTable.MatchString(q.SQL):
			measured++
			if !strings.Contains(begin, "REPEATABLE READ") || !strings.Contains(begin, "READ ONLY") || r.pins.SQL == "" {
				return fmt.Errorf("measured after %q, with settings by %q", begin, r.pins.SQL)
			}
		case strings.HasPrefix(q.SQL, "BEGIN") || strings.HasPrefix(q.SQL, "COMMIT") || strings.HasPrefix(q.SQL, "ROLLBACK"):
			if measured > 0 && measured < len(r.queries) {
				return fmt.Errorf("%s between measure queries", q.SQL)
			}
			begin = q.SQL
		case strings.Contains(q.SQL, "set_config(") && measured == 0:
			r.pins = q
		}
	}
	return nil
}

// literal is a constant in SQL: the clock's may differ between EXPLAIN and the statement itself.
var literal = regexp.MustCompile(`'(?:[^']|'')*'`)

func masked(sql string) string { return literal.ReplaceAllString(sql, "''") }

func list(queries []relay.Query) string {
	var b strings.Builder
	for _, q := range queries {
		fmt.Fprintf(&b, "\n  %s%s", q.SQL, valuesText(q))
	}
	return b.String()
}

// valuesText prints a query's parameters.
func valuesText(q relay.Query) string {
	text := ""
	for i, v := range q.Values {
		if v == nil {
			text += fmt.Sprintf("\n    $%d = NULL", i+1)
			continue
		}
		text += fmt.Sprintf("\n    $%d = %.300q", i+1, v)
	}
	return text
}
