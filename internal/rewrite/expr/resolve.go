package expr

import "slices"

// Resolution of operators and functions as in PostgreSQL's parse_oper.c, parse_func.c and parse_coerce.c.

// baseType looks through domains.
func (e *Expr) baseType() uint32 {
	if e.col != nil && e.col.Base != 0 {
		return e.col.Base
	}
	return e.typ
}

// isEnum says that the type is an enum.
func (e *Expr) isEnum() bool { return e.labels != nil }

func baseTypes(args []*Expr) []uint32 {
	out := make([]uint32, len(args))
	for i, a := range args {
		out[i] = a.baseType()
	}
	return out
}

// category is pg_type.typcategory. Types of the user's own that reach here are enums.
func category(oid uint32) (cat byte, preferred bool) {
	if t := catalog.types[oid]; t != nil {
		return t.category, t.preferred
	}
	if catalog.arrays[oid] != nil {
		return 'A', false
	}
	return 'E', false
}

// canCoerce says whether from can become to implicitly (can_coerce_type).
func canCoerce(from, to uint32) bool {
	if from == to || from == oidUnknown {
		return true
	}
	if t := catalog.types[to]; t != nil && t.category == 'P' {
		cat, _ := category(from)
		switch t.name {
		case "any", "anyelement", "anycompatible":
			return true
		case "anyenum":
			return cat == 'E'
		case "anyarray", "anycompatiblearray":
			return cat == 'A'
		case "anynonarray", "anycompatiblenonarray":
			return cat != 'A'
		}
		return false
	}
	return catalog.casts[[2]uint32{from, to}] == 'i'
}

func canCoerceAll(from []uint32, c *candidate) bool {
	for i, f := range from {
		if !canCoerce(f, c.args[i]) {
			return false
		}
	}
	return true
}

// operatorFor resolves an operator; nil if PostgreSQL finds none, or no best one.
func operatorFor(name string, in []uint32) *candidate {
	all := catalog.operators[name]
	exact := slices.Clone(in)
	if len(in) == 2 { // binary_oper_exact: an unknown literal is assumed to have the other side's type
		if exact[0] == oidUnknown {
			exact[0] = exact[1]
		} else if exact[1] == oidUnknown {
			exact[1] = exact[0]
		}
	}
	for _, c := range all {
		if slices.Equal(c.args, exact) {
			return c
		}
	}
	return choose(in, all)
}

// functionFor resolves a function call.
func functionFor(name string, in []uint32) *candidate {
	all := catalog.functions[name]
	for _, c := range all {
		if slices.Equal(c.args, in) {
			return c
		}
	}
	return choose(in, all)
}

func choose(in []uint32, all []*candidate) *candidate {
	var fit []*candidate
	for _, c := range all {
		if len(c.args) == len(in) && canCoerceAll(in, c) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 1 {
		return fit[0]
	}
	if len(fit) == 0 {
		return nil
	}
	return selectCandidate(in, fit)
}

// selectCandidate is func_select_candidate.
func selectCandidate(in []uint32, fit []*candidate) *candidate {
	if fit = most(fit, func(c *candidate) (n int) {
		for i, t := range in {
			if t != oidUnknown && c.args[i] == t {
				n++
			}
		}
		return n
	}); len(fit) == 1 {
		return fit[0]
	}
	if fit = most(fit, func(c *candidate) (n int) {
		for i, t := range in {
			if t == oidUnknown {
				continue
			}
			cat, _ := category(t)
			candCat, preferred := category(c.args[i])
			if c.args[i] == t || candCat == cat && preferred {
				n++
			}
		}
		return n
	}); len(fit) == 1 {
		return fit[0]
	}
	if !slices.Contains(in, oidUnknown) {
		return nil
	}
	if fit = byCategory(in, fit); len(fit) == 1 {
		return fit[0]
	}
	return bySameType(in, fit)
}

// most keeps the candidates with the highest score.
func most(fit []*candidate, score func(*candidate) int) []*candidate {
	var out []*candidate
	best := -1
	for _, c := range fit {
		switch n := score(c); {
		case n > best:
			best, out = n, []*candidate{c}
		case n == best:
			out = append(out, c)
		}
	}
	return out
}

// byCategory decides on the type category of each unknown literal: string if any candidate takes a string there, else the one
// that all agree on; and prefers preferred types in it.
func byCategory(in []uint32, fit []*candidate) []*candidate {
	kept := slices.Clone(fit)
	for i, t := range in {
		if t != oidUnknown {
			continue
		}
		slot, slotPreferred := category(fit[0].args[i])
		conflict := false
		for _, c := range fit[1:] {
			switch cat, preferred := category(c.args[i]); {
			case cat == slot:
				slotPreferred = slotPreferred || preferred
			case cat == 'S':
				slot, slotPreferred = cat, preferred
			default:
				conflict = true
			}
		}
		if conflict && slot != 'S' {
			return fit
		}
		kept = slices.DeleteFunc(kept, func(c *candidate) bool {
			cat, preferred := category(c.args[i])
			return cat != slot || slotPreferred && !preferred
		})
	}
	if len(kept) == 0 {
		return fit
	}
	return kept
}

// bySameType assumes that unknown literals have the type that all others share.
func bySameType(in []uint32, fit []*candidate) *candidate {
	known := uint32(oidUnknown)
	for _, t := range in {
		switch {
		case t == oidUnknown || t == known:
		case known == oidUnknown:
			known = t
		default:
			return nil
		}
	}
	if known == oidUnknown {
		return nil
	}
	assumed := make([]uint32, len(in))
	for i := range assumed {
		assumed[i] = known
	}
	var found *candidate
	for _, c := range fit {
		if canCoerceAll(assumed, c) {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

// commonType is select_common_type: the type of CASE, COALESCE, GREATEST, ARRAY and IN. ok is false where PostgreSQL finds none.
func commonType(in []uint32) (oid uint32, ok bool) {
	if len(in) == 0 {
		return 0, false
	}
	common := in[0]
	for _, t := range in[1:] {
		if t == oidUnknown || t == common {
			continue
		}
		if common == oidUnknown {
			common = t
			continue
		}
		cat, preferred := category(common)
		if next, _ := category(t); next != cat {
			return 0, false
		}
		if !preferred && canCoerce(common, t) && !canCoerce(t, common) {
			common = t
		}
	}
	if common == oidUnknown {
		return oidText, true
	}
	for _, t := range in {
		if !canCoerce(t, common) {
			return 0, false
		}
	}
	return common, true
}
