// Package admin gives the administrator access to a ledger that a running proxy holds.
package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// SocketPath is where the process that holds a file ledger listens for `dpproxy budget`; empty for a shared ledger,
// whose administrator connects to PostgreSQL.
func SocketPath(dsn string) string {
	if path := ledger.FilePath(dsn); path != "" {
		return path + ".sock"
	}
	return ""
}

// call is a request by socket: one line of JSON.
type call struct {
	Verb    string `json:"verb"` // show, reset, clear, verify, export
	Analyst string `json:"analyst,omitempty"`
}

// reply answers a call: one line of JSON; before it, for an export, one line per record, each beginning with a space.
type reply struct {
	Error    string                  `json:"error,omitempty"`
	Accounts []ledger.AccountSummary `json:"accounts,omitempty"`
	Count    int                     `json:"count,omitempty"`
	Report   ledger.Report           `json:"report,omitzero"`
}

// Serve answers administrators on a Unix socket at path until ctx ends. Only the user who runs the proxy, and root,
// are answered. An empty path (a shared ledger) only waits for ctx.
func Serve(ctx context.Context, path string, l ledger.Admin) error {
	if path == "" {
		<-ctx.Done()
		return nil
	}
	listener, err := listen(path)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	defer os.Remove(path)
	for {
		conn, err := listener.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ledger: socket %s: %w", path, err)
		}
		all.Go(func() {
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			defer conn.Close()
			if peerAllowed(conn) {
				serveCalls(ctx, conn, l)
			}
		})
	}
}

// listen makes the socket. The file's lock is held, so a socket that is there already is a dead proxy's.
func listen(path string) (*net.UnixListener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ledger: socket %s: %w", path, err)
	}
	address, done, err := shortAddress(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: socket %s: %w", path, err)
	}
	defer done()
	listener, err := net.ListenUnix("unix", address)
	if err != nil {
		return nil, fmt.Errorf("ledger: socket %s: %w", path, err)
	}
	listener.SetUnlinkOnClose(false) // by the short name it would miss
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("ledger: socket %s: %w", path, err)
	}
	return listener, nil
}

// longestAddress is what every Unix can hold in sockaddr_un.sun_path (Linux 108, macOS 104, with the final NUL).
const longestAddress = 103

// shortAddress returns an address that fits, by way of the folder's open descriptor where path is too long. The address
// is good until done is called.
func shortAddress(path string) (_ *net.UnixAddr, done func(), err error) {
	done = func() {}
	if len(path) > longestAddress {
		folder, err := os.Open(filepath.Dir(path))
		if err != nil {
			return nil, nil, err
		}
		done = func() { folder.Close() }
		path = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path))
	}
	return &net.UnixAddr{Name: path, Net: "unix"}, done, nil
}

// longestCall bounds what a caller may send in one line, in bytes: a verb and an analyst's name.
const longestCall = 4096

func serveCalls(ctx context.Context, conn net.Conn, l ledger.Admin) {
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 256), longestCall)
	out := bufio.NewWriter(conn)
	for lines.Scan() {
		var c call
		var r reply
		err := json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			r, err = c.run(ctx, l, out)
		}
		if err != nil {
			r = reply{Error: err.Error()}
		}
		if json.NewEncoder(out).Encode(r) != nil || out.Flush() != nil {
			return
		}
	}
}

func (c call) run(ctx context.Context, l ledger.Admin, out io.Writer) (r reply, err error) {
	switch c.Verb {
	case "show":
		r.Accounts, err = l.Show(ctx)
	case "reset":
		var a ledger.AccountSummary
		a, err = l.Reset(ctx, c.Analyst)
		r.Accounts = []ledger.AccountSummary{a}
	case "clear":
		r.Count, err = l.Clear(ctx, c.Analyst)
	case "verify":
		r.Report, err = l.Verify(ctx)
	case "export":
		err = l.Export(ctx, &indenter{Writer: out})
	default:
		err = fmt.Errorf("the running dpproxy does not know %q", c.Verb)
	}
	return r, err
}

// indenter puts a space before every line.
type indenter struct {
	io.Writer
	inLine bool
}

func (w *indenter) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		if !w.inLine {
			if _, err := w.Writer.Write([]byte{' '}); err != nil {
				return 0, err
			}
		}
		if _, err := w.Writer.Write(line); err != nil {
			return 0, err
		}
		w.inLine = line[len(line)-1] != '\n'
	}
	return len(b), nil
}
