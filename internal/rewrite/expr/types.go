package expr

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// baseType looks through domains.
func (e *Expr) baseType() uint32 {
	if e.col != nil && e.col.Base != 0 {
		return e.col.Base
	}
	return e.typ
}

// isEnum reports whether the type is an enum.
func (e *Expr) isEnum() bool { return e.labels != nil }

func baseTypes(args []*Expr) []uint32 {
	out := make([]uint32, len(args))
	for i, a := range args {
		out[i] = a.baseType()
	}
	return out
}

// supported says whether values of a built-in type may take part in more than IS NULL.
func supported(oid uint32) bool {
	return oid == pgtype.BoolOID || oid == pgtype.UUIDOID || pgresolve.IsNumber(oid) || pgresolve.IsString(oid) ||
		pgresolve.IsTime(oid)
}

// maxChars limits how many characters of a text of unknown length an operation reads; the rest is cut off. lower() of a
// value of 300 MB raises, since PostgreSQL converts it to wide characters in one allocation (formatting.c,
// str_tolower).
const maxChars = 1 << 20

// intRange gives the range of an integer type.
func intRange(oid uint32) bounds.Interval {
	switch oid {
	case pgtype.Int2OID:
		return bounds.Between(-1<<15, 1<<15-1)
	case pgtype.Int4OID:
		return bounds.Between(-1<<31, 1<<31-1)
	}
	return bounds.Between(-1<<63, 1<<63-1)
}

// Ranges of date and timestamp types are kept to years where every calendar function of PostgreSQL works, in any zone.
var (
	dateSafe      = bounds.New(rat(-2400000), rat(100000000))                                       // days
	timestampSafe = bounds.New(mul(rat(-2400000), microsPerDay), mul(rat(100000000), microsPerDay)) // until year 275760
	// what PostgreSQL's timestamp holds, nearly
	timestampRange = bounds.New(mul(rat(-2440500), microsPerDay), mul(rat(106000000), microsPerDay))
	microsPerDay   = rat(86400000000)
	microsPerSec   = rat(1000000)
	zoneMax        = rat(168 * 3600 * 1000000) // a POSIX zone may be up to 167:59:59 away from UTC (localtime.c, getsecs)
	// by how much a zone's offset may change: one end of a POSIX zone's range to the other
	zoneJump = mul(rat(2), zoneMax)
	dayRange = bounds.New(bounds.Zero, microsPerDay)
)
