package policy

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// maxSteps bounds a column's range in grid steps: 2^53, exact in float8 and far from overflow in int64 sums of
// products.
var maxSteps = new(big.Rat).SetInt64(1 << 53)

// columns reads a mapping; of a public table also a plain list of names.
func (d *document) columns(n *yaml.Node, path string, t *Table, grid gridLiteral, method Method) {
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			t.Columns = append(t.Columns, &Column{Name: item.Value})
		}
		return
	}
	for name, node := range entries(n) {
		c := &Column{Name: name}
		t.Columns = append(t.Columns, c)
		d.column(node, child(path, name), t, c, grid, method)
	}
}

// columnFile is what a policy file says otherwise than Column does.
type columnFile struct {
	*Column   `yaml:",inline"`
	Bounds    *boundsLiteral
	Valid     []boundsLiteral
	PerUnit   *boundsLiteral `yaml:"per_unit"`
	Grid      gridLiteral
	Mechanism *choice
	OfOneUnit yaml.Node `yaml:"of_one_unit"`
	Rows      yaml.Node `yaml:"max_rows_per_unit_and_group"`
}

func (d *document) column(n *yaml.Node, path string, t *Table, c *Column, grid gridLiteral, method Method) {
	f := columnFile{Column: c}
	if err := n.Decode(&f); err != nil {
		d.fail(path, "%s", err)
		return
	}
	if f.Bounds != nil {
		f.Bounds.noteFirst(d, child(path, "bounds"))
	}
	d.valid(path, &f)
	if f.Bounds != nil {
		c.Bounds = f.Bounds.text()
	} else {
		for _, key := range []string{"outside", "per_unit", "grid"} {
			if d.has(child(path, key)) && !d.has(child(path, "bounds")) {
				d.fail(child(path, key), "needs the key bounds in the same column")
			}
		}
	}
	d.perUnit(child(path, "per_unit"), &f)
	d.grid(child(path, "grid"), &f, grid)
	if f.Mechanism != nil {
		c.Mechanism = (*mechanism.Choice)(f.Mechanism)
		d.mechanism(child(path, "mechanism"), *c.Mechanism, method)
	}
	d.ofOneUnit(child(path, "of_one_unit"), &f.OfOneUnit, t, c)
	d.rowsPerGroup(child(path, "max_rows_per_unit_and_group"), &f.Rows, t, c)
}

// ofOneUnit reads true, or the column that says whose each value is.
func (d *document) ofOneUnit(path string, n *yaml.Node, t *Table, c *Column) {
	switch {
	case n.IsZero():
	case t.Public:
		d.fail(path, "has no meaning for a public table")
	case kindOf(n) == "boolean":
		var one bool
		if err := n.Decode(&one); err == nil && one {
			c.OfOneUnit = &ColumnOf{t.Name, c.Name}
		}
	default:
		column, err := columnOf(n.Value)
		if err != nil {
			d.fail(path, "must be true, or the column whose values these are: %s", err)
			return
		}
		c.OfOneUnit = &column
	}
}

func (d *document) perUnit(path string, f *columnFile) {
	switch perUnit := f.PerUnit; {
	case perUnit == nil || f.Bounds == nil:
	case perUnit.kind() != bound.Number && perUnit.kind() != bound.Interval && perUnit.kind() != bound.Clock:
		d.fail(path, "a sum is a number or an interval, not %s", perUnit.kind().Noun())
	case !perUnit.comparable(f.Bounds):
		d.fail(path, "is %s range, but bounds is %s range", perUnit.kind().Noun(), f.Bounds.kind().Noun())
	default:
		f.Column.PerUnit = perUnit.text()
	}
}

// grid also lets the table's grid reach the columns whose kind it fits.
func (d *document) grid(path string, f *columnFile, inherited gridLiteral) {
	own, step := d.has(path), f.Grid
	if !own {
		step = inherited
	}
	switch {
	case step.at == nil || f.Bounds == nil:
		return
	case own && !step.fits(f.Bounds.kind()):
		d.fail(path, "is not a step of %s", f.Bounds.kind().Noun())
		return
	case !step.fits(f.Bounds.kind()):
		return
	}
	width := new(big.Rat).Sub(f.Bounds.hi.At, f.Bounds.lo.At)
	switch steps := new(big.Rat).Quo(width, step.at); {
	case width.Sign() > 0 && own && step.at.Cmp(width) > 0:
		d.fail(path, "is wider than the bounds")
	case steps.Cmp(maxSteps) > 0:
		d.fail(path, "the bounds are more than 2^53 grid steps apart")
	default:
		f.Column.Grid = &step.Grid
	}
}

// noteFirst notes that the upper bound is the first instant of a month. It is a value of the column, so that answers by
// month or year have a group for it.
func (b *boundsLiteral) noteFirst(d *document, path string) {
	instants := []bound.Kind{bound.Date, bound.Timestamp, bound.TimestampTZ}
	if !slices.Contains(instants, b.kind()) || b.lo.At.Cmp(b.hi.At) == 0 || !b.hi.At.IsInt() {
		return
	}
	hi := time.UnixMicro(b.hi.At.Num().Int64()).UTC()
	if hi.Day() != 1 || !hi.Truncate(24*time.Hour).Equal(hi) {
		return
	}
	before := hi.AddDate(0, 0, -1).Format(time.DateOnly)
	d.note(
		path,
		"the upper bound is a value of the column, so answers by month or year have a group of %s: where the data end before, write %s, or of a time \"%s 23:59:59.999999\"",
		hi.Format("2006-01"), before, before)
}

// valid checks [[8,12],[14,18]], which may have any order. Without bounds, their hull is the bounds.
func (d *document) valid(path string, f *columnFile) {
	ranges, at := f.Valid, child(path, "valid")
	if len(ranges) == 0 {
		return
	}
	slices.SortStableFunc(ranges, func(a, b boundsLiteral) int { return cmp.Compare(a.lo.At.Cmp(b.lo.At), 0) })
	for i := 1; i < len(ranges); i++ {
		a, b := ranges[i-1], ranges[i]
		if !a.comparable(&b) {
			d.fail(at, "mixes %s range and %s range", a.kind().Noun(), b.kind().Noun())
			return
		}
		if b.lo.At.Cmp(a.hi.At) <= 0 {
			d.fail(at, "[%s, %s] and [%s, %s] overlap", a.lo.Text, a.hi.Text, b.lo.Text, b.hi.Text)
			return
		}
	}
	for _, r := range ranges {
		f.Column.Valid = append(f.Column.Valid, *r.text())
	}
	hull := &boundsLiteral{ranges[0].lo, ranges[len(ranges)-1].hi}
	switch bounds := f.Bounds; {
	case bounds == nil:
		f.Bounds = hull
	case !bounds.comparable(hull):
		d.fail(at, "is %s range, but bounds is %s range", hull.kind().Noun(), bounds.kind().Noun())
	case hull.lo.At.Cmp(bounds.lo.At) < 0 || hull.hi.At.Cmp(bounds.hi.At) > 0:
		d.fail(at, "%s to %s reaches outside the bounds %s to %s", hull.lo.Text, hull.hi.Text, bounds.lo.Text, bounds.hi.Text)
	}
}
