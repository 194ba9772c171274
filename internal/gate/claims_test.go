package gate

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// TestHistogramsClaimTheirGroups: a quantile that is charged for fewer groups claims less, though the bins of its
// histogram are groups too.
func TestHistogramsClaimTheirGroups(t *testing.T) {
	for groups, want := range map[int]string{4: "4", 3: "3", 0: "1"} {
		r := mechanism.Release{Kind: mechanism.Quantile, Sensitivity: 1, Total: 4, Groups: groups}
		k := &rewrite.Block{Keys: rewrite.KeyRows{keyOf("1")}, Releases: []mechanism.Release{r}}
		k.Histograms = []rewrite.Histogram{{Measure: schema.SQL{Text: "SELECT"}, Releases: []int{0}}}
		claims := Measures(k)[0].Claims
		if c := claims[len(claims)-1]; c.Total.RatString() != want || c.Groups != nil {
			t.Errorf("%d groups: %s is claimed", groups, c.Influence)
		}
	}
}
