package wire

import (
	"bufio"
	"io"

	"github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/clientencoding"
)

const (
	// writeBuffer holds replies until Sync, Flush, an error, or until it is full (bytes).
	writeBuffer = 16 << 10
	// keepScratch is the largest encoding buffer that a connection keeps between messages (bytes).
	keepScratch = 64 << 10
)

// writer encodes replies into a buffer. Its first error sticks: the connection is lost.
type writer struct {
	out      *bufio.Writer
	scratch  []byte
	row      pgproto3.DataRow
	encoding func() *clientencoding.Encoding // of the session's text
	err      error
}

func newWriter(w io.Writer) *writer {
	utf8 := func() *clientencoding.Encoding { return nil }
	return &writer{out: bufio.NewWriterSize(w, writeBuffer), encoding: utf8}
}

func (w *writer) send(m pgproto3.BackendMessage) error {
	if w.err != nil {
		return w.err
	}
	buf, err := m.Encode(w.scratch[:0])
	if err != nil {
		return err // nothing was written: the stream is whole
	}
	if cap(buf) <= keepScratch {
		w.scratch = buf
	} else {
		w.scratch = nil
	}
	_, w.err = w.out.Write(buf)
	return w.err
}

func (w *writer) flush() error {
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

// dataRow sends one row; nil values are NULL.
func (w *writer) dataRow(values [][]byte) error {
	w.row.Values = values
	err := w.send(&w.row)
	w.row.Values = nil
	return err
}

func (w *writer) rowDescription(columns []pgconn.FieldDescription) error {
	fields := make([]pgproto3.FieldDescription, len(columns))
	for i, c := range columns {
		name, err := w.encoding().Encode([]byte(clean(c.Name)))
		if err != nil {
			return err
		}
		fields[i] = pgproto3.FieldDescription{
			Name: name, TableOID: c.TableOID, TableAttributeNumber: c.TableAttributeNumber,
			DataTypeOID: c.DataTypeOID, DataTypeSize: c.DataTypeSize, TypeModifier: c.TypeModifier, Format: c.Format,
		}
	}
	return w.send(&pgproto3.RowDescription{Fields: fields})
}

func (w *writer) errorResponse(e *pgconn.PgError) error {
	r := w.response(e)
	return w.send(&r)
}

// response speaks the client's encoding.
func (w *writer) response(e *pgconn.PgError) pgproto3.ErrorResponse {
	r := response(e)
	encoding := w.encoding()
	r.Message, r.Detail, r.Hint = encoding.Lossy(r.Message), encoding.Lossy(r.Detail), encoding.Lossy(r.Hint)
	return r
}

func (w *writer) notice(n *pgconn.Notice) error {
	e := pgconn.PgError(*n)
	if e.Severity == "" && e.SeverityUnlocalized == "" {
		e.Severity = "NOTICE"
	}
	if e.Code == "" {
		e.Code = "00000"
	}
	r := pgproto3.NoticeResponse(w.response(&e))
	return w.send(&r)
}

func (w *writer) parameters(list []Parameter) error {
	for _, p := range list {
		value := w.encoding().Lossy(clean(p.Value))
		if err := w.send(&pgproto3.ParameterStatus{Name: clean(p.Name), Value: value}); err != nil {
			return err
		}
	}
	return nil
}

// results implements ResultWriter for one message.
type results struct{ w *writer }

func (r results) RowDescription(columns []pgconn.FieldDescription) error {
	return r.w.rowDescription(columns)
}
func (r results) DataRow(values [][]byte) error { return r.w.dataRow(values) }
func (r results) CommandComplete(tag string) error {
	return r.w.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
}
func (r results) EmptyQuery() error             { return r.w.send(&pgproto3.EmptyQueryResponse{}) }
func (r results) PortalSuspended() error        { return r.w.send(&pgproto3.PortalSuspended{}) }
func (r results) Notice(n *pgconn.Notice) error { return r.w.notice(n) }

func (r results) CopyOut(format byte, columns int) error {
	codes := make([]uint16, columns)
	for i := range codes {
		codes[i] = uint16(format)
	}
	return r.w.send(&pgproto3.CopyOutResponse{OverallFormat: format, ColumnFormatCodes: codes})
}
func (r results) CopyData(data []byte) error { return r.w.send(&pgproto3.CopyData{Data: data}) }
func (r results) CopyDone() error            { return r.w.send(&pgproto3.CopyDone{}) }
