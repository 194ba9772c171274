package study

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

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
		for _, kind := range []string{"svg", "png"} {
			name := filepath.Join(c.Out, f.Name+"."+kind)
			if err := f.save(name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Fprintln(out, name)
		}
	}
	return nil
}

// save writes one figure; the name's ending says how.
func (f Figure) save(name string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, f.LegendLeft
	for i, l := range f.Lines {
		points := make(plotter.XYs, len(l.X))
		for j := range l.X {
			y := l.Y[j]
			if f.MaxY > 0 && y > f.MaxY {
				y = f.MaxY
			}
			points[j] = plotter.XY{X: l.X[j], Y: y}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i/4), vg.Points(1.3)
		p.Add(line)
		p.Legend.Add(l.Name, line)
	}
	return p.Save(8*vg.Inch, 5*vg.Inch, name)
}
