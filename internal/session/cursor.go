package session

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// declare binds the query of DECLARE CURSOR. The first FETCH charges it.
func (s *Session) declare(ctx context.Context, st *state, x *step, c command.Declare) (_ *result, err error) {
	defer func() {
		if err != nil && x.query != nil {
			x.query.free()
		}
	}()
	if !c.Hold && !st.tx.block && !st.tx.many {
		return nil, outsideBlock("DECLARE CURSOR")
	}
	if _, taken := st.portals[c.Name]; taken {
		return nil, pgerr.New(pgerr.DuplicateCursor, `cursor "`+c.Name+`" already exists`)
	}
	if x.query == nil {
		_, prepared, err := s.inner(ctx, st, c.SQL, c.Offset, nil)
		if err != nil {
			return nil, err
		}
		if len(prepared.Params()) > 0 {
			return nil, withOffset(noParameter(c.SQL), c.Offset)
		}
		if x.query, err = s.bindCursor(ctx, st, c, prepared, nil, nil); err != nil {
			return nil, err
		}
	}
	if x.query.columns == nil {
		return nil, pgerr.New("42P11", "DECLARE CURSOR needs a query that returns rows")
	}
	p := &portal{name: c.Name, bytes: portalBytes(x.query), outlives: c.Hold, scroll: c.Scroll, query: x.query}
	return &result{tag: "DECLARE CURSOR"}, st.addPortal(p)
}

// bindCursor binds the query of a cursor. Its rows are kept as text, or as binary for a BINARY cursor, and FETCH gives
// them the format that it was asked for.
func (s *Session) bindCursor(ctx context.Context, st *state, c command.Declare, p Prepared, formats []int16,
	values [][]byte,
) (*query, error) {
	result := []int16{0}
	if c.Binary {
		result = []int16{1}
	}
	q, err := s.bindQuery(ctx, s.scope(st), p, formats, values, result, c.Offset)
	if err == nil {
		q.offset = command.Elsewhere // FETCH is another message
	}
	return q, err
}

// fetch does FETCH and MOVE.
func (s *Session) fetch(ctx context.Context, st *state, x *step, c command.Fetch) (*result, error) {
	p, ok := st.portals[c.Name]
	if !ok {
		return nil, pgerr.New(pgerr.InvalidCursorName, `cursor "`+c.Name+`" does not exist`)
	}
	if p.query == nil {
		return nil, pgerr.New(pgerr.ObjectNotInState, `cursor "`+c.Name+`" returns no rows`)
	}
	if err := s.load(ctx, p.query); err != nil {
		return nil, err
	}
	from, to, backward, err := p.move(c)
	if err != nil {
		return nil, err
	}
	n := to - from
	r := &result{tag: "FETCH " + itoa(n), notices: p.takeNotices()}
	if c.Move {
		r.tag = "MOVE " + itoa(n)
		return r, nil
	}
	r.columns = p.query.columns
	if r.hold, err = st.memory.Take(n * (valueBytes + valueBytes*len(r.columns))); err != nil {
		return nil, err
	}
	r.rows = make([][][]byte, 0, n)
	for i := range n {
		row := p.query.rows.row(from + i)
		if backward {
			row = p.query.rows.row(to - 1 - i)
		}
		r.rows = append(r.rows, row)
	}
	if len(x.formats) > 0 {
		if err := r.transcode(x.formats); err != nil {
			r.hold.Free()
			return nil, err
		}
	}
	return r, nil
}

// takeNotices returns the query's notices once.
func (p *portal) takeNotices() []*pgconn.Notice {
	n := p.query.notices
	p.query.notices = nil
	return n
}

// move moves the cursor as PostgreSQL's DoPortalRunFetch does, and returns the rows that it passes over as a range of
// indexes. FETCH 0, RELATIVE 0 and ABSOLUTE stay on one row.
func (p *portal) move(c command.Fetch) (from, to int, backward bool, err error) {
	rows := p.query.rows.len()
	if !c.All && c.Count < 0 && c.Direction == command.Forward {
		c.Direction, c.Count = command.Backward, -c.Count
	} else if !c.All && c.Count < 0 && c.Direction == command.Backward {
		c.Direction, c.Count = command.Forward, -c.Count
	}
	if p.scroll == command.ScrollNo && p.looksBack(c) {
		return 0, 0, false, pgerr.New(pgerr.ObjectNotInState, "cursor can only scan forward",
			pgerr.Hint("Declare it with SCROLL option to enable backward scan."))
	}
	start := p.at
	switch {
	case c.Direction == command.Absolute || c.Direction == command.Relative:
		p.at = p.target(c.Direction, c.Count, rows)
	case c.Count == 0: // the current row
	case c.Direction == command.Forward:
		if p.at = rows + 1; !c.All && c.Count <= int64(rows-start) {
			p.at = start + int(c.Count)
		}
		return min(start, rows), min(p.at, rows), false, nil
	default:
		if p.at = 0; !c.All && c.Count < int64(start) {
			p.at = start - int(c.Count)
		}
		return max(p.at-1, 0), max(start-1, 0), true, nil
	}
	if p.at < 1 || p.at > rows {
		return 0, 0, false, nil
	}
	return p.at - 1, p.at, false, nil
}

// looksBack says what PostgreSQL cannot do with a NO SCROLL cursor. It steps back even to fetch the current row again,
// and ABSOLUTE starts from the first row when that is nearer than the current one.
func (p *portal) looksBack(c command.Fetch) bool {
	onRow := p.at > 0 && p.at <= p.query.rows.len()
	switch {
	case c.Direction == command.Absolute && c.Count > 0:
		if c.Count-1 <= int64(min(p.at, p.query.rows.len())/2) {
			return p.at > 0
		}
		return c.Count <= int64(p.at)
	case c.Direction == command.Absolute:
		return c.Count < 0 || p.at > 0
	case c.Count == 0:
		return onRow && !c.Move
	case c.Direction == command.Relative:
		return c.Count < 0
	}
	return c.Direction == command.Backward
}

// target returns the position that ABSOLUTE or RELATIVE asks for, at most one place before the first or after the last
// row.
func (p *portal) target(d command.Direction, count int64, rows int) int {
	position := count
	switch {
	case d == command.Relative:
		count = max(min(count, int64(rows)+1), -int64(rows)-1)
		position = int64(p.at) + count
	case count < 0:
		position = int64(rows) + 1 + max(count, -int64(rows)-1)
	}
	return int(max(0, min(position, int64(rows)+1)))
}

func (st *state) closeCursor(c command.CloseCursor) (*result, error) {
	if c.Name == "" {
		for name, p := range st.portals {
			if p.query != nil { // not the portal that runs this very command
				st.dropPortal(name)
			}
		}
		return &result{tag: "CLOSE CURSOR ALL"}, nil
	}
	if _, ok := st.portals[c.Name]; !ok {
		return nil, pgerr.New(pgerr.InvalidCursorName, `cursor "`+c.Name+`" does not exist`)
	}
	st.dropPortal(c.Name)
	return &result{tag: "CLOSE CURSOR"}, nil
}
