package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestWideHint: the first difference is named, with bounds as its type has them.
func TestWideHint(t *testing.T) {
	const after = ", as far apart as those of its columns allow. If values lie nearer to 0, LEAST(GREATEST(a - b, low), high) takes noise off in proportion: " +
		"bounds a tenth as wide leave a tenth."
	for _, c := range []struct {
		difference *rewrite.Difference
		want       string
	}{
		{nil, ""},
		{
			&rewrite.Difference{Text: "a - b", Type: pgtype.Int4OID, Lo: -4017, Hi: 4017},
			"The bounds of a - b are -4017 to 4017" + after,
		},
		{
			&rewrite.Difference{Text: "a - b", Type: pgtype.IntervalOID, Lo: -86400e6 * 731, Hi: 90000e6},
			"The bounds of a - b are -731 days 00:00:00 to 1 days 01:00:00" + after,
		},
	} {
		plan := &rewrite.Plan{Blocks: []rewrite.Block{{}, {Columns: []rewrite.Column{{}, {Difference: c.difference}}}}}
		if diff := cmp.Diff(c.want, wideHint(plan)); diff != "" {
			t.Error(diff)
		}
	}
}
