package backend

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// TestWhatIsLost: only what no row can decide is measured again without being counted.
func TestWhatIsLost(t *testing.T) {
	for _, tt := range []struct {
		err  error
		lost bool
	}{
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "57P02"}, true},
		{&pgconn.PgError{Code: "57P03"}, true},
		{&pgconn.PgError{Code: "08006"}, true},
		{&pgconn.PgError{Code: "40001"}, true}, // conflict with recovery
		{&pgconn.PgError{Code: "40P01"}, true},
		{io.ErrUnexpectedEOF, true},
		{&pgconn.PgError{Code: "57014"}, false}, // main's statement_timeout
		{&pgconn.PgError{Code: "57P05"}, false},
		{&pgconn.PgError{Code: "25P04"}, false}, // transaction_timeout
		{&pgconn.PgError{Code: "40002"}, false},
		{&pgconn.PgError{Code: "08P01"}, false},
		{&pgconn.PgError{Code: "08P01", Severity: "FATAL"}, false}, // a pooler's query_timeout
		{&pgconn.PgError{Code: "53100"}, false},                    // disk full
		{&pgconn.PgError{Code: "53200"}, false},                    // out of memory
		{&pgconn.PgError{Code: "21000"}, false},
		{&pgconn.PgError{Code: "22012"}, false},
		{fmt.Errorf("%w: no integer", errProtocol), false},
		{fmt.Errorf("reading: %w", &pgproto3.ExceededMaxBodyLenErr{MaxExpectedBodyLen: 1, ActualBodyLen: 2}), false},
	} {
		var failure *MeasureError
		if err := measureError(tt.err); !errors.As(err, &failure) || failure.Lost() != tt.lost {
			t.Errorf("%v: %+v, want lost %v", tt.err, err, tt.lost)
		}
	}
	// A conflict leaves the connection as it was: the shadow's and public's statements are not repeated for it.
	if connectionLost(&pgconn.PgError{Code: "40001"}) {
		t.Error("40001 counts as a broken connection")
	}
	if connectionLost(&pgconn.PgError{Code: "08P01", Severity: "ERROR"}) {
		t.Error("08P01 about a message counts as a broken connection")
	}
	if !connectionLost(&pgconn.PgError{Code: "08P01", Severity: "FATAL"}) {
		t.Error("a pooler's farewell does not count as a broken connection")
	}
}
