package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Of statements that are asked together (a workload: the rest of a message, or dpproxy.workload) one that is a slice of
// a table is asked as that table, at no higher price and with no more noise, if others are slices of it, too: these
// follow from what is kept (docs/privacy.md P23d).

// askedTable is a statement that another is asked as.
type askedTable struct {
	*private
	slice  origins
	others int // of the workload, that follow from it as well
}

// inTables has statements charged and measured as their tables.
type inTables struct{ releaser }

// charge charges the table of a statement, unless the statement's own answer is known by now.
func (k inTables) charge(ctx context.Context, scope session.Scope, p *private) error {
	if p.table != nil && p.answer == nil {
		if err := p.findAnswer(ctx); err != nil {
			return err
		}
	}
	if p.answer != nil {
		p.table = nil
	}
	if p.table == nil {
		return k.releaser.charge(ctx, scope, p)
	}
	err := k.releaser.charge(ctx, scope, p.table.private)
	p.spent, p.balance, p.account = p.table.spent, p.table.balance, p.table.account
	return err
}

// measure has the table of a statement measured, and takes the slice.
func (k inTables) measure(ctx context.Context, p *private) ([]released, error) {
	if p.table == nil {
		return k.releaser.measure(ctx, p)
	}
	_, err := k.releaser.measure(ctx, p.table.private)
	p.spent, p.balance, p.account = p.table.spent, p.table.balance, p.table.account
	if err != nil {
		return nil, err
	}
	p.take(p.table.slice)
	return p.answer, nil
}

// workload lists the other statements.
func (c *call) workload() (list []*rewrite.Statement) {
	all := c.scope.Workload
	if text := c.scope.Settings.Workload(); text != "" {
		named, err := c.engine.Parse(text)
		if err != nil { // it was parsed under another policy
			return nil
		}
		all = slices.Concat(all, named)
	}
	for _, st := range all[:min(len(all), session.MostTogether)] {
		if p, ok := st.Parsed.(parsed); ok {
			list = append(list, p.statement)
		}
	}
	return list
}

// beside is another statement under the same settings.
func (c *call) beside(st *rewrite.Statement) *call {
	return &call{
		engine: c.engine, scope: c.scope, sql: st.SQL, prepared: &prepared{parsed: parsed{c.engine, st}},
	}
}

// findTable has a statement asked as the table that most others of its workload follow from, if there is one.
func (p *private) findTable(ctx context.Context, others []*rewrite.Statement) {
	if len(others) == 0 || p.key == "" || !p.atOnce() {
		return
	}
	defer p.engine.stage(ctx, "plan", time.Now())
	ctx = session.WithTrace(ctx, nil) // which would have the stages of all of them
	st, explains := p.prepared.statement, p.analysis.explain != nil
	if explains {
		st = p.analysis.explain.Inner
	}
	statements, err := rewrite.Tables(st, p.state.policy.Limits.SQLBytes)
	if err != nil {
		return
	}
	var tables []*askedTable
	for _, st := range statements {
		if t := p.asTable(ctx, st); t != nil {
			tables = append(tables, t)
		}
	}
	seen := map[string]bool{p.Plan.Fingerprint: true}
	for _, st := range others {
		if len(tables) == 0 || ctx.Err() != nil {
			return
		}
		m := p.beside(st).now(ctx, p.state)
		if m == nil || !explains && m.analysis.explain != nil || seen[m.Plan.Fingerprint] {
			continue
		}
		seen[m.Plan.Fingerprint] = true
		for _, t := range tables {
			if m.sliceOf(ctx, t.private) != nil {
				t.others++
			}
		}
	}
	for _, t := range tables {
		if t.others > 0 && (p.table == nil || t.others > p.table.others) {
			p.table = t
		}
	}
	if p.table != nil && !p.table.answers(ctx, p) {
		p.table = nil
	}
}

// answers says that main would take the table's queries, or that its answer is kept and still the slice's.
func (t *askedTable) answers(ctx context.Context, p *private) bool {
	t.account.Fingerprint = t.Plan.Fingerprint
	switch err := t.findKept(ctx); {
	case err != nil:
		return false
	case t.answer != nil:
		t.slice = p.sliceOf(ctx, t.private)
		return t.slice != nil
	}
	return t.certified(t.calibrated) == nil && t.checkMeasure(ctx, t.calibrated) == nil
}

// atOnce says that the statement is charged at once, by its ε.
func (p *private) atOnce() bool { return p.releases() && p.look == nil && p.byEpsilon() }

// asTable is the statement as it would be asked as a table; nil: that costs more, or tells less of it.
func (p *private) asTable(ctx context.Context, st *rewrite.Statement) *askedTable {
	c := p.beside(st)
	c.formats, c.values, c.prepared.types = p.formats, p.values, p.analysis.parameters
	of := c.now(ctx, p.state)
	if of == nil || !of.atOnce() || !keepable(of.Plan) || !p.pays(of.calibrated) {
		return nil
	}
	if exact, _ := workingMemory(of.Plan, nil); p.scope.Memory.CanWork(exact) != nil {
		return nil
	}
	slice := p.sliceOf(ctx, of)
	if slice == nil {
		return nil
	}
	return &askedTable{private: of, slice: slice}
}

// pays says that another statement takes no more of the budget.
func (p *calibrated) pays(of *calibrated) bool {
	return p.budget.taken(of.charge) <= p.budget.taken(p.charge)*widerRounding
}

// sliceOf says how a statement is a part of another's groups, with no more noise and nothing more left out; nil: it is
// not.
func (p *private) sliceOf(ctx context.Context, of *private) origins {
	found := make(found, len(p.Plan.Blocks))
	if found.add(ctx, p, of) != nil {
		return nil
	}
	slice := p.madeOfFound(found, widerRounding)
	for i, d := range slice {
		s := d.sources[0]
		b, o := &p.Plan.Blocks[i], &of.Plan.Blocks[s.block]
		if s.Most > 1 || o.Rows != b.Rows || o.RowsInGroup != b.RowsInGroup || o.Uncovered && !b.Uncovered ||
			!reflect.DeepEqual(o.LeftOut, b.LeftOut) {
			return nil
		}
	}
	return slice
}

// asked says what a statement is asked as; empty: as itself.
func (t *askedTable) asked() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("Asked as %s, from which others of the workload follow: %d.", shortened(t.sql), t.others)
}

// workloadPrice is what a statement and its workload would take, asked in this order.
type workloadPrice struct {
	asked   int     // different statements that read private rows, and are not refused
	charged int     // of these
	share   float64 // of the budget, together
}

// priceOf finds what statements would take of the budget, asked one after the other as one workload, without those that
// are refused.
func (c *call) priceOf(ctx context.Context, list []*rewrite.Statement) (out workloadPrice, err error) {
	hold := c.scope.Memory.Hold()
	defer hold.Free()
	seen := map[string]bool{}
	var paid []*private
	var charges []ledger.Charge
	for i, st := range list {
		p := c.beside(st).now(ctx, c.state)
		if p == nil || seen[p.Plan.Fingerprint] {
			continue
		}
		if err := p.findAnswer(ctx); err != nil {
			return out, err
		}
		out.asked, seen[p.Plan.Fingerprint] = out.asked+1, true
		if p.answer != nil || !p.releases() || p.followsFrom(ctx, paid) {
			continue
		}
		p.findTable(ctx, list[i+1:])
		if p.table != nil {
			p = p.table.private
		}
		if p.answer != nil {
			continue
		}
		if err := hold.Grow(p.Bytes()); err != nil {
			return out, err
		}
		charge := p.calibrated.charge
		if p.look != nil || p.chargedInParts() {
			charge = p.mostCharge()
		}
		paid, charges = append(paid, p), append(charges, charge)
	}
	if out.charged = len(charges); out.charged == 0 {
		return out, ctx.Err()
	}
	after, err := c.engine.ledger.Preview(ctx, c.scope.Analyst, charges)
	for _, share := range after.Shares {
		out.share += share
	}
	return out, err
}

// followsFrom says whether the statement would follow from the answers to others.
func (p *private) followsFrom(ctx context.Context, others []*private) bool {
	found := make(found, len(p.Plan.Blocks))
	for _, of := range others {
		if found.add(ctx, p, of) != nil {
			return false
		}
	}
	return p.key != "" && p.madeOfFound(found, p.mostWider()) != nil
}

// ofWorkload is the line of EXPLAIN; empty: the statement has no workload.
func (p *private) ofWorkload(ctx context.Context) (string, error) {
	others := p.workload()
	if len(others) == 0 {
		return "", nil
	}
	all, err := p.priceOf(ctx, append([]*rewrite.Statement{p.prepared.statement}, others...))
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return "all together would be refused: " + refused.Message, nil
	}
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s of your budget for all; charged are %d of %d different statements.", ledger.Percent(all.share),
		all.charged, all.asked)
	if p.answer == nil {
		p.findTable(ctx, others)
		text += " " + p.table.asked()
	}
	return strings.TrimSpace(text), nil
}
