package main

import (
	"io"
	"log/slog"
)

// secret names attributes that never reach the log, whoever logs them: texts of statements hold constants about people.
var secret = map[string]bool{
	"sql": true, "query": true, "statement": true, "parameters": true, "values": true, "row": true,
	"password": true, "verifier": true, "dsn": true,
}

// newLog logs JSON lines.
func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if secret[a.Key] {
			return slog.String(a.Key, "[redacted]")
		}
		return a
	}}))
}
