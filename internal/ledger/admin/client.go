package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
)

// Open opens a ledger for its administrator. A shared ledger is opened directly; a file through the proxy that
// holds it, or directly where none runs. A file that does not exist yet is not made: its budgets are all untouched.
func Open(ctx context.Context, dsn string, c ledger.Config) (ledger.Admin, error) {
	path := ledger.FilePath(dsn)
	if path == "" {
		return stores.Open(ctx, dsn, c)
	}
	remote, err := Dial(ctx, SocketPath(dsn))
	if err == nil {
		return remote, nil
	}
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		r, err := accounting.NewRules(c)
		return untouched{r}, err
	}
	s, direct := stores.Open(ctx, dsn, c)
	if direct != nil {
		return nil, fmt.Errorf("%w (and no running dpproxy answers: %w)", direct, err)
	}
	return s, nil
}

// remote is a ledger that another process holds.
type remote struct {
	conn net.Conn
	in   *bufio.Reader
}

// Dial connects to the proxy that serves the socket at path.
func Dial(ctx context.Context, path string) (ledger.Admin, error) {
	address, done, err := shortAddress(path)
	if err != nil {
		return nil, err
	}
	defer done()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", address.Name)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	return &remote{conn, bufio.NewReader(conn)}, nil
}

// call sends one call and reads its reply; records of an export go to w.
func (r *remote) call(ctx context.Context, c call, w io.Writer) (reply, error) {
	stop := context.AfterFunc(ctx, func() { _ = r.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := json.Marshal(c)
	if err != nil {
		return reply{}, err
	}
	if _, err := r.conn.Write(append(line, '\n')); err != nil {
		return reply{}, r.lost(ctx, err)
	}
	for {
		line, err := r.in.ReadBytes('\n')
		if err != nil {
			return reply{}, r.lost(ctx, err)
		}
		if line[0] == ' ' {
			if _, err := w.Write(line[1:]); err != nil {
				return reply{}, err
			}
			continue
		}
		var out reply
		if err := json.Unmarshal(line, &out); err != nil {
			return reply{}, fmt.Errorf("the running dpproxy answered %q: %w", line, err)
		}
		if out.Error != "" {
			return reply{}, errors.New(out.Error)
		}
		return out, nil
	}
}

func (r *remote) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the running dpproxy hung up (it answers its own user and root only): %w", err)
}

func (r *remote) Show(ctx context.Context) ([]ledger.AccountSummary, error) {
	out, err := r.call(ctx, call{Verb: "show"}, io.Discard)
	return out.Accounts, err
}

func (r *remote) Reset(ctx context.Context, analyst string) (ledger.AccountSummary, error) {
	out, err := r.call(ctx, call{Verb: "reset", Analyst: analyst}, io.Discard)
	if err != nil || len(out.Accounts) != 1 {
		return ledger.AccountSummary{}, err
	}
	return out.Accounts[0], nil
}

func (r *remote) Clear(ctx context.Context, analyst string) (int, error) {
	out, err := r.call(ctx, call{Verb: "clear", Analyst: analyst}, io.Discard)
	return out.Count, err
}

func (r *remote) Verify(ctx context.Context) (ledger.Report, error) {
	out, err := r.call(ctx, call{Verb: "verify"}, io.Discard)
	return out.Report, err
}

func (r *remote) Export(ctx context.Context, w io.Writer) error {
	_, err := r.call(ctx, call{Verb: "export"}, w)
	return err
}

func (r *remote) Close() error { return r.conn.Close() }

// untouched stands in for a ledger that does not exist yet.
type untouched struct{ rules *accounting.Rules }

var errUntouched = errors.New("there is no ledger yet: dpproxy serve makes it")

func (u untouched) Show(context.Context) ([]ledger.AccountSummary, error) {
	return u.rules.Show(make(map[string]accounting.Account), nil, u.rules.Time(time.Now())), nil
}

func (untouched) Reset(context.Context, string) (ledger.AccountSummary, error) {
	return ledger.AccountSummary{}, errUntouched
}
func (untouched) Clear(context.Context, string) (int, error)    { return 0, errUntouched }
func (untouched) Verify(context.Context) (ledger.Report, error) { return ledger.Report{}, nil }
func (untouched) Export(context.Context, io.Writer) error       { return nil }
func (untouched) Close() error                                  { return nil }
