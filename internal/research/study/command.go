package study

// Command is `dpproxy mechanism`, a kong command. Its branches print to the io.Writer that kong is given with
// kong.BindTo(os.Stdout, (*io.Writer)(nil)).
type Command struct {
	Table  TableCmd  `cmd:"" help:"Scale, exact loss and error of every mechanism for one range."`
	Verify VerifyCmd `cmd:"" help:"Prove by enumeration that no selectable mechanism exceeds its guarantee."`
	Narrow NarrowCmd `cmd:"" help:"On short ranges: what auto takes against the least error that ε-DP permits."`
	Plot   PlotCmd   `cmd:"" help:"Draw densities, errors and the papers' figure, as SVG and text."`
}
