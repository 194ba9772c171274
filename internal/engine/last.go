package engine

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Released implements session.Releaser: what dpproxy.last shows follows from released values and from what is public.
func (p *private) Released() []session.Released {
	list := make([]session.Released, len(p.figured))
	for i, f := range p.figured {
		list[i] = session.Released{Column: f.Label, Epsilon: p.spent.epsilon, Place: p.placed.Of(f.Of)}
		if c := p.Column(f.Of); c != nil {
			list[i].LeftOut = p.Plan.Blocks[f.Of.Leaf().Block].LeftOut
			if c.Cut != nil {
				list[i].LeftOut = c.Cut.Share
			}
		}
		if f.Of.Leaf() == f.Of {
			noise := p.Noise(f.Of.Block, p.Column(f.Of).Releases[0])
			list[i].Mechanism, list[i].Scale = noise.Mechanism, inUnit(f.Type, noise.Scale)
		}
		if f.Known > 0 {
			margin := inUnit(f.Type, f.Most)
			list[i].Margin = &margin
		}
	}
	return list
}

// inUnit gives an amount in an aggregate's unit. Steps of times are microseconds, and their unit is the second.
func inUnit(oid uint32, v float64) float64 {
	if estimate.IsTime(oid) {
		return v * time.Microsecond.Seconds()
	}
	return v
}

// lastColumn gives one column of dpproxy.last: the aggregates of the session's last private statement.
func (c *call) lastColumn(name string) ([]byte, error) {
	if text := map[string]func(session.Released) string{
		"column_name": func(r session.Released) string { return r.Column },
		"mechanism":   func(r session.Released) string { return r.Mechanism },
		"place":       func(r session.Released) string { return r.Place },
	}[name]; text != nil {
		texts := make([]pgtype.Text, len(c.scope.Last))
		for i, r := range c.scope.Last {
			texts[i] = pgtype.Text{String: text(r), Valid: text(r) != ""}
		}
		return encodeText(pgtype.TextArrayOID, texts)
	}
	of, known := map[string]func(session.Released) *float64{
		"scale": func(r session.Released) *float64 {
			if r.Scale == 0 {
				return nil
			}
			return &r.Scale
		},
		"margin":   func(r session.Released) *float64 { return r.Margin },
		"left_out": func(r session.Released) *float64 { return r.LeftOut },
		"epsilon":  func(r session.Released) *float64 { return &r.Epsilon },
	}[name]
	if !known {
		return nil, fmt.Errorf("dpproxy.last has no column %q", name)
	}
	numbers := make([]*float64, len(c.scope.Last))
	for i, r := range c.scope.Last {
		numbers[i] = of(r)
	}
	return encodeText(pgtype.Float8ArrayOID, numbers)
}
