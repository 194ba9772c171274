package study

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
	x, y := axis(f.LogX), axis(f.LogY)
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range f.Lines {
		for i := range l.X {
			v := f.capped(l.Y[i])
			if math.IsNaN(v) || f.LogY && v <= 0 {
				continue
			}
			x0, x1 = math.Min(x0, x(l.X[i])), math.Max(x1, x(l.X[i]))
			y0, y1 = math.Min(y0, y(v)), math.Max(y1, y(v))
		}
	}
	cells := make([][]byte, height)
	for r := range cells {
		cells[r] = []byte(strings.Repeat(" ", width))
	}
	for k, l := range f.Lines {
		for i := range l.X {
			v := f.capped(l.Y[i])
			if math.IsNaN(v) || f.LogY && v <= 0 {
				continue
			}
			col := int(math.Round((x(l.X[i]) - x0) / (x1 - x0) * float64(width-1)))
			row := int(math.Round((y(v) - y0) / (y1 - y0) * float64(height-1)))
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
		label := ""
		if f.YNames != nil {
			label = f.nameAt(y1-(y1-y0)*float64(r)/float64(height-1), (y1-y0)/float64(height-1))
		} else if r == 0 || r == height-1 || r == height/2 {
			label = fmt.Sprintf("%.3g", inverse(f.LogY, y1-(y1-y0)*float64(r)/float64(height-1)))
		}
		fmt.Fprintf(&b, "%9s |%s\n", label, strings.TrimRight(string(line), " "))
	}
	left, right := fmt.Sprintf("%.3g", inverse(f.LogX, x0)), fmt.Sprintf("%.3g %s", inverse(f.LogX, x1), f.X)
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

func (f Figure) capped(y float64) float64 {
	if f.MaxY > 0 {
		return math.Min(y, f.MaxY)
	}
	return y
}

func axis(log bool) func(float64) float64 {
	if log {
		return math.Log10
	}
	return func(v float64) float64 { return v }
}

func inverse(log bool, v float64) float64 {
	if log {
		return math.Pow(10, v)
	}
	return v
}
