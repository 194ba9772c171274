package pgresolve

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// Category is pg_type.typcategory. Types of the user's own that reach here are enums.
func Category(oid uint32) (cat byte, preferred bool) {
	if t := catalog.types[oid]; t != nil {
		return t.Category, t.Preferred
	}
	if catalog.arrays[oid] != nil {
		return 'A', false
	}
	return 'E', false
}

// CanCoerce reports whether from can become to implicitly (can_coerce_type).
func CanCoerce(from, to uint32) bool {
	if from == to || from == pgtype.UnknownOID {
		return true
	}
	if t := catalog.types[to]; t != nil && t.Category == 'P' {
		cat, _ := Category(from)
		switch t.Name {
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

func canCoerceAll(from []uint32, c *Candidate) bool {
	for i, f := range from {
		if !CanCoerce(f, c.Args[i]) {
			return false
		}
	}
	return true
}

// Operator resolves an operator; nil if PostgreSQL finds none, or no best one.
func Operator(name string, in []uint32) *Candidate {
	all := catalog.operators[name]
	exact := slices.Clone(in)
	if len(in) == 2 { // binary_oper_exact: an unknown literal is assumed to have the other side's type
		if exact[0] == pgtype.UnknownOID {
			exact[0] = exact[1]
		} else if exact[1] == pgtype.UnknownOID {
			exact[1] = exact[0]
		}
	}
	for _, c := range all {
		if slices.Equal(c.Args, exact) {
			return c
		}
	}
	return choose(in, all)
}

// Function resolves a function call; nil if PostgreSQL finds none, or no best one.
func Function(name string, in []uint32) *Candidate {
	all := catalog.functions[name]
	for _, c := range all {
		if slices.Equal(c.Args, in) {
			return c
		}
	}
	return choose(in, all)
}

func choose(in []uint32, all []*Candidate) *Candidate {
	var fit []*Candidate
	for _, c := range all {
		if len(c.Args) == len(in) && canCoerceAll(in, c) {
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
func selectCandidate(in []uint32, fit []*Candidate) *Candidate {
	if fit = most(fit, func(c *Candidate) (n int) {
		for i, t := range in {
			if t != pgtype.UnknownOID && c.Args[i] == t {
				n++
			}
		}
		return n
	}); len(fit) == 1 {
		return fit[0]
	}
	if fit = most(fit, func(c *Candidate) (n int) {
		for i, t := range in {
			if t == pgtype.UnknownOID {
				continue
			}
			cat, _ := Category(t)
			candCat, preferred := Category(c.Args[i])
			if c.Args[i] == t || candCat == cat && preferred {
				n++
			}
		}
		return n
	}); len(fit) == 1 {
		return fit[0]
	}
	if !slices.Contains(in, pgtype.UnknownOID) {
		return nil
	}
	if fit = byCategory(in, fit); len(fit) == 1 {
		return fit[0]
	}
	return bySameType(in, fit)
}

// most keeps the candidates with the highest score.
func most(fit []*Candidate, score func(*Candidate) int) []*Candidate {
	var out []*Candidate
	best := -1
	for _, c := range fit {
		switch n := score(c); {
		case n > best:
			best, out = n, []*Candidate{c}
		case n == best:
			out = append(out, c)
		}
	}
	return out
}

// byCategory decides on the type category of each unknown literal: string if any candidate takes a string there, else
// the one that all agree on; and prefers preferred types in it.
func byCategory(in []uint32, fit []*Candidate) []*Candidate {
	kept := slices.Clone(fit)
	for i, t := range in {
		if t != pgtype.UnknownOID {
			continue
		}
		slot, slotPreferred := Category(fit[0].Args[i])
		conflict := false
		for _, c := range fit[1:] {
			switch cat, preferred := Category(c.Args[i]); {
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
		kept = slices.DeleteFunc(kept, func(c *Candidate) bool {
			cat, preferred := Category(c.Args[i])
			return cat != slot || slotPreferred && !preferred
		})
	}
	if len(kept) == 0 {
		return fit
	}
	return kept
}

// bySameType assumes that unknown literals have the type that all others share.
func bySameType(in []uint32, fit []*Candidate) *Candidate {
	known := uint32(pgtype.UnknownOID)
	for _, t := range in {
		switch {
		case t == pgtype.UnknownOID || t == known:
		case known == pgtype.UnknownOID:
			known = t
		default:
			return nil
		}
	}
	if known == pgtype.UnknownOID {
		return nil
	}
	assumed := make([]uint32, len(in))
	for i := range assumed {
		assumed[i] = known
	}
	var found *Candidate
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

// CommonType is select_common_type: the type of CASE, COALESCE, GREATEST, ARRAY and IN. ok is false where PostgreSQL
// finds none.
func CommonType(in []uint32) (oid uint32, ok bool) {
	if len(in) == 0 {
		return 0, false
	}
	common := in[0]
	for _, t := range in[1:] {
		if t == pgtype.UnknownOID || t == common {
			continue
		}
		if common == pgtype.UnknownOID {
			common = t
			continue
		}
		cat, preferred := Category(common)
		if next, _ := Category(t); next != cat {
			return 0, false
		}
		if !preferred && CanCoerce(common, t) && !CanCoerce(t, common) {
			common = t
		}
	}
	if common == pgtype.UnknownOID {
		return pgtype.TextOID, true
	}
	for _, t := range in {
		if !CanCoerce(t, common) {
			return 0, false
		}
	}
	return common, true
}
