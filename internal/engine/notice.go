package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// notice says what the statement cost, what is left, how far each aggregate may be off, and what the policy left out.
func (p *private) notice() *pgconn.Notice {
	return &pgconn.Notice{
		Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000",
		Message: "dpproxy: " + p.paidText(),
		Detail:  strings.Join(estimate.Lines(p.figured), "\n"),
		Hint:    strings.Join(p.told(), " "),
	}
}

// paidText says which part of the budget the statement took, and for how many such statements the rest is enough.
func (p *private) paidText() string {
	left := ledger.PercentLeft(p.balance.ShareLeft) + " left"
	if p.spent.epsilon == 0 {
		return "nothing spent, " + left
	}
	return fmt.Sprintf("%s of your budget spent, %s, enough for %d like this", ledger.Percent(p.spent.share), left,
		p.balance.Enough)
}

// told are the hints of an answer: what the plan says of rows that are left out, of groups and of what would make it
// sharper, and what released values do.
func (p *private) told() []string {
	hints := append(append([]string{leftOut(p.Plan)}, p.groupHints()...), wideHint(p.Plan))
	return slices.DeleteFunc(append(hints, p.said...), func(hint string) bool { return hint == "" })
}

// leftOut says what the policy leaves out of the answer, and whether margins and intervals cover it; empty where
// nothing is left out.
func leftOut(plan *rewrite.Plan) string {
	var hints []string
	if at := slices.IndexFunc(plan.Blocks, func(b rewrite.Block) bool { return b.Picked > 0 }); at >= 0 {
		b := plan.Blocks[at]
		hints = append(
			hints,
			fmt.Sprintf(
				"Each %[1]s counts in at most %[2]d of these groups (max_groups_per_unit): rows of the same %[1]s in other groups are left out, "+
					"which margins and intervals do not cover. A group asked for alone, by WHERE, has all its rows.", b.Unit,
				b.Picked))
	}
	if at := slices.IndexFunc(plan.Blocks, func(b rewrite.Block) bool {
		return b.Rows > 0 &&
			(b.LeftOut == nil || *b.LeftOut > 0)
	}); at >= 0 {
		b := plan.Blocks[at]
		hint := fmt.Sprintf("Rows beyond max_rows_per_unit are left out: more than %[1]d of one %[2]s count as %[1]d",
			b.Rows, b.Unit)
		if b.RowsInGroup > 0 {
			hint += fmt.Sprintf(", and more than %[1]d in one group as %[1]d (max_rows_per_unit_and_group)", b.RowsInGroup)
		}
		hint += ". "
		if b.LeftOut == nil {
			hint += "How many there are is unknown: margins and intervals cover the noise alone, and the administrator can give left_out."
		} else {
			hint += fmt.Sprintf("They are at most %s%% of all rows (left_out), which the margins cover.",
				estimate.Number(100**b.LeftOut))
		}
		hints = append(hints, hint)
	}
	for _, b := range plan.Beyond {
		hints = append(hints, beyond(b))
	}
	return strings.Join(append(hints, cutNumbers(plan)...), " ")
}

// cutNumbers says which numbers of one unit count as less than they are, and which are in no group.
func cutNumbers(plan *rewrite.Plan) (hints []string) {
	say := func(format string, of ...any) {
		if hint := fmt.Sprintf(format, of...); !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	for _, text := range plan.CutConditions {
		say(
			"Numbers of one unit beyond the policy's bounds (max_rows_per_unit, per_unit) count as these in the condition %s: "+
				"there are no margins and no intervals.", text)
	}
	for _, b := range plan.Blocks {
		for _, c := range b.Columns {
			if estimate.Endless(b, c) {
				say(
					"%s has no margin: it may be small while much of both signs lies beyond bounds. Beside an average of the same it has one.", c.Name)
			}
			switch {
			case c.Cut == nil || c.Cut.Share != nil && *c.Cut.Share == 0:
			case c.Cut.Share == nil:
				say("%s of one %s beyond %s counts as that in %s (max_rows_per_unit, per_unit). How much is beyond is unknown: "+
					"there are no margins and no intervals of it, and the administrator can give left_out.", c.Cut.Of, b.Unit,
					c.Cut.To, c.Name)
			default:
				say(
					"%s of one %s beyond %s counts as that in %s (max_rows_per_unit, per_unit). At most %s%% is beyond (left_out), which the margins cover.",
					c.Cut.Of, b.Unit, c.Cut.To, c.Name, estimate.Number(100**c.Cut.Share))
			}
		}
		for _, key := range b.Beyond {
			switch {
			case key.High:
				say("Numbers of one %s beyond the policy's bounds (max_rows_per_unit, per_unit) count as these in the key %s.",
					b.Unit, key.Of)
			case key.To == "":
				say(
					"Rows are in no group where %s is of numbers of one %s beyond the policy's bounds (max_rows_per_unit, per_unit).",
					key.Of, b.Unit)
			default:
				say("Rows are in no group where %s is beyond %s (max_rows_per_unit, per_unit).", key.Of, key.To)
			}
		}
	}
	return hints
}

// beyond says what became of values beyond the bounds of columns.
func beyond(b rewrite.Beyond) string {
	columns, bounds := strings.Join(b.Columns, ", "), "its bounds"
	if len(b.Columns) > 1 {
		bounds = "their bounds"
	}
	var what, known, unknown string
	switch b.Use {
	case rewrite.BeyondCondition:
		return fmt.Sprintf(
			"Conditions that compute with %s read the nearest bound in place of a value beyond %s: there are no margins and no intervals.", columns, bounds)
	case rewrite.BeyondKey:
		return fmt.Sprintf(
			"Keys of sums read the nearest bound in place of a value of %s beyond %s: there are no margins and no intervals.",
			columns, bounds)
	case rewrite.BeyondDropped:
		return fmt.Sprintf(
			"What is answered of other groups than those of %s, or of none, misses these rows: there are no margins and no intervals of it.", columns)
	case rewrite.BeyondNoGroup:
		what = fmt.Sprintf("Rows with %s beyond %s are in no group.", columns, bounds)
	case rewrite.BeyondNearest:
		what = fmt.Sprintf("Values of %s beyond %s count as the nearest bound.", columns, bounds)
		known, unknown = ", which the margins cover",
			": margins and intervals cover the noise alone, and the administrator can give outside"
	}
	if b.Share == nil {
		return fmt.Sprintf("%s How many there are is unknown%s.", what, unknown)
	}
	return fmt.Sprintf("%s They are at most %s%% of all rows (outside)%s.", what, estimate.Number(100**b.Share), known)
}

// wideHint names the first difference of columns that a sum or an average is of, whose bounds are as far apart as the
// columns' allow: a stay of days between two dates of ten years. It follows from the plan alone; empty where there is
// none.
func wideHint(plan *rewrite.Plan) string {
	for i := range plan.Blocks {
		for _, c := range plan.Blocks[i].Columns {
			if d := c.Difference; d != nil {
				return fmt.Sprintf(
					"The bounds of %[1]s are %[2]s to %[3]s, as far apart as those of its columns allow. If values lie nearer to 0, "+
						"LEAST(GREATEST(%[1]s, low), high) takes noise off in proportion: bounds a tenth as wide leave a tenth.", d.Text,
					estimate.Amount(d.Type, d.Lo), estimate.Amount(d.Type, d.Hi))
			}
		}
	}
	return ""
}

// Released implements session.Releaser: what dpproxy.last shows follows from released values and from what is public.
func (p *private) Released() []session.Released {
	list := make([]session.Released, len(p.figured))
	for i, f := range p.figured {
		list[i] = session.Released{Column: f.Label, Epsilon: p.spent.epsilon, Place: p.placed.Of(f.Of)}
		if c := p.Column(f.Of); c != nil {
			list[i].LeftOut = p.Plan.Blocks[f.Of.Leaf().Block].LeftOut
			if c.Cut != nil {
				list[i].LeftOut = c.Cut.Share
			}
		}
		if f.Of.Leaf() == f.Of {
			noise := p.Noise(f.Of.Block, p.Column(f.Of).Releases[0])
			list[i].Mechanism, list[i].Scale = noise.Mechanism, inUnit(f.Type, noise.Scale)
		}
		if f.Known > 0 {
			margin := inUnit(f.Type, f.Most)
			list[i].Margin = &margin
		}
	}
	return list
}

// inUnit gives an amount in an aggregate's unit. Steps of times are microseconds, and their unit is the second.
func inUnit(oid uint32, v float64) float64 {
	if estimate.IsTime(oid) {
		return v * time.Microsecond.Seconds()
	}
	return v
}

// Which groups an answer has: what PostgreSQL has, as far as released values say it.

// groups is how many groups a block has; 0 under partition selection.
func groups(b *rewrite.Block) int {
	if b.Keys == nil {
		return 0
	}
	return b.Keys.Len()
}

// emptyGroups says what happens to groups of declared keys that have no rows; empty where there are none.
func emptyGroups(plan *rewrite.Plan) string {
	declared := func(b rewrite.Block) bool { return b.Keys != nil && len(b.KeyTypes) > 0 }
	switch {
	case slices.ContainsFunc(plan.Blocks, func(b rewrite.Block) bool { return declared(b) && b.DropsEmpty }):
		return "dropped"
	case slices.ContainsFunc(plan.Blocks, declared):
		return "kept"
	}
	return ""
}

// threshold is the greatest number of units below which a group of a partition selection is not shown more often than
// it is, and its block; 0 where there is no selection.
func (p *calibrated) threshold() (units int64, block int) {
	for i, m := range p.Mechanisms {
		if half, _, ok := selects(m); ok && half > units {
			units, block = half, i
		}
	}
	return units, block
}

// spread says of a block whose units weigh the less the more groups they are in what a threshold is for those that are
// in as many as one may be; empty: they weigh the same.
func (p *calibrated) spread(block int) string {
	r := p.Plan.Blocks[block].Select
	if r == nil || r.Squares == 0 {
		return ""
	}
	return fmt.Sprintf(" that are in no other group (%d where each is in %d)",
		p.Mechanisms[block].Selection.SpreadThreshold(), r.Groups)
}

// groupHints says which groups an answer has that PostgreSQL does not have, or lacks. It follows from the plan alone.
func (p *calibrated) groupHints() []string {
	var hints []string
	if units, block := p.threshold(); units > 0 {
		hints = append(
			hints,
			fmt.Sprintf(
				"Groups of fewer than about %d units (%s)%s are not shown: the keys have no declared values, so partition selection decides. "+
					"Group by columns with declared values, or ask the administrator to declare them (values).", units,
				p.Plan.Blocks[block].Unit, p.spread(block)))
	}
	if slices.ContainsFunc(p.Plan.Blocks, func(b rewrite.Block) bool { return b.Compared }) {
		hints = append(
			hints,
			"EXISTS and IN hold where released numbers of rows can be told from that of none, which is wrong in 5% at most.")
	}
	if slices.ContainsFunc(p.Plan.Blocks, func(b rewrite.Block) bool { return b.Chosen }) {
		hint := "Released values choose which groups are shown: those near a limit may be shown, or not, by the noise alone."
		if slices.ContainsFunc(p.Plan.Blocks, func(b rewrite.Block) bool { return b.Chosen && len(b.KeyTypes) > 0 }) {
			hint += " Margins are wider, such that those of all groups hold together in 95%."
		}
		hints = append(hints, hint)
	}
	unread := func(b rewrite.Block) bool {
		return b.Keys != nil && len(b.KeyTypes) > 0 && !b.DropsEmpty && len(b.Releases) == 0
	}
	if slices.ContainsFunc(p.Plan.Blocks, unread) {
		hints = append(
			hints, "No private row was read: the groups are the declared values of the keys, whether or not a row has them.")
	}
	return hints
}

// checkThreshold refuses a partition selection that shows no group, even if all rows were in one: nobody wants to pay
// for that.
func (p *calibrated) checkThreshold() error {
	for i, block := range p.Mechanisms {
		most := p.Plan.Blocks[i].MostRows
		if half, _, ok := selects(block); ok && most > 0 && half > most {
			return refusal.New(refusal.SmallGroups,
				fmt.Sprintf(
					"the answer would be empty: groups of fewer than about %d units (%s) are not shown, and there are at most %d rows",
					half, p.Plan.Blocks[i].Unit, most),
				pgerr.Hint(
					"Group by columns with declared values, raise dpproxy.epsilon, or ask the administrator to declare the values of the keys (values). Nothing was charged."))
		}
	}
	return nil
}
