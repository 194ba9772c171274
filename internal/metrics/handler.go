package metrics

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readyTimeout bounds the checks of /readyz. Orchestrators wait about as long for a probe.
const readyTimeout = 3 * time.Second

// Handler serves /metrics, /healthz and /readyz. /healthz answers 200 as long as the process lives. /readyz answers
// 200, or 503 while ready returns an error, which goes to the log and not to the caller.
func (m *Metrics) Handler(ready func(context.Context) error, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := ready(ctx); err != nil {
			log.Warn("not ready", "error", err)
			answer(w, http.StatusServiceUnavailable, "not ready\n")
			return
		}
		answer(w, http.StatusOK, "ok\n")
	})
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // fails if the caller is gone
}
