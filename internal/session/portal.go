package session

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// portal is a cursor, made by Bind or by DECLARE: a query, a session command, or an empty text.
type portal struct {
	name     string
	sequence int  // when it was made in its transaction; 0: it outlived that
	dead     bool // its transaction has failed since it was made: not even a COMMIT bound before runs
	outlives bool // its transaction: WITH HOLD
	scroll   command.Scroll

	bytes int         // of what was bound and described, without the query
	hold  memory.Hold // of these, while it is open, and of what a command returned
	query *query
	at    int // position: 0 before the first row, n on row n, one more than there are rows behind the last

	trace     *Trace             // of what came before it is executed
	prepared  *preparedStatement // of Bind; nil: DECLARE has made the cursor
	arguments []command.Arg      // values of a command's parameters
	formats   []int16            // result formats of a command
	done      bool               // the command has run
	columns   []pgconn.FieldDescription
	rows      [][][]byte // what the command returned
	tag       string
	inner     *query // of DECLARE
}

// Execute runs a portal, or goes on with one that was suspended.
func (s *Session) Execute(ctx context.Context, name string, maxRows uint32, w wire.ResultWriter) (err error) {
	quiet, since := true, time.Now()
	ctx = s.traced(ctx, since)
	defer func() { s.ended(ctx, since, quiet, err) }()
	p, err := s.state.portal(name)
	if err != nil {
		return err
	}
	if p.prepared != nil {
		s.trace.of(p.prepared.statement, &p.trace)
	}
	if p.query == nil && p.prepared.statement == nil {
		return w.EmptyQuery()
	}
	var c command.Command
	if p.query == nil {
		c, quiet = p.prepared.statement.Command, p.done
	}
	if err := s.state.usable(c); err != nil {
		return err
	}
	if p.dead && s.state.tx.failed {
		return errAborted
	}
	return s.timed(ctx, func(ctx context.Context) error {
		if p.query == nil {
			return s.executeCommand(ctx, p, maxRows, w)
		}
		s.state.tx.asked = true
		if maxRows == 0 && !p.query.executed {
			return s.stream(ctx, p, w)
		}
		return s.page(ctx, p, maxRows, w)
	})
}

// stream sends a whole result as it comes.
func (s *Session) stream(ctx context.Context, p *portal, w wire.ResultWriter) error {
	sent := 0
	err := s.each(ctx, p.query, func(values [][]byte) error {
		sent++
		return s.row(w, p.query.columns, values)
	})
	if err != nil {
		return err
	}
	p.at = 1 // behind the last of no stored rows
	if err := s.notify(w, p.takeNotices()); err != nil {
		return err
	}
	return w.CommandComplete(commandTag(p.query.tag, sent))
}

// page sends the next rows of a result that is kept.
func (s *Session) page(ctx context.Context, p *portal, maxRows uint32, w wire.ResultWriter) error {
	first := !p.query.executed
	if err := s.load(ctx, p.query); err != nil {
		return err
	}
	rows := &p.query.rows
	from := min(p.at, rows.len())
	to := rows.len()
	if maxRows > 0 && int64(from)+int64(maxRows) <= int64(to) {
		to = from + int(maxRows)
	}
	for i := from; i < to; i++ {
		if err := s.row(w, p.query.columns, rows.row(i)); err != nil {
			return err
		}
	}
	if first {
		if err := s.notify(w, p.takeNotices()); err != nil {
			return err
		}
	}
	if maxRows > 0 && to-from == int(maxRows) {
		p.at = to
		return w.PortalSuspended()
	}
	p.at = rows.len() + 1
	return w.CommandComplete(commandTag(p.query.tag, to-from))
}

// executeCommand runs a session command once, and pages through what it returned.
func (s *Session) executeCommand(ctx context.Context, p *portal, maxRows uint32, w wire.ResultWriter) error {
	if p.done && p.columns == nil {
		return pgerr.New(pgerr.ObjectNotInState, `portal "`+p.name+`" cannot be run`)
	}
	if !p.done {
		r, err := s.apply(ctx, s.state, &step{
			statement: *p.prepared.statement, arguments: p.arguments, formats: p.formats, query: p.inner,
		})
		if err != nil {
			return err
		}
		if err := s.notify(w, r.notices); err != nil {
			return err
		}
		p.done, p.inner = true, nil // the query of a DECLARE is the cursor's now
		if r.copying != nil {
			return s.sendCopy(ctx, r.copying, w)
		}
		if r.query != nil { // EXECUTE: from now on this portal is its query
			p.query = r.query
			if maxRows == 0 {
				return s.stream(ctx, p, w)
			}
			return s.page(ctx, p, maxRows, w)
		}
		p.columns, p.rows, p.tag = r.columns, r.rows, r.tag
		p.hold.Join(&r.hold)
	}
	return s.pageCommand(p, maxRows, w)
}

func (s *Session) pageCommand(p *portal, maxRows uint32, w wire.ResultWriter) error {
	rest := p.rows[min(p.at, len(p.rows)):]
	paged := maxRows > 0 && p.columns != nil && int64(len(rest)) >= int64(maxRows)
	if paged {
		rest = rest[:maxRows]
	}
	for _, row := range rest {
		if err := s.row(w, p.columns, row); err != nil {
			return err
		}
	}
	p.at += len(rest)
	if paged {
		return w.PortalSuspended()
	}
	return w.CommandComplete(p.tag)
}
