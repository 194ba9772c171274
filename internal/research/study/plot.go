package study

import (
	"fmt"
	"io"
	"os"
)

// PlotCmd draws the figures: as text on the terminal, and as SVG files.
type PlotCmd struct {
	Out string `help:"Folder for the SVG files; made if it does not exist." placeholder:"DIR" default:"." type:"path"`
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
		name, err := f.Save(c.Out)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, name)
	}
	return nil
}
