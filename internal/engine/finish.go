package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// finish has Postgres compute the client's rows from released values. The result is kept in memory, so that a client that
// pages slowly holds no connection.
func (p *private) finish(ctx context.Context, answer []released) (session.Rows, error) {
	defer p.engine.stage("finish", time.Now())
	r := backend.Request{SQL: p.plan.Finish.SQL, ResultFormats: p.resultFormats, Settings: backendSettings(p.scope)}
	for _, arg := range p.plan.Finish.Args {
		value, format, err := p.finishArg(arg, answer)
		if err != nil {
			return nil, err
		}
		r.Parameters, r.Formats, r.Types = append(r.Parameters, value), append(r.Formats, format), append(r.Types, arg.Type)
	}
	run := p.state.backend.Shadow
	if p.plan.Finish.On == rewrite.RoutePublic {
		run = p.state.backend.Public
	}
	give, err := p.state.shares[p.plan.Finish.On].take(ctx, p.scope.Analyst)
	if err != nil {
		return nil, err
	}
	defer give()
	rows, err := run(ctx, r)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	size := 0
	out := &memoryRows{columns: p.columns()}
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if size += rowSize(row); size > maxFinish {
			return nil, pgerr.New(pgerr.StatementTooComplex, "the answer is too large", pgerr.Hint("Return fewer rows: joins of released values with other rows multiply them."))
		}
		out.rows = append(out.rows, copyRow(row))
	}
	out.tag = "SELECT " + strconv.Itoa(len(out.rows))
	if p.scope.Settings.Notices() {
		out.notices = []*pgconn.Notice{p.notice(answer)}
	}
	return out, nil
}

// maxFinish bounds the bytes of one answer, which is kept in memory: keys are 20000 at most, but the analyst may join them with
// generate_series.
const maxFinish = 64 << 20

// rowSize is what a row takes in memory: a slice header for it and for every value, and the bytes.
func rowSize(row [][]byte) int {
	const header = 24
	size := header
	for _, v := range row {
		size += header + len(v)
	}
	return size
}

// checkFinish has Postgres prepare the finish query before anything is charged: its types must be those that the client was
// told (PRIVACY 27). Texts repeat, so each is checked once for an analysis.
func (c *call) checkFinish(ctx context.Context, f rewrite.Finish) error {
	if _, checked := c.analysis.finished.Load(f.SQL); checked {
		return nil
	}
	types := make([]uint32, len(f.Args))
	for i, arg := range f.Args {
		types[i] = arg.Type
	}
	described, err := c.state.backend.DescribeOn(ctx, f.On, f.SQL, types, backendSettings(c.scope))
	if err != nil {
		c.engine.log.Error("finish query refused", "analyst", c.scope.Analyst, "error", err.Error())
		return errFinish()
	}
	same := slices.EqualFunc(described.Fields, c.analysis.columns, func(a, b pgconn.FieldDescription) bool { return a.DataTypeOID == b.DataTypeOID })
	if !same {
		c.engine.log.Error("finish query has other types than the statement", "analyst", c.scope.Analyst)
		return errFinish()
	}
	c.analysis.finished.Store(f.SQL, true)
	return nil
}

// errFinish is a fault of ours, found before anything was charged.
func errFinish() error {
	return pgerr.New(pgerr.FeatureNotSupported, "this form of the query cannot be finished over released values",
		pgerr.Hint("Put the aggregates into a subquery and compute on its columns. Nothing was charged."))
}

// finishArg encodes one parameter of the finish query.
func (p *private) finishArg(arg rewrite.FinishArg, answer []released) (value []byte, format int16, err error) {
	if arg.Parameter > 0 {
		return p.values[arg.Parameter-1], formatAt(p.formats, arg.Parameter-1), nil
	}
	block := answer[arg.Block]
	if arg.Key >= 0 {
		keys := make([]*string, len(block.Keys))
		for g, key := range block.Keys {
			keys[g] = (*string)(key[arg.Key])
		}
		value, err = encodeText(pgtype.TextArrayOID, keys)
		return value, 0, err
	}
	released := block.Values[arg.Release]
	if arg.Derived == "" {
		value, err = encodeText(pgtype.Int8ArrayOID, released)
		return value, 0, err
	}
	return p.derivedArg(arg, block)
}

// derivedArg encodes a function of released values and public quantities: one element for each group.
func (p *private) derivedArg(arg rewrite.FinishArg, block released) ([]byte, int16, error) {
	release := p.plan.Blocks[arg.Block].Releases[arg.Release]
	prepared := p.blocks[arg.Block].releases[arg.Release]
	steps, deviations := make([]int64, len(block.Keys)), make([]float64, len(block.Keys))
	for g, z := range block.Values[arg.Release] {
		count := block.countOf(release, g)
		switch arg.Derived {
		case rewrite.DerivedLow:
			steps[g], _ = prepared.Interval(z, count)
		case rewrite.DerivedHigh:
			_, steps[g] = prepared.Interval(z, count)
		case rewrite.DerivedThreshold:
			steps[g] = noiseThreshold(prepared.Epsilon() / float64(max(release.Groups, 1)))
		case rewrite.DerivedStddev:
			deviations[g] = prepared.StdDev(z, count)
		default:
			return nil, 0, fmt.Errorf("finish argument %q is unknown", arg.Derived)
		}
	}
	if arg.Derived == rewrite.DerivedStddev {
		value, err := encodeText(pgtype.Float8ArrayOID, deviations)
		return value, 0, err
	}
	value, err := encodeText(pgtype.Int8ArrayOID, steps)
	return value, 0, err
}

// noiseThreshold is what the noise of an empty count at ε exceeds with probability 5% at most (PRIVACY 18).
func noiseThreshold(epsilon float64) int64 {
	const beta = .05
	return int64(math.Ceil(math.Log(1/(2*beta)) / epsilon))
}

// encodeText prints a Go slice as a PostgreSQL array in text form.
func encodeText(oid uint32, v any) ([]byte, error) {
	return pgtype.NewMap().Encode(oid, pgtype.TextFormatCode, v, make([]byte, 0, 64))
}

func copyRow(row [][]byte) [][]byte {
	out := make([][]byte, len(row))
	for i, v := range row {
		if v != nil {
			out[i] = slices.Clone(v)
			if out[i] == nil {
				out[i] = []byte{}
			}
		}
	}
	return out
}

// memoryRows is a result that is complete.
type memoryRows struct {
	columns []pgconn.FieldDescription
	rows    [][][]byte
	next    int
	tag     string
	notices []*pgconn.Notice
}

func (r *memoryRows) Columns() []pgconn.FieldDescription { return r.columns }
func (r *memoryRows) Tag() string                        { return r.tag }
func (r *memoryRows) Notices() []*pgconn.Notice          { return r.notices }
func (r *memoryRows) Close()                             {}

func (r *memoryRows) Next() ([][]byte, error) {
	if r.next == len(r.rows) {
		return nil, io.EOF
	}
	r.next++
	return r.rows[r.next-1], nil
}
