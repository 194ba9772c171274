package demo

import (
	"io"
	"math"
	"strconv"
)

// rows writes COPY's text format. Nothing in the clinic needs escaping.
type rows struct {
	out    io.Writer
	buffer []byte
	inRow  bool
	err    error // the first that out returned
}

// flushAt is how many bytes go to the server at once.
const flushAt = 64 << 10

func (w *rows) field() {
	if w.inRow {
		w.buffer = append(w.buffer, '\t')
	}
	w.inRow = true
}

func (w *rows) text(s string) *rows {
	w.field()
	w.buffer = append(w.buffer, s...)
	return w
}

func (w *rows) int(n int64) *rows {
	w.field()
	w.buffer = strconv.AppendInt(w.buffer, n, 10)
	return w
}

// cents writes an amount with two decimals.
func (w *rows) cents(x float64) *rows {
	w.field()
	n := int64(math.Round(100 * x))
	w.buffer = strconv.AppendInt(w.buffer, n/100, 10)
	w.buffer = append(w.buffer, '.', byte('0'+n/10%10), byte('0'+n%10))
	return w
}

func (w *rows) null() *rows { return w.text(`\N`) }

func (w *rows) end() {
	w.buffer = append(w.buffer, '\n')
	w.inRow = false
	if len(w.buffer) >= flushAt {
		w.flush()
	}
}

func (w *rows) flush() {
	if w.err == nil {
		_, w.err = w.out.Write(w.buffer)
	}
	w.buffer = w.buffer[:0]
}
