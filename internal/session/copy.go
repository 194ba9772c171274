package session

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/clientencoding"
	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// copying is a query whose rows go out as COPY data.
type copying struct {
	query   *query
	options command.CopyOptions
	encode  *clientencoding.Encoding
	force   []bool // columns whose values are always quoted
	head    []byte // what a binary COPY sends with its first message
}

// copyTo binds the query of COPY … TO STDOUT: it is analysed, charged and answered as it would be by itself.
func (s *Session) copyTo(ctx context.Context, st *state, c command.Copy) (*result, error) {
	_, prepared, err := s.inner(ctx, st, c.SQL, c.Offset, nil)
	if err != nil {
		return nil, err
	}
	if len(prepared.Params()) > 0 {
		return nil, withOffset(noParameter(c.SQL), c.Offset)
	}
	formats := []int16{pgtype.TextFormatCode}
	if c.Format == command.CopyBinary {
		formats[0] = pgtype.BinaryFormatCode
	}
	q, err := s.bindQuery(ctx, s.scope(st), prepared, nil, nil, formats, c.Offset)
	if err != nil {
		return nil, err
	}
	cp := &copying{query: q, options: c.CopyOptions, encode: s.Encoding()}
	if c.Encoding != "" {
		cp.encode = clientencoding.For(c.Encoding)
	}
	for _, column := range cp.query.columns {
		if column.Format != formats[0] {
			q.free()
			return nil, pgerr.New(pgerr.FeatureNotSupported, `column "`+column.Name+`" cannot be copied in binary`,
				pgerr.Hint("Copy it as text, or as CSV."))
		}
	}
	if err := cp.forced(); err != nil {
		q.free()
		return nil, err
	}
	return &result{copying: cp}, nil
}

// forced finds the columns of FORCE_QUOTE.
func (c *copying) forced() error {
	c.force = make([]bool, len(c.query.columns))
	for i := range c.force {
		c.force[i] = c.options.ForceQuoteAll
	}
	for _, name := range c.options.ForceQuote {
		i := slices.IndexFunc(c.query.columns, func(f pgconn.FieldDescription) bool { return f.Name == name })
		if i < 0 {
			return pgerr.New(pgerr.UndefinedColumn, `column "`+name+`" does not exist`)
		}
		c.force[i] = true
	}
	return nil
}

// sendCopy charges the query and sends its rows.
func (s *Session) sendCopy(ctx context.Context, c *copying, w wire.ResultWriter) error {
	defer c.query.free()
	if err := s.charge(ctx, c.query); err != nil {
		return err
	}
	if err := c.begin(w); err != nil {
		s.void(c.query)
		return err
	}
	sent := 0
	err := s.each(ctx, c.query, func(values [][]byte) error {
		row, err := c.row(values)
		if err != nil {
			return err
		}
		sent++
		return w.CopyData(row)
	})
	if err != nil {
		return err
	}
	if c.options.Format == command.CopyBinary {
		if err := w.CopyData(append(slices.Clip(c.head), binaryEnd...)); err != nil {
			return err
		}
	}
	if err := w.CopyDone(); err != nil {
		return err
	}
	if err := s.notify(w, c.query.notices); err != nil {
		return err
	}
	return w.CommandComplete("COPY " + itoa(sent))
}

// begin sends what comes before the rows.
func (c *copying) begin(w wire.ResultWriter) error {
	if c.options.Format == command.CopyBinary {
		c.head = binaryHead
		return w.CopyOut(pgtype.BinaryFormatCode, len(c.query.columns))
	}
	var names []byte
	if c.options.Header {
		texts := make([][]byte, len(c.query.columns))
		for i, column := range c.query.columns {
			texts[i] = []byte(column.Name)
		}
		var err error
		if names, err = c.line(texts, nil); err != nil {
			return err
		}
	}
	if err := w.CopyOut(pgtype.TextFormatCode, len(c.query.columns)); err != nil || !c.options.Header {
		return err
	}
	return w.CopyData(names)
}
