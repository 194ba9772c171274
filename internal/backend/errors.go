package backend

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// CannotConnectNow is PostgreSQL's code for a server that takes no connections at the moment.
const CannotConnectNow = "57P03"

// MeasureError stands for any failure of main while it measured. Its text is one constant, and it unwraps to nothing:
// what main reports may quote a private row (docs/privacy.md P22).
type MeasureError struct {
	lost bool
	code string
}

func (*MeasureError) Error() string { return "the main database failed while measuring" }

// Lost reports whether main took away the connection or the snapshot: it broke off, was shutting down or starting, or a
// standby replayed what the snapshot stood in the way of. That is no fault of the statement, which may be measured
// again and must not be refused in future.
func (e *MeasureError) Lost() bool { return e.lost }

// Code returns the SQLSTATE that main gave, for the administrator's log alone; empty when it gave none.
func (e *MeasureError) Code() string { return e.code }

// notAcquired says why there was no connection to main. Its text is dpproxy's, so nothing private is in it.
type notAcquired struct{ err error }

func (e *notAcquired) Error() string { return e.err.Error() }

// measureError hides what main said. That the pool was busy is no secret of main's: the client gets its 53300.
func measureError(err error) error {
	var none *notAcquired
	if errors.As(err, &none) {
		var own *pgconn.PgError
		if errors.As(none.err, &own) && own.Code == pgerr.TooManyConnections {
			return own
		}
		return &MeasureError{lost: true}
	}
	var kept *NotAdmitted
	if errors.As(err, &kept) {
		return kept
	}
	var proof *ProofError
	if errors.As(err, &proof) {
		return proof
	}
	var pgError *pgconn.PgError
	if errors.As(err, &pgError) {
		return &MeasureError{lost: lostCode(pgError.Code) || Conflict(pgError.Code), code: pgError.Code}
	}
	return &MeasureError{lost: connectionLost(err)}
}

// lostCode reports whether a server ends or refuses a connection with a code. 57014, 57P05 and the time-outs of
// class 25 may depend on what the statement did, and so don't count. Nor does 08P01: PostgreSQL objects by it to what a
// client sent, and a pooler gives it for any time-out.
func lostCode(code string) bool {
	switch code {
	case "57P01", "57P02", CannotConnectNow, pgerr.TooManyConnections:
		return true
	}
	return strings.HasPrefix(code, "08") && code != pgerr.ProtocolViolation
}

// Conflict reports whether a standby ends a query with a code because the query blocks replay.
//
// That is no channel for an analyst. Nothing else raises these codes in a READ ONLY transaction at REPEATABLE READ:
// 40001 means an update of a row that has changed since the snapshot, which a SELECT without FOR UPDATE does not make,
// or a cycle of SERIALIZABLE transactions, which it is none of; 40P01 means locks taken in turn, and it waits for none
// that conflicts with ACCESS SHARE but those of DDL. What a measure query evaluates raises nothing (docs/privacy.md). A
// standby conflicts with the snapshot, the locks and the buffers of a query, which are the same whatever the rows hold;
// the rows decide at most how long the query is exposed to it, which the duration of an answer tells as well.
func Conflict(code string) bool { return code == "40001" || code == "40P01" }

// conflicts reports whether a standby ended a query because it blocks replay, with or without its connection.
func conflicts(err error) bool {
	var pgError *pgconn.PgError
	return errors.As(err, &pgError) && Conflict(pgError.Code)
}

// errProtocol marks what cannot come from a broken connection: main answered, but not with what was asked for.
var errProtocol = errors.New("unexpected answer")

// connectionLost reports whether no server sent an error, or a server or a pooler ended the connection with it.
func connectionLost(err error) bool {
	var pgError *pgconn.PgError
	if errors.As(err, &pgError) {
		return lostCode(pgError.Code) || pgError.Code == pgerr.ProtocolViolation && pgError.Severity == "FATAL"
	}
	// A message that is too long is for us to bear, but how long it is may depend on the rows.
	var long *pgproto3.ExceededMaxBodyLenErr
	return !errors.As(err, &long) && !errors.Is(err, errProtocol) && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded)
}

// unreachable makes the error that a client gets where a database does not answer. The log has the reason.
func (p *pool) unreachable(err error) error {
	p.log.Error("database unreachable", "database", p.name, "error", err.Error())
	return pgerr.New(CannotConnectNow, "dpproxy cannot reach the "+p.name+" database at the moment",
		pgerr.Hint("Try again later; if this lasts, tell the administrator."))
}
