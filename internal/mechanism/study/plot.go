package study

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// PlotCmd draws the figures: as text on the terminal, and as SVG and PNG files.
type PlotCmd struct {
	Out string `help:"Folder for the SVG and PNG files; made if it does not exist." placeholder:"DIR" default:"." type:"path"`
}

// Run draws. It prints the text figures and the names of the files that it wrote.
func (c *PlotCmd) Run(out io.Writer) error {
	figures, err := Figures()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return err
	}
	for _, f := range figures {
		fmt.Fprintln(out, f.Text(72, 18))
	}
	for _, f := range figures {
		names, err := f.Save(c.Out)
		if err != nil {
			return err
		}
		for _, name := range names {
			fmt.Fprintln(out, name)
		}
	}
	return nil
}

// Save writes the figure as an SVG and a PNG file into a folder, and returns their names.
func (f Figure) Save(folder string) (names []string, err error) {
	p, err := f.plot()
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{"svg", "png"} {
		name := filepath.Join(folder, f.Name+"."+kind)
		if err := p.Save(8*vg.Inch, 5*vg.Inch, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		names = append(names, name)
	}
	return names, nil
}

func (f Figure) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = vg.Points(8), vg.Points(4), vg.Points(4)
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{log: f.LogX}, ticks{log: f.LogY}
	if f.LogX {
		p.X.Scale = plot.LogScale{}
	}
	if f.LogY {
		p.Y.Scale = plot.LogScale{}
	}
	if f.YNames == nil {
		p.Add(plotter.NewGrid())
	}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = !f.LegendBottom, f.LegendLeft, vg.Points(3)
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(-8), vg.Points(-8)
	if f.LegendLeft {
		p.Legend.XOffs = vg.Points(8)
	}
	if f.LegendBottom {
		p.Legend.YOffs = vg.Points(8)
	}
	for i, l := range f.Lines {
		if err := f.draw(p, i, l); err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.Name, err)
		}
	}
	if f.FromZero {
		p.Y.Min = 0
	}
	if err := f.shade(p); err != nil {
		return nil, err
	}
	if f.LegendRoom {
		p.X.Tick.Marker = ticks{log: f.LogX, last: p.X.Max}
		p.X.Max += .35 * (p.X.Max - p.X.Min)
	}
	if n := len(f.YNames); n > 0 {
		var names []plot.Tick
		for i, name := range f.YNames {
			names = append(names, plot.Tick{Value: float64(i + 1), Label: name})
		}
		p.Y.Tick.Marker, p.Y.Min, p.Y.Max = plot.ConstantTicks(names), .5, float64(n)+.5
	}
	return p, nil
}

// draw adds one line, in pieces where it is broken.
func (f Figure) draw(p *plot.Plot, i int, l Line) error {
	color := l.Color
	if color == 0 {
		color = i + 1
	}
	var pieces []plotter.XYs
	var piece plotter.XYs
	for j := range l.X {
		if math.IsNaN(l.Y[j]) {
			pieces, piece = append(pieces, piece), nil
			continue
		}
		piece = append(piece, plotter.XY{X: l.X[j], Y: f.capped(l.Y[j])})
	}
	named := l.Name == ""
	for _, points := range append(pieces, piece) {
		if len(points) == 0 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = plotutil.Color(color-1), vg.Points(1.3)
		if l.Dashed || color > len(plotutil.DefaultColors) { // a colour comes again
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(line)
		if f.YNames != nil {
			line.Width = vg.Points(5)
		}
		if !named {
			p.Legend.Add(l.Name, line)
			named = true
		}
	}
	return nil
}

// shade adds the bands, over the whole height that the lines take.
func (f Figure) shade(p *plot.Plot) error {
	lo, hi := p.Y.Min, p.Y.Max
	for i, b := range f.Bands {
		area, err := plotter.NewPolygon(plotter.XYs{{X: b.Lo, Y: lo}, {X: b.Hi, Y: lo}, {X: b.Hi, Y: hi}, {X: b.Lo, Y: hi}})
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = color.NRGBA{R: 220, G: 60, B: 60, A: 50}, 0
		p.Add(area)
		if i == 0 {
			p.Legend.Add(b.Name, area)
		}
	}
	return nil
}

// ticks are round numbers: multiples of 1, 2 or 5 times a power of ten, or, on logarithmic axes, those numbers themselves.
type ticks struct {
	log  bool
	last float64 // none beyond it, where it is set
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(lo, hi float64) (list []plot.Tick) {
	if t.last != 0 {
		hi = t.last
	}
	label := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	if !t.log {
		power := math.Pow(10, math.Floor(math.Log10((hi-lo)/5)))
		step := power
		for _, m := range []float64{2, 5, 10} {
			if (hi-lo)/step > 8 {
				step = m * power
			}
		}
		for i := math.Ceil(lo/step - 1e-9); i*step <= hi+1e-9*step; i++ {
			v := i * step
			if v == 0 {
				v = 0 // not -0
			}
			list = append(list, plot.Tick{Value: v, Label: label(v)})
		}
		return list
	}
	many := math.Log10(hi/lo) > 3
	for power := math.Floor(math.Log10(lo)); power <= math.Log10(hi); power++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, power)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: v}
			if m == 1 || !many && (m == 2 || m == 5) {
				tick.Label = label(v)
			}
			list = append(list, tick)
		}
	}
	return list
}
