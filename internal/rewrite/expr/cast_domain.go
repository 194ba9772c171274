package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// Domain describes a domain that a cast names. A cast to one without constraints is a cast to the type that it is over.
// A constraint may refuse what a row holds, so the shadow alone casts to a domain that has one, and only constants
// (docs/privacy.md P4d).
type Domain struct {
	Name        string // as messages name it
	SQL         string // its name, quoted and qualified
	Base        uint32 // the type that it is over
	Typmod      int32  // of that type; −1: none
	Constrained bool   // it, or a domain below it, is NOT NULL or has a CHECK
	Collated    bool   // its collation is not that of the type: what is cast would be compared in another way
}

// domainNamed takes a domain for the target of a cast.
func (b *builder) domainNamed(parts []string, n *pg_query.TypeName, t *castTarget) bool {
	in, name := "", parts[len(parts)-1]
	if len(parts) == 2 {
		in = parts[0]
	}
	d := b.scope.DomainNamed(in, name)
	if d == nil || d.Collated || len(parts) > 2 || len(n.ArrayBounds) > 0 || len(n.Typmods) > 0 || !supported(d.Base) ||
		d.Base == pgtype.NameOID || !castTypmod(d.Base, d.Typmod) {
		return false
	}
	t.oid, t.typmod, t.name, t.domain = d.Base, d.Typmod, pgresolve.Qualified(d.Base, -1), d
	return true
}

// castTypmod says that casts know the modifier of a type.
func castTypmod(oid uint32, typmod int32) bool {
	switch {
	case typmod < 0, oid == pgtype.VarcharOID, oid == pgtype.BPCharOID, oid == pgtype.TimeOID, oid == pgtype.TimestampOID,
		oid == pgtype.TimestamptzOID:
		return true
	case oid == pgtype.NumericOID:
		precision, scale := pgresolve.NumericTypmod(typmod)
		return scale >= 0 && scale <= precision
	}
	return false
}

// constrainedCast builds a cast to a domain that may refuse a value: of a constant, which is computed (see computed).
func (b *builder) constrainedCast(e *Expr, d *Domain, text string, loc int) (*Expr, error) {
	if !b.typesOnly {
		return nil, Refuse(refusal.DomainCast, loc, fmt.Sprintf("%s may fail: %s has constraints, which a row may break",
			text, d.Name),
			"cast to "+pgresolve.Display(d.Base)+", or cast constants alone")
	}
	x, err := b.typedCast(e, d.Base, d.Typmod, text, loc)
	if err == nil {
		x.tmpl = "(({0})::" + d.SQL + ")::{T}"
	}
	return x, err
}
