package integration_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/memory"
)

// TestMemoryIsBounded: twenty connections of two analysts keep whatever the protocol lets them keep. The proxy's memory
// follows limits.memory and not them, they read 53200, another connection is answered beside them, and what they had
// goes back to the system once they have gone.
func TestMemoryIsBounded(t *testing.T) {
	const limit, connections = 64 << 20, 20
	p := start(t, loudPolicy("limits: {memory: 64MB}"), clinic)
	beside := p.connect(quiet)
	ask := func() {
		var n int
		if err := beside.QueryRow(context.Background(), "SELECT count(*) FROM patients").Scan(&n); err != nil {
			t.Errorf("beside the attack: %v", err)
		}
	}
	ask()
	before := p.memory("VmRSS")
	var refused atomic.Int64
	var attackers sync.WaitGroup
	for i := range connections {
		attackers.Go(func() {
			a := hoard(t, p, []string{"alice", "bob"}[i%2], i)
			defer a.close()
			refused.Add(a.fill(i) + a.fill(i+1))
		})
	}
	attackers.Wait()
	ask()
	if refused.Load() < connections {
		t.Errorf("%d refusals with 53200", refused.Load())
	}
	// The garbage collector works for memory.Soft; PostgreSQL's parser has memory of its own.
	if most, bound := p.memory("VmHWM"), before+int(memory.Soft(limit)); most > bound {
		t.Errorf("the proxy has held %d MB, more than %d; %d MB before", most>>20, bound>>20, before>>20)
	} else {
		t.Logf("%d MB before, at most %d MB, %d refusals", before>>20, most>>20, refused.Load())
	}
	var after int
	for range 200 {
		if after = p.memory("VmRSS"); after <= before+limit {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if after > before+limit {
		t.Errorf("the proxy holds %d MB once all have gone, %d MB before", after>>20, before>>20)
	}
}

// hoarder is a client that keeps what it can.
type hoarder struct {
	t    testing.TB
	conn *pgconn.HijackedConn
	name string
}

func hoard(t testing.TB, p *proxy, user string, i int) *hoarder {
	conn, err := pgx.Connect(context.Background(), p.dsn(user))
	if err != nil {
		t.Fatal(err)
	}
	hijacked, err := conn.PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	return &hoarder{t, hijacked, fmt.Sprint(i)}
}

func (a *hoarder) close() { _ = a.conn.Conn.Close() }

// hoards is how many ways there are.
const hoards = 7

// fill keeps one kind of thing until there is no memory for more, and then drops it. It returns how often that was
// refused.
func (a *hoarder) fill(way int) (refused int64) {
	megabyte := strings.Repeat("x", 1<<20-100)
	types := make([]uint32, 65000)
	for i := range types {
		types[i] = 23
	}
	a.ask(&pgproto3.Query{String: "BEGIN"})
	for i := range 100 {
		name := fmt.Sprint(a.name, "_", i)
		var batch []pgproto3.FrontendMessage
		switch way % hoards {
		case 0: // names of statements
			batch = append(batch, &pgproto3.Parse{Name: name + megabyte[:1<<20-200], Query: "SELECT 1"})
		case 1: // texts and their trees
			batch = append(batch, &pgproto3.Parse{Name: name, Query: "SELECT 1 AS a" + name + " WHERE 1 IN (1" +
				strings.Repeat(", 1", 2000) + ")"})
		case 2: // values of parameters
			batch = append(batch, &pgproto3.Parse{Query: "SELECT $1::text"}, &pgproto3.Bind{
				DestinationPortal: name,
				Parameters:        [][]byte{[]byte(megabyte[:1<<20-300])},
			})
		case 3: // rows
			batch = append(batch, &pgproto3.Query{String: "DECLARE c" + name +
				" CURSOR WITH HOLD FOR SELECT g, repeat('x', 1000) FROM generate_series(1, 4000) g"},
				&pgproto3.Query{String: "MOVE 1 FROM c" + name})
		case 4: // types of parameters
			batch = append(batch, &pgproto3.Parse{Name: name, Query: "SELECT 1 AS a" + name, ParameterOIDs: types})
		case 5: // explanations
			sums := ""
			for k := range 40 {
				sums += fmt.Sprintf(", sum(age + %d)", k)
			}
			batch = append(batch, &pgproto3.Parse{Query: "EXPLAIN (FORMAT JSON) SELECT count(*)" + sums + " FROM patients"},
				&pgproto3.Bind{DestinationPortal: name})
		case 6: // messages that wait for a long statement
			return a.pipeline(megabyte)
		}
		for _, m := range batch {
			code := a.ask(m)
			switch code {
			case "", "26000": // of a Bind whose Parse was refused
			case "53200":
				refused++
			default:
				a.t.Errorf("%s for a %T of way %d", code, m, way%hoards)
			}
			if refused > 0 {
				a.ask(&pgproto3.Query{String: "ROLLBACK"})
				a.ask(&pgproto3.Query{String: "CLOSE ALL"})
				a.ask(&pgproto3.Query{String: "DISCARD ALL"})
				return refused
			}
		}
	}
	a.ask(&pgproto3.Query{String: "DISCARD ALL"})
	return refused
}

// pipeline sends more than may wait before it reads anything.
func (a *hoarder) pipeline(megabyte string) (refused int64) {
	a.ask(&pgproto3.Query{String: "ROLLBACK"})
	a.ask(&pgproto3.Query{String: "SET statement_timeout = 500"})
	const messages = 8
	buf,
		err := (&pgproto3.Query{String: "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"}).Encode(nil)
	for range messages {
		if err == nil {
			buf, err = (&pgproto3.Query{String: "/*" + megabyte + "*/"}).Encode(buf)
		}
	}
	if err == nil {
		_, err = a.conn.Conn.Write(buf)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	for range messages + 1 {
		if a.answer() == "53200" {
			refused++
		}
	}
	return refused
}

// ask sends a message and reads up to ReadyForQuery; it returns the SQLSTATE of an error.
func (a *hoarder) ask(m pgproto3.FrontendMessage) (code string) {
	buf, err := m.Encode(nil)
	if err == nil {
		if _, simple := m.(*pgproto3.Query); !simple {
			buf, err = (&pgproto3.Sync{}).Encode(buf)
		}
	}
	if err == nil {
		_, err = a.conn.Conn.Write(buf)
	}
	if err != nil {
		a.t.Error(err)
		return ""
	}
	return a.answer()
}

// answer reads up to ReadyForQuery.
func (a *hoarder) answer() (code string) {
	var err error
	for err == nil {
		var reply pgproto3.BackendMessage
		reply, err = a.conn.Frontend.Receive()
		switch r := reply.(type) {
		case *pgproto3.ErrorResponse:
			code = r.Code
		case *pgproto3.ReadyForQuery:
			return code
		}
	}
	a.t.Error(err)
	return ""
}

// memory is a line of what the system says of the proxy: VmRSS, what it holds resident, or VmHWM, the most that it has
// held, bytes.
func (p *proxy) memory(line string) (bytes int) {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), line+":")
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		p.t.Fatal(err)
	}
	return bytes << 10
}
