package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// finish has PostgreSQL compute the client's rows from released values.
func (p *private) finish(ctx context.Context, values []released) (session.Rows, error) {
	defer p.engine.stage(ctx, "finish", time.Now())
	if slices.ContainsFunc(p.Plan.Finish.Args, func(a rewrite.FinishArg) bool { return a.Given != nil }) {
		if err := p.answerStages(ctx, values); err != nil {
			return nil, err
		}
	}
	shown := p.presented(values)
	p.placed, p.figured = shown.Places(), shown.Figures()
	p.said = []string{
		p.ofLook(values), shown.NotShown(), shown.OverShown(), p.placed.Hint(), shown.WithoutMargin(p.figured, p.placed),
	}
	r, err := p.finishRequest(p.Plan.Finish, shown.Blocks)
	if err != nil {
		return nil, err
	}
	r.ResultFormats = p.resultFormats
	rows, err := p.start(ctx, p.Plan.Finish.On, r)
	if err != nil {
		return nil, err
	}
	var notices []*pgconn.Notice
	if p.scope.Settings.Notices() {
		notices = append(notices, p.notice())
	}
	return held(rows, p.scope.Memory, notices)
}

// finishRequest binds the parameters of a query over released values.
func (p *private) finishRequest(f rewrite.Finish, values []estimate.Block) (backend.Request, error) {
	r := backend.Request{SQL: f.SQL, Settings: backendSettings(p.scope), Repeats: !f.Clock}
	for _, arg := range f.Args {
		value, format, err := p.finishArg(arg, values)
		if err != nil {
			return r, err
		}
		r.Parameters, r.Formats, r.Types = append(r.Parameters, value), append(r.Formats, format), append(r.Types, arg.Type)
	}
	return r, nil
}

// finishArg encodes one parameter of the finish query.
func (p *private) finishArg(arg rewrite.FinishArg, answer []estimate.Block) (value []byte, format int16, err error) {
	if arg.Parameter > 0 {
		return p.values[arg.Parameter-1], backend.FormatAt(p.formats, arg.Parameter-1), nil
	}
	if arg.Given != nil {
		return []byte(arg.Given.List(p.stages)), 0, nil
	}
	block := answer[arg.Block]
	if arg.Derived == rewrite.DerivedShown {
		value, err := encodeText(pgtype.BoolArrayOID, block.Shown())
		return value, 0, err
	}
	if arg.Whole {
		block = block.Whole()
	}
	switch {
	case arg.Key >= 0:
		return rewrite.KeyArray(block.Keys, arg.Key), 0, nil
	case arg.Derived == "":
		return integerArray(block.Values[arg.Release]), 0, nil
	case arg.Column != nil && !p.Adds(arg.Block, *arg.Column, block) && arg.Derived == rewrite.DerivedPlain:
		value, err := encodeText(pgtype.Int8ArrayOID, make([]*int64, block.Keys.Len()))
		return value, 0, err
	case arg.Derived == rewrite.DerivedPlain:
		return integerArray(block.Plain[arg.Release]), 0, nil
	case arg.Derived == rewrite.DerivedNoise || arg.Derived == rewrite.DerivedShare:
		margin, share, ok := p.Summed(arg.Block, *arg.Column, block)
		if !ok {
			return nil, 0, nil
		}
		if arg.Derived == rewrite.DerivedShare {
			margin = share
		}
		return strconv.AppendFloat(nil, margin, 'g', -1, 64), 0, nil
	}
	return p.derivedArg(arg, block)
}

// derivedArg encodes a function of released values and public quantities: one element for each group, NULL where it has none.
func (p *private) derivedArg(arg rewrite.FinishArg, block estimate.Block) ([]byte, int16, error) {
	steps, floats := make([]*int64, block.Keys.Len()), make([]*float64, block.Keys.Len())
	var threshold int64
	if arg.Derived == rewrite.DerivedThreshold {
		threshold = p.Threshold(arg.Block, arg.Release)
	}
	for g := range block.Keys.Len() {
		switch arg.Derived {
		case rewrite.DerivedLow, rewrite.DerivedHigh:
			a := p.Aggregate(arg.Block, *arg.Column, block, g)
			by := a.Below
			if arg.Derived == rewrite.DerivedHigh {
				by = a.Above
			}
			switch {
			case !a.Known, math.IsInf(by, 1):
			case arg.Column.Moments != nil:
				floats[g] = &by
			default:
				steps[g] = new(int64)
				*steps[g] = int64(math.Ceil(by))
			}
		case rewrite.DerivedThreshold:
			steps[g] = &threshold
		case rewrite.DerivedStddev:
			if sd, ok := p.Deviation(arg.Block, *arg.Column, block, g); ok {
				floats[g] = &sd
			}
		default:
			return nil, 0, fmt.Errorf("finish argument %q is unknown", arg.Derived)
		}
	}
	if arg.Derived == rewrite.DerivedStddev || arg.Column != nil && arg.Column.Moments != nil {
		value, err := encodeText(pgtype.Float8ArrayOID, floats)
		return value, 0, err
	}
	value, err := encodeText(pgtype.Int8ArrayOID, steps)
	return value, 0, err
}

// integerArray prints whole numbers, of which there may be many, as a PostgreSQL array in text form.
func integerArray(values []int64) []byte {
	out := make([]byte, 0, 4*len(values)+2)
	out = append(out, '{')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, v, 10)
	}
	return append(out, '}')
}

// encodeText prints a Go slice as a PostgreSQL array in text form.
func encodeText(oid uint32, v any) ([]byte, error) {
	return pgtype.NewMap().Encode(oid, pgtype.TextFormatCode, v, make([]byte, 0, 64))
}
