package study

import (
	"fmt"
	"math"
	"strings"
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
			if f.LogY && v <= 0 {
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
			if f.LogY && v <= 0 {
				continue
			}
			col := int(math.Round((x(l.X[i]) - x0) / (x1 - x0) * float64(width-1)))
			row := int(math.Round((y(v) - y0) / (y1 - y0) * float64(height-1)))
			cells[height-1-row][col] = marks[k%len(marks)]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Title)
	for r, line := range cells {
		label := ""
		if r == 0 || r == height-1 || r == height/2 {
			label = fmt.Sprintf("%.3g", inverse(f.LogY, y1-(y1-y0)*float64(r)/float64(height-1)))
		}
		fmt.Fprintf(&b, "%9s |%s\n", label, strings.TrimRight(string(line), " "))
	}
	left, right := fmt.Sprintf("%.3g", inverse(f.LogX, x0)), fmt.Sprintf("%.3g %s", inverse(f.LogX, x1), f.X)
	fmt.Fprintf(&b, "%9s +%s\n%9s  %s%*s\n", f.Y, strings.Repeat("-", width), "", left, width-len(left), right)
	for k, l := range f.Lines {
		fmt.Fprintf(&b, "%10c %s\n", marks[k%len(marks)], l.Name)
	}
	return b.String()
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
