package expr

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// TestReach: a number of one unit is read as it is, clamped, or as keys list it; a condition says where nothing lies
// beyond.
func TestReach(t *testing.T) {
	number := func() *Column {
		c := &Column{
			Ref: query.Named("t").Column("n"), Name: "n", Type: pgtype.Int8OID, Typmod: -1, TypeName: "bigint",
			Bounds: bounds.Between(1, 20), Enforced: true, DeterministicCollation: true,
		}
		c.Reach(bounds.Between(1, 1<<31), bounds.Between(1, 70))
		return c
	}
	c := number()
	e := Read(c, -1)
	if got := e.Exact().Bounds().String(); got != "[1, 2147483648]" {
		t.Errorf("as it is it lies in %s", got)
	}
	if got := e.Listed().String(); got != "[1, 70]" {
		t.Errorf("its groups are %s", got)
	}
	if c.Beyond.Most.Lo != nil || !e.Cuts() || e.Exact().Read().Cuts() ||
		query.Text(e.Exact().Read().SQL()) != query.Text(c.Ref) {
		t.Error("it is cut above where it is added up, and nowhere where it is read as it is")
	}
	for _, test := range []struct {
		said   bounds.Interval
		cuts   bool
		listed string
	}{
		{bounds.Between(0, 20), false, "[1, 20]"},
		{bounds.Between(3, 40), true, "[3, 40]"},
		{bounds.Between(31, 1000), true, "[31, 70]"},
		{bounds.Between(71, 1000), true, "[1, 70]"},
	} {
		c := number()
		if both := c.Bounds.Intersect(test.said); !both.Empty() {
			c.Narrow(both)
		}
		c.NarrowBeyond(test.said)
		if e := Read(c, -1); e.Cuts() != test.cuts || c.GoesBeyond() != test.cuts || e.Listed().String() != test.listed {
			t.Errorf("within %s: cut %v, groups %s", test.said, e.Cuts(), e.Listed())
		}
	}
}
