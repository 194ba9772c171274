package pgresolve

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed catalog.txt
var catalogText string

// Type describes a built-in type as operator resolution sees it.
type Type struct {
	OID       uint32
	Name      string
	Category  byte // pg_type.typcategory
	Preferred bool
	Array     uint32 // OID of the type of its arrays; 0: none
}

// Candidate is one row of pg_operator or pg_proc.
type Candidate struct {
	Name   string
	Args   []uint32
	Result uint32
}

// Signature identifies the candidate: name(type,type).
func (c *Candidate) Signature() string {
	names := make([]string, len(c.Args))
	for i, a := range c.Args {
		names[i] = typeName(a)
	}
	return c.Name + "(" + strings.Join(names, ",") + ")"
}

// pgCatalog holds PostgreSQL's own candidates: what an analyst's text can resolve to, allowed here or not.
type pgCatalog struct {
	types     map[uint32]*Type
	arrays    map[uint32]*Type // by array OID: the element's type
	names     map[string]uint32
	casts     map[[2]uint32]byte // context: i, a or e
	operators map[string][]*Candidate
	functions map[string][]*Candidate
}

var catalog = readCatalog(catalogText)

func readCatalog(text string) *pgCatalog {
	c := &pgCatalog{
		map[uint32]*Type{},
		map[uint32]*Type{},
		map[string]uint32{},
		map[[2]uint32]byte{},
		map[string][]*Candidate{},
		map[string][]*Candidate{},
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		switch f[0] {
		case "type":
			t := &Type{number(f[1]), f[2], f[3][0], f[4] == "1", number(f[5])}
			c.types[t.OID], c.names[t.Name] = t, t.OID
			if t.Array != 0 {
				c.arrays[t.Array] = t
				c.names["_"+t.Name] = t.Array
			}
		case "cast":
			c.casts[[2]uint32{c.names[f[1]], c.names[f[2]]}] = f[3][0]
		case "oper":
			o := &Candidate{f[1], []uint32{c.names[f[2]], c.names[f[3]]}, c.names[f[4]]}
			if f[2] == "-" {
				o.Args = o.Args[1:]
			}
			c.operators[o.Name] = append(c.operators[o.Name], o)
		case "func":
			o := &Candidate{f[1], nil, c.names[f[2]]}
			for _, a := range f[3:] {
				o.Args = append(o.Args, c.names[a])
			}
			c.functions[o.Name] = append(c.functions[o.Name], o)
		}
	}
	return c
}

func number(s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		panic("catalog.txt: " + err.Error())
	}
	return uint32(n)
}

// LookupType gives a built-in type; nil for arrays and types of the user's own.
func LookupType(oid uint32) *Type { return catalog.types[oid] }

// ElementType returns the type of an array's elements; nil for anything but arrays of built-in types.
func ElementType(oid uint32) *Type { return catalog.arrays[oid] }

// TypeNamed returns the OID of the built-in type that pg_type.typname names, _name for an array; 0 if there is none.
func TypeNamed(name string) uint32 { return catalog.names[name] }

// Operators lists the operators of a name.
func Operators(name string) []*Candidate { return catalog.operators[name] }

// Functions lists the functions of a name.
func Functions(name string) []*Candidate { return catalog.functions[name] }

// typeName is pg_type.typname of a built-in type.
func typeName(oid uint32) string {
	if t := catalog.types[oid]; t != nil {
		return t.Name
	}
	if t := catalog.arrays[oid]; t != nil {
		return "_" + t.Name
	}
	return strconv.FormatUint(uint64(oid), 10)
}
