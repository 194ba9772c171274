package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// Limits of one call. The time that a call computes has none: verify and export read every record.
const (
	headerTimeout = 5 * time.Second  // to send a request
	writeTimeout  = 30 * time.Second // to take the next part of an answer
	idleTimeout   = time.Minute      // between two calls of a connection
	headerBytes   = 8 << 10          // of a request: an analyst's name has room
)

// failure is the body of an answer whose status is not 200.
type failure struct {
	Error string `json:"error"`
}

// exportError is the trailer of an export that failed after its first line, quoted as a Go string.
const exportError = "Dpproxy-Export-Error"

// Serve answers administrators over HTTP on a Unix socket at path until ctx ends. It answers only the user who runs the
// proxy, and root. With an empty path (a shared ledger) it only waits for ctx.
func Serve(ctx context.Context, path string, l ledger.Admin, log *slog.Logger) error {
	if path == "" {
		<-ctx.Done()
		return nil
	}
	listener, err := listen(path)
	if err != nil {
		return fmt.Errorf("ledger: socket %s: %w", path, err)
	}
	defer os.Remove(path)
	var connections sync.WaitGroup
	server := &http.Server{
		Handler:           handler(l),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelError),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Done()
			}
		},
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err = server.Serve(listener)
	server.Close()     // also a connection that was accepted while the server closed
	connections.Wait() // no call may use the ledger after Serve returns: its owner closes it
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("ledger: socket %s: %w", path, err)
}

// handler has one path for each method of ledger.Admin, two for Profiler, and one for tokens.
func handler(l ledger.Admin) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, call func(ctx context.Context, analyst string) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := call(r.Context(), r.URL.Query().Get("analyst"))
			reply(w, answer, err)
		})
	}
	handle("GET /show", func(ctx context.Context, _ string) (any, error) { return l.Show(ctx) })
	handle("POST /reset", func(ctx context.Context, analyst string) (any, error) { return l.Reset(ctx, analyst) })
	handle("POST /clear", func(ctx context.Context, analyst string) (any, error) { return l.Clear(ctx, analyst) })
	mux.HandleFunc("POST /charge", func(w http.ResponseWriter, r *http.Request) { charge(w, r, l, false) })
	mux.HandleFunc("POST /preview", func(w http.ResponseWriter, r *http.Request) { charge(w, r, l, true) })
	handle("POST /token", func(ctx context.Context, _ string) (any, error) { return newToken(ctx, l) })
	handle("GET /verify", func(ctx context.Context, _ string) (any, error) { return l.Verify(ctx) })
	mux.HandleFunc("GET /export", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/jsonl")
		w.Header().Set("Trailer", exportError)
		if err := l.Export(r.Context(), deadlineWriter{w}); err != nil {
			w.Header().Set(exportError, strconv.QuoteToASCII(err.Error()))
		}
	})
	return mux
}

// deadlineWriter gives the caller writeTimeout for each write.
type deadlineWriter struct{ http.ResponseWriter }

func (w deadlineWriter) Write(b []byte) (int, error) {
	if err := http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(b)
}
