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
		p.ofKept(), p.table.asked(), p.ofLook(values), shown.NotShown(), shown.OverShown(), p.placed.Hint(),
		shown.WithoutMargin(p.figured, p.placed),
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
	return buffer(rows, p.scope.Memory, notices)
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
		return numberArray(block.Keys.Len(), func(int) (float64, bool) { return 0, false }), 0, nil
	case arg.Derived == rewrite.DerivedPlain:
		return integerArray(block.Plain[arg.Release]), 0, nil
	case arg.Derived == rewrite.DerivedNoise:
		margins := p.SumMargins(arg.Block, *arg.Column, block)
		return numberArray(block.Keys.Len(), func(g int) (float64, bool) {
			if margins == nil {
				return 0, false
			}
			return margins[g], true
		}), 0, nil
	case arg.Derived == rewrite.DerivedShare:
		_, share, ok := p.Summed(arg.Block, *arg.Column, block)
		if !ok {
			return nil, 0, nil
		}
		return strconv.AppendFloat(nil, share, 'g', -1, 64), 0, nil
	}
	value, err = p.derivedArg(arg, block)
	return value, 0, err
}

// derivedArg prints a function of released values and public quantities, one element for each group: NULL where it has
// none.
func (p *private) derivedArg(arg rewrite.FinishArg, block estimate.Block) ([]byte, error) {
	groups := block.Keys.Len()
	switch arg.Derived {
	case rewrite.DerivedLow, rewrite.DerivedHigh:
		return numberArray(groups, func(g int) (float64, bool) {
			a := p.Aggregate(arg.Block, *arg.Column, block, g)
			by := a.Below
			if arg.Derived == rewrite.DerivedHigh {
				by = a.Above
			}
			most := math.Inf(1)
			if arg.Column.Moments == nil { // steps, which are added to an int8
				by, most = math.Ceil(by), 1<<62
			}
			return by, a.Known && by < most
		}), nil
	case rewrite.DerivedThreshold:
		return integerArray(slices.Repeat([]int64{p.Threshold(arg.Block, arg.Release)}, groups)), nil
	case rewrite.DerivedStddev:
		return numberArray(groups, func(g int) (float64, bool) {
			return p.Deviation(arg.Block, *arg.Column, block, g)
		}), nil
	}
	return nil, fmt.Errorf("finish argument %q is unknown", arg.Derived)
}

// numberArray prints numbers as a PostgreSQL array in text form, NULL where there is none.
func numberArray(n int, of func(i int) (float64, bool)) []byte {
	out := []byte{'{'}
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if v, ok := of(i); ok {
			out = strconv.AppendFloat(out, v, 'f', -1, 64)
		} else {
			out = append(out, "NULL"...)
		}
	}
	return append(out, '}')
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
