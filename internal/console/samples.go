package console

import (
	"math"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/metrics"
)

// kept is how many samples there are, one a minute.
const kept = 24 * 60

// samples are counters by the minute, since this process began and for a day at most.
type samples struct {
	mu   sync.Mutex
	list []sampled
}

type sampled struct {
	at     time.Time
	counts metrics.Counts
}

func (s *samples) add(at time.Time, counts metrics.Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, sampled{at, counts})
	if len(s.list) > kept {
		s.list = append([]sampled{}, s.list[len(s.list)-kept:]...)
	}
}

// trend is how often something happened.
type trend struct {
	Name, Meaning string
	Total         float64
	Path          string // how often in each of the slices of the time that is known, in hundredths
}

// A trend has so many slices of time, and none is drawn before there are a few.
const (
	trendSlices = 48
	leastSlices = 5
)

// trends draws one family of counters, the most frequent first.
func (s *samples) trends(now metrics.Counts, family func(metrics.Counts) map[string]float64,
	meaning map[string]string,
) []trend {
	s.mu.Lock()
	list := s.list
	s.mu.Unlock()
	var out []trend
	for name, total := range family(now) {
		if total == 0 {
			continue
		}
		var values []float64
		for _, x := range list {
			values = append(values, family(x.counts)[name])
		}
		out = append(out, trend{name, meaning[name], total, rises(append(values, total))})
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Total > out[j].Total || out[i].Total == out[j].Total && out[i].Name < out[j].Name
	})
	return out
}

// rises draws by how much a counter rose in each slice of time, from left to right.
func rises(values []float64) string {
	n := min(trendSlices, len(values)-1)
	if n < leastSlices {
		return ""
	}
	steps := make([]float64, n)
	most := 0.0
	for i := range steps {
		from, to := i*(len(values)-1)/n, (i+1)*(len(values)-1)/n
		steps[i] = math.Max(0, values[to]-values[from])
		most = math.Max(most, steps[i])
	}
	if most == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("M0 100")
	for i, v := range steps {
		b.WriteString("V" + coordinate(100-94*v/most) + "H" + coordinate(100*float64(i+1)/float64(n)))
	}
	b.WriteString("V100Z")
	return b.String()
}

// since is when counting began.
func (s *samples) since() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return ""
	}
	return moment(s.list[0].at)
}
