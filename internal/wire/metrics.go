package wire

import "time"

// Metrics counts what the wire sees. Implementations are safe for concurrent use and return at once.
type Metrics interface {
	ConnectionOpened()
	ConnectionClosed()
	// ConnectionRefused names the reason: "total", "address", "startup".
	ConnectionRefused(reason string)
	LoginFailed()
	// Message reports one handled message by its name ("Query", "Parse", …) and how long it took.
	Message(name string, took time.Duration)
	// ErrorSent reports the SQLSTATE of an error that a client got.
	ErrorSent(code string)
}

type noMetrics struct{}

func (noMetrics) ConnectionOpened()             {}
func (noMetrics) ConnectionClosed()             {}
func (noMetrics) ConnectionRefused(string)      {}
func (noMetrics) LoginFailed()                  {}
func (noMetrics) Message(string, time.Duration) {}
func (noMetrics) ErrorSent(string)              {}
