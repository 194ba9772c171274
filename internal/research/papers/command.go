package papers

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// Command is `dpproxy paper`, a kong command. Its branches print to the io.Writer that kong is given with
// kong.BindTo(os.Stdout, (*io.Writer)(nil)).
type Command struct {
	ChenHale chenHaleCmd `cmd:"" help:"Chen and Hale, the bounded Gaussian mechanism: table 1, figure 1, densities on a box."`
	Fu       fuCmd       `cmd:"" help:"Fu et al., truncated noise under Rényi privacy: both algorithms at a given scale, figures 1 and 2."`
	Croft    croftCmd    `cmd:"" help:"Croft et al., truncated Laplace noise: table 2, lemmas 7 to 10 on unions, figures 1 and 2."`
}

// output is where a page goes.
type output struct {
	Out string `help:"Folder for the page and its figures, as text and SVG; made if it does not exist." placeholder:"DIR" type:"path"`
}

type chenHaleCmd struct{ output }

// Run prints the page, or writes it.
func (c *chenHaleCmd) Run(out io.Writer) error { return c.put(out, chenHale) }

type croftCmd struct{ output }

// Run prints the page, or writes it.
func (c *croftCmd) Run(out io.Writer) error { return c.put(out, croft) }

type fuCmd struct {
	output
	Sigma  float64 `help:"σ of algorithm 1, in units of the sensitivity." placeholder:"S" default:"3"`
	Lambda float64 `help:"λ of algorithm 2, in units of the sensitivity." placeholder:"S" default:"1"`
}

// Run prints the page, or writes it.
func (c *fuCmd) Run(out io.Writer) error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"--sigma", c.Sigma}, {"--lambda", c.Lambda}} {
		if !(f.value >= minScale && f.value <= maxScale) || math.IsNaN(f.value) {
			return fmt.Errorf("%s is %g: it must be between %g and %g", f.name, f.value, minScale, maxScale)
		}
	}
	return c.put(out, func() (page, error) { return fu(c.Sigma, c.Lambda) })
}

func (o output) put(out io.Writer, build func() (page, error)) error {
	p, err := build()
	if err != nil {
		return err
	}
	if o.Out == "" {
		_, err := io.WriteString(out, p.text())
		return err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	name := filepath.Join(o.Out, p.name+".txt")
	if err := os.WriteFile(name, []byte(p.text()), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(out, name)
	for _, f := range p.figures() {
		name, err := f.Save(o.Out)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, name)
	}
	return nil
}
