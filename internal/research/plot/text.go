package plot

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// marks distinguish the lines of a text figure.
const marks = "*+ox#@%&=~"

// Text draws the figure with characters: width columns and height rows of plot, with axes and a legend.
func (f Figure) Text(width, height int) string {
	x, y := f.axes()
	cells := make([][]byte, height)
	for r := range cells {
		cells[r] = []byte(strings.Repeat(" ", width))
	}
	for k, l := range f.Lines {
		for i := range l.X {
			v := f.height(l.Y[i])
			if math.IsNaN(v) {
				continue
			}
			col := int(math.Round(x.share(l.X[i]) * float64(width-1)))
			row := int(math.Round(y.share(v) * float64(height-1)))
			cells[height-1-row][col] = f.mark(k)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Title)
	below := f.Y
	if utf8.RuneCountInString(f.Y) > 9 { // it stands above the axis instead
		below = ""
		fmt.Fprintf(&b, "%9s %s\n", "", f.Y)
	}
	for r, line := range cells {
		label, at := "", 1-float64(r)/float64(height-1)
		if f.YNames != nil {
			label = f.nameAt(y.value(at), (y.hi-y.lo)/float64(height-1))
		} else if r == 0 || r == height-1 || r == height/2 {
			label = fmt.Sprintf("%.3g", y.value(at))
		}
		fmt.Fprintf(&b, "%9s |%s\n", label, strings.TrimRight(string(line), " "))
	}
	left, right := fmt.Sprintf("%.3g", x.lo), fmt.Sprintf("%.3g %s", x.hi, f.X)
	fmt.Fprintf(&b, "%9s +%s\n%9s  %s%*s\n", below, strings.Repeat("-", width), "", left, width-len(left), right)
	for k, l := range f.Lines {
		if l.Name != "" {
			fmt.Fprintf(&b, "%10c %s\n", f.mark(k), l.Name)
		}
	}
	return b.String()
}

// nameAt is the name of a height within half a row of y.
func (f Figure) nameAt(y, row float64) string {
	i := int(math.Round(y))
	if i < 1 || i > len(f.YNames) || math.Abs(y-float64(i)) > row/2 {
		return ""
	}
	return f.YNames[i-1]
}

// mark is a line's character: that of its first line where several have one colour and are not told apart by dashes.
func (f Figure) mark(k int) byte {
	for i, l := range f.Lines[:k] {
		if l.Color > 0 && l.Color == f.Lines[k].Color && l.Dashed == f.Lines[k].Dashed {
			k = i
			break
		}
	}
	return marks[k%len(marks)]
}
