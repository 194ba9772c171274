package engine

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/session"
)

// Released implements session.Releaser: what dpproxy.last shows follows from released values and from what is public.
func (p *private) Released() []session.Released {
	list, named := make([]session.Released, len(p.figured)), names(p.plan)
	for i, f := range p.figured {
		info := describeNoise(p.calibrated, f.block, f.column.Releases[0])
		list[i] = session.Released{Column: f.label, Mechanism: info.Mechanism, Scale: inUnit(f.typ, info.Scale), LeftOut: p.plan.Blocks[f.block].LeftOut, Epsilon: p.spent.epsilon}
		if f.column.Cut != nil {
			list[i].LeftOut = f.column.Cut.Share
		}
		if o := p.placed; o.shown > 0 && o.block == f.block && f.label == named(p.plan.Blocks[o.block].Columns[o.column]) {
			list[i].Place = o.text()
		}
		if f.known {
			margin := inUnit(f.typ, f.most)
			list[i].Margin = &margin
		}
	}
	return list
}

// inUnit gives an amount in an aggregate's unit. Steps of times are microseconds, and their unit is the second.
func inUnit(oid uint32, v float64) float64 {
	if isTime(oid) {
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
