package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// spelledAnyhow are the functions that make equal numbers of equal numbers, however these are spelled. Not of them:
// sqrt and its kin of numerics, which give more digits of 4.000 than of 4, and what tells -0 from 0.
var spelledAnyhow = map[string]bool{
	"abs": true, "sign": true, "div": true, "mod": true, "floor": true, "ceil": true, "ceiling": true, "trunc": true,
	"round":      true,
	"trim_scale": true, "width_bucket": true, "power": true,
}

// call is a function: an aggregate, a window function, or one of pg_catalog that is total on its arguments.
func (s *scope) call(f *pg.FuncCall) (value, error) {
	fn, ok := name(f.Funcname)
	if !ok {
		return value{}, missing(f.Location, "function of a schema", "%s", spelledName(f.Funcname))
	}
	if f.Over != nil {
		v, err := s.over(fn, f)
		s.applied = "over"
		return v, err
	}
	if f.AggStar || f.AggDistinct || f.AggFilter != nil || f.AggWithinGroup || len(f.AggOrder) > 0 || f.FuncVariadic {
		return value{}, missing(f.Location, "aggregate "+fn, "where none may stand")
	}
	lacks := func(why string) (value, error) {
		return value{}, missing(f.Location, "function "+fn, "%s", why)
	}
	if hashes[fn] != "" {
		return s.hash(fn, f, lacks)
	}
	// the others are 0
	if n := f.Args; fn == "make_interval" && len(n) == 1 && n[0].GetNamedArgExpr().GetName() == "secs" {
		v, err := s.exprs([]*pg.Node{n[0].GetNamedArgExpr().Arg})
		if err != nil {
			return value{}, err
		}
		if v[0], ok = converted(v[0], "float8", s.facts); !ok || v[0].array {
			return lacks(v[0].typ)
		}
		no := literal("int4", "0")
		if r, ok := apply(fn, []value{no, no, no, no, no, no, v[0]}); ok {
			return r, nil
		}
		return lacks("of such seconds")
	}
	args, err := s.exprs(f.Args)
	if err != nil {
		return value{}, err
	}
	for _, a := range args {
		if a.vague && !spelledAnyhow[fn] {
			return lacks("of one of equal values")
		}
	}
	switch {
	case fn == "interval_send" && len(args) == 1 && args[0].typ == "interval" && !args[0].array: // its sixteen bytes
		r := made("bytea", span{}, args[0])
		r.holds = args[0].told()
		return r, nil
	case fn == "width_bucket" && len(args) == 2:
		return bucket(args, lacks)
	}
	if r, ok := apply(fn, args); ok {
		return r, nil
	}
	types := ""
	for _, a := range args {
		types += " " + a.typ + " " + show(a.lo) + ".." + show(a.hi)
	}
	return lacks("of" + types)
}

var hashes = map[string]string{"hashtextextended": "text", "hashint8extended": "int8", "hash_record_extended": "row"}

// hash is a keyed hash of a value: total, and any int8. All types that a ROW may have here can be hashed.
func (s *scope) hash(fn string, f *pg.FuncCall, lacks func(string) (value, error)) (value, error) {
	if len(f.Args) != 2 {
		return lacks("arguments")
	}
	v, err := s.exprs(f.Args[:1])
	if err != nil {
		return value{}, err
	}
	p := f.Args[1].GetParamRef()
	if p == nil || int(p.Number) > len(s.parameters) || p.Number < 1 || s.parameters[p.Number-1].Type != "int8" ||
		s.parameters[p.Number-1].Array {
		return lacks("a seed that is no parameter of int8")
	}
	if v[0].typ != hashes[fn] && !(hashes[fn] == "int8" && isInteger(v[0].typ)) || v[0].array {
		return lacks(v[0].typ)
	}
	return made("int8", spanOf("int8"), v[0]), nil
}

// bucket is width_bucket(x, array of constants, none of them NULL) of numbers, dates or times: between 0 and their
// number. Proof: width_bucket_array raises an error for NULL alone.
func bucket(args []value, lacks func(string) (value, error)) (value, error) {
	x, list := args[0], args[1]
	if !list.array || len(list.elements) == 0 || slices.Contains(list.elements, nil) || x.array || x.typ != list.typ ||
		!isNumber(x.typ) && !timed[x.typ] && x.typ != "time" {
		return lacks("no list of constants")
	}
	return made("int4", between(zero, big.NewRat(int64(len(list.elements)), 1)), x), nil
}
