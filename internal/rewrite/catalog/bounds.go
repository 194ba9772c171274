package catalog

import (
	"fmt"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// maxExpansion bounds what a single call may make out of nothing, in rows or characters. Statement time-outs bound the
// rest; this keeps one line from filling the server's memory before they fire.
const maxExpansion = 1_000_000

// bounded checks the arguments of functions whose result is as large as an argument says.
func (c *checker) bounded(name string, f *pg_query.FuncCall) error {
	at := int(f.Location)
	switch name {
	case "repeat", "lpad", "rpad":
		if len(f.Args) < 2 {
			return nil
		}
		n, ok := constantInt(f.Args[1])
		if !ok {
			return c.refuse(refusal.ConstantNeeded, at, name+"() needs a literal length", fmt.Sprintf("Write a number up to %d.",
				maxExpansion))
		}
		return c.fits(at, name, n)
	case "generate_series":
		if len(f.Args) < 2 {
			return nil
		}
		lo, okLo := constantInt(f.Args[0])
		hi, okHi := constantInt(f.Args[1])
		step := int64(1)
		if len(f.Args) > 2 {
			if s, ok := constantInt(f.Args[2]); ok && s != 0 {
				step = s
			}
		}
		if okLo && okHi && (hi-lo)/step >= maxExpansion {
			return c.fits(at, name, maxExpansion+1)
		}
	case "array_fill":
		return c.refuse(refusal.CatalogForm, at, name+"() is not supported", "Write the array.")
	}
	return nil
}

func (c *checker) fits(at int, name string, n int64) error {
	if n <= maxExpansion {
		return nil
	}
	return refusal.New(refusal.TooLong, fmt.Sprintf("%s() may make at most %d", name, maxExpansion),
		pgerr.At(c.text.Position(at)), pgerr.Hint("Ask for less at once."))
}

// constantInt reads an integer literal, signed, with or without a cast.
func constantInt(n *pg_query.Node) (int64, bool) {
	if t := n.GetTypeCast(); t != nil {
		return constantInt(t.Arg)
	}
	if e := n.GetAExpr(); e != nil && e.Lexpr == nil && len(e.Name) == 1 && e.Name[0].GetString_().GetSval() == "-" {
		v, ok := constantInt(e.Rexpr)
		return -v, ok
	}
	k := n.GetAConst()
	switch {
	case k == nil:
		return 0, false
	case k.GetIval() != nil:
		return int64(k.GetIval().Ival), true
	case k.GetFval() != nil:
		v, err := strconv.ParseInt(k.GetFval().Fval, 10, 64)
		return v, err == nil
	case k.GetSval() != nil:
		v, err := strconv.ParseInt(k.GetSval().Sval, 10, 64)
		return v, err == nil
	}
	return 0, false
}
