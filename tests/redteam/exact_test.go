package redteam_test

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// exact is what the measure queries of one block return on one database, by group.
type exact struct {
	units  map[string]int64              // under selection
	values map[string]map[int]int64      // group → release → integer; what is not there is 0
	bins   map[string]map[[2]int64]int64 // group → (release, step) → rows
}

// collect reads the results of a block's queries as the proxy does, and finds fault with rows that it would not mind: a
// group that comes twice, or is none of the block's.
func (b block) collect(results [][][][]byte) (*exact, error) {
	e := &exact{map[string]int64{}, map[string]map[int]int64{}, map[string]map[[2]int64]int64{}}
	if b.Measure != "" {
		for _, row := range results[0] {
			group, integers, err := b.group(row)
			if err != nil {
				return nil, err
			}
			if e.values[group] != nil {
				return nil, fmt.Errorf("group %s comes twice", group)
			}
			e.values[group] = map[int]int64{}
			if b.Selection != nil {
				if len(integers) == 0 {
					return nil, fmt.Errorf("a selected group without its number of units")
				}
				e.units[group], integers = integers[0], integers[1:]
			}
			if len(integers) != len(b.Measured) {
				return nil, fmt.Errorf("%d integers for %d releases", len(integers), len(b.Measured))
			}
			for i, release := range b.Measured {
				e.values[group][release] = integers[i]
			}
		}
		results = results[1:]
	}
	for i, h := range b.Histograms {
		for _, row := range results[i] {
			group, integers, err := b.group(row)
			if err != nil {
				return nil, err
			}
			if len(integers) != 2 {
				return nil, fmt.Errorf("a histogram's row has %d integers", len(integers))
			}
			if e.bins[group] == nil {
				e.bins[group] = map[[2]int64]int64{}
			}
			for _, release := range h.Releases {
				e.bins[group][[2]int64{int64(release), integers[0]}] += integers[1]
			}
		}
	}
	return e, nil
}

// group reads what a row begins with, and the integers behind it.
func (b block) group(row [][]byte) (string, []int64, error) {
	first, name := 0, ""
	if b.Selection != nil || b.ByKey {
		first = b.KeyColumns
		for _, key := range row[:first] {
			name += strconv.Quote(string(key)) + map[bool]string{true: "N", false: ""}[key == nil] + " "
		}
	}
	var integers []int64
	for i, text := range row[first:] {
		n, err := integer(text)
		if err != nil {
			return "", nil, fmt.Errorf("column %d: %w", first+i+1, err)
		}
		integers = append(integers, n)
	}
	if b.Selection != nil || b.ByKey {
		return name, integers, nil
	}
	if len(integers) == 0 || row[0] == nil || integers[0] < 1 || integers[0] > int64(b.Keys) {
		return "", nil, fmt.Errorf("%v is no row of a group from 1 to %d", integers, b.Keys)
	}
	return strconv.FormatInt(integers[0], 10), integers[1:], nil
}

// integer reads an integer that may have the empty fraction of a numeric; NULL is the sum over no rows.
func integer(text []byte) (int64, error) {
	if text == nil {
		return 0, nil
	}
	whole, fraction, _ := strings.Cut(string(text), ".")
	if strings.Trim(fraction, "0") != "" {
		return 0, fmt.Errorf("%s is no integer", text)
	}
	return strconv.ParseInt(whole, 10, 64)
}

// same says how two measurements of one database differ: groups of zeros are none.
func (e *exact) same(other *exact) error {
	if a, b := e.text(), other.text(); a != b {
		return fmt.Errorf("the same rows give other integers\n  %s\n  %s", a, b)
	}
	return nil
}

func (e *exact) text() string {
	var lines []string
	add := func(n int64, format string, args ...any) {
		if n != 0 {
			lines = append(lines, fmt.Sprintf(format, args...)+"="+strconv.FormatInt(n, 10))
		}
	}
	for group, n := range e.units {
		add(n, "%s units", group)
	}
	for group, values := range e.values {
		for release, n := range values {
			add(n, "%s:%d", group, release)
		}
	}
	for group, bins := range e.bins {
		for bin, n := range bins {
			add(n, "%s:%d@%d", group, bin[0], bin[1])
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, " ")
}

// neighbours holds the measurements of two databases that differ in one unit against what was charged.
func (b block) neighbours(x, y *exact) error {
	groups := map[string]bool{}
	for _, e := range []*exact{x, y} {
		for g := range e.values {
			groups[g] = true
		}
		for g := range e.bins {
			groups[g] = true
		}
	}
	if b.Selection != nil {
		if _, err := b.Selection.covers(groups, func(g string) int64 { return distance(x.units[g], y.units[g]) }); err != nil {
			return err
		}
	}
	rows, mostRows := map[string]int64{}, int64(0)
	layers, families := map[int]float64{}, map[int]float64{}
	for i, r := range b.Releases {
		moved := func(g string) int64 { return distance(x.values[g][i], y.values[g][i]) }
		if r.Kind == "quantile" {
			moved = func(g string) int64 { return rowsMoved(int64(i), x.bins[g], y.bins[g]) }
		}
		total, err := r.covers(groups, moved)
		if err != nil {
			return err
		}
		if r.Layer > 0 {
			share := float64(total) / float64(r.Total)
			if r.Family > 0 { // its rows count once
				share, families[r.Family] = max(0, share-families[r.Family]), max(share, families[r.Family])
			}
			if layers[r.Layer] += share; layers[r.Layer] > 1+1e-9 {
				return fmt.Errorf("the releases of layer %d move by %g of what is charged for one of them", r.Layer,
					layers[r.Layer])
			}
		}
		if r.Row > 0 {
			mostRows = r.Total / r.Row
			for g := range groups {
				rows[g] = max(rows[g], (moved(g)+r.Row-1)/r.Row)
			}
		}
	}
	all := int64(0)
	for _, n := range rows {
		all += n
	}
	if all > mostRows {
		return fmt.Errorf("what rows bound moves as by %d rows in all groups; charged: %d", all, mostRows)
	}
	return nil
}

// covers says how a release moves further, or in more groups, than was charged; and by how much it moves all groups
// together.
func (c charge) covers(groups map[string]bool, moved func(string) int64) (total int64, err error) {
	n := 0
	for g := range groups {
		d := moved(g)
		if d > c.Sensitivity {
			return 0, fmt.Errorf("%s moves by %d in group %s; charged: %d", c.Name, d, g, c.Sensitivity)
		}
		if d > 0 {
			n++
		}
		total += d
	}
	switch {
	case n > c.Groups:
		return 0, fmt.Errorf("%s moves in %d groups; charged: %d", c.Name, n, c.Groups)
	case total > c.Total:
		return 0, fmt.Errorf("%s moves by %d in all groups; charged: %d", c.Name, total, c.Total)
	}
	return total, nil
}

func distance(a, b int64) int64 { return max(a, b) - min(a, b) }

// rowsMoved is the number of rows that two histograms of a release do not share.
func rowsMoved(release int64, a, b map[[2]int64]int64) int64 {
	moved := int64(0)
	for bin, n := range a {
		if bin[0] == release {
			moved += distance(n, b[bin])
		}
	}
	for bin, n := range b {
		if _, both := a[bin]; bin[0] == release && !both {
			moved += n
		}
	}
	return moved
}
