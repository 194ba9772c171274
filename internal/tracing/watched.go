package tracing

import (
	"context"
	"log/slog"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// watched logs when the collector stops taking traces, and when it takes them again. Exports follow each other.
type watched struct {
	sdk.SpanExporter
	log     *slog.Logger
	headers map[string]string // whose values are not logged
	failing bool
}

// maxReason bounds what is logged of an error, bytes: a collector's answer may be in it.
const maxReason = 300

// ExportSpans returns no error: the SDK would print each of them.
func (w *watched) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := w.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !w.failing:
		w.log.Warn("the collector does not take traces; they are lost until it does", "error", w.reason(err))
	case err == nil && w.failing:
		w.log.Info("the collector takes traces again")
	}
	w.failing = err != nil
	return nil
}

func (w *watched) reason(err error) string {
	text := err.Error()
	for _, secret := range w.headers {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}
