package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// exporter is a ledger whose export a test writes.
type exporter struct {
	ledger.Admin
	export func(_ context.Context, w io.Writer) error
}

func (e exporter) Export(ctx context.Context, w io.Writer) error { return e.export(ctx, w) }

// serve runs Serve on a new socket and returns a client and a function that ends Serve.
func serve(t *testing.T, l ledger.Admin) (path string, c *Client, end func()) {
	t.Helper()
	return serveIn(t, t.TempDir(), l)
}

func serveIn(t *testing.T, folder string, l ledger.Admin) (path string, c *Client, end func()) {
	t.Helper()
	path = filepath.Join(folder, "sock")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, path, l, slog.New(slog.DiscardHandler)) }()
	for range 500 {
		if c, _ = Dial(context.Background(), path); c != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if c == nil {
		t.Fatal("nobody listens on the socket")
	}
	t.Cleanup(func() { c.Close() })
	return path, c, func() {
		t.Helper()
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(4 * time.Second): // sooner than any limit of a connection
			t.Error("Serve did not end")
		}
	}
}

// TestExportThatFails: the client gets what was written before, and the reason.
func TestExportThatFails(t *testing.T) {
	reason := "account \"jörg\", record 17:\nchecksum does not match"
	_, c, end := serve(t, exporter{export: func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "{}\n")
		return errors.Join(err, errors.New(reason))
	}})
	defer end()
	var out bytes.Buffer
	if err := c.Export(context.Background(), &out); err == nil || err.Error() != reason {
		t.Errorf("error %v, want %q", err, reason)
	}
	if out.String() != "{}\n" {
		t.Errorf("exported %q", out.String())
	}
}

// TestServeEndsWithItsContext: neither a silent connection nor a stalled export keeps Serve, and no call outlives it.
func TestServeEndsWithItsContext(t *testing.T) {
	running := make(chan struct{})
	over := false
	path, c, end := serve(t, exporter{export: func(_ context.Context, w io.Writer) error {
		defer func() { over = true }()
		close(running)
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	}})
	silent, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	stalled, stall := io.Pipe()
	defer stalled.Close()
	failed := make(chan error, 1)
	go func() { failed <- c.Export(context.Background(), stall) }()
	<-running
	end()
	if !over {
		t.Error("the export still runs")
	}
	stalled.Close()
	if err := <-failed; err == nil {
		t.Error("an export that was cut off looks complete")
	}
}

// TestCutOffExport: an export without its end is an error, whatever was written.
func TestCutOffExport(t *testing.T) {
	written := make(chan struct{})
	_, c, end := serve(t, exporter{export: func(ctx context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "{}\n")
		close(written)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	}})
	failed := make(chan error, 1)
	go func() { failed <- c.Export(context.Background(), io.Discard) }()
	<-written
	end()
	if err := <-failed; err == nil {
		t.Error("an export that was cut off looks complete")
	}
}

// TestOutputThatFails: the error of a failed write is the writer's, not that of the connection.
func TestOutputThatFails(t *testing.T) {
	_, c, end := serve(t, exporter{export: func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "{}\n")
		return err
	}})
	defer end()
	closed, out := io.Pipe()
	closed.Close()
	if err := c.Export(context.Background(), out); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

func TestCanceledCall(t *testing.T) {
	_, c, end := serve(t, exporter{export: func(ctx context.Context, _ io.Writer) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := c.Export(ctx, io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
