package expr

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed catalog.txt
var catalogText string

// pgType is a built-in type as operator resolution sees it.
type pgType struct {
	oid       uint32
	name      string
	category  byte // pg_type.typcategory
	preferred bool
	array     uint32
}

// candidate is one row of pg_operator or pg_proc.
type candidate struct {
	name   string
	args   []uint32
	result uint32
}

// signature names the candidate as the table of rules does: name(type,type).
func (c *candidate) signature() string {
	names := make([]string, len(c.args))
	for i, a := range c.args {
		names[i] = typeName(a)
	}
	return c.name + "(" + strings.Join(names, ",") + ")"
}

// pgCatalog holds PostgreSQL's own candidates: what an analyst's text can resolve to, allowed here or not.
type pgCatalog struct {
	types     map[uint32]*pgType
	arrays    map[uint32]*pgType // by array OID: the element's type
	names     map[string]uint32
	casts     map[[2]uint32]byte // context: i, a or e
	operators map[string][]*candidate
	functions map[string][]*candidate
}

var catalog = readCatalog(catalogText)

func readCatalog(text string) *pgCatalog {
	c := &pgCatalog{map[uint32]*pgType{}, map[uint32]*pgType{}, map[string]uint32{}, map[[2]uint32]byte{}, map[string][]*candidate{}, map[string][]*candidate{}}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		switch f[0] {
		case "type":
			t := &pgType{number(f[1]), f[2], f[3][0], f[4] == "1", number(f[5])}
			c.types[t.oid], c.names[t.name] = t, t.oid
			if t.array != 0 {
				c.arrays[t.array] = t
				c.names["_"+t.name] = t.array
			}
		case "cast":
			c.casts[[2]uint32{c.names[f[1]], c.names[f[2]]}] = f[3][0]
		case "oper":
			o := &candidate{f[1], []uint32{c.names[f[2]], c.names[f[3]]}, c.names[f[4]]}
			if f[2] == "-" {
				o.args = o.args[1:]
			}
			c.operators[o.name] = append(c.operators[o.name], o)
		case "func":
			o := &candidate{f[1], nil, c.names[f[2]]}
			for _, a := range f[3:] {
				o.args = append(o.args, c.names[a])
			}
			c.functions[o.name] = append(c.functions[o.name], o)
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

// typeName is pg_type.typname of a built-in type.
func typeName(oid uint32) string {
	if t := catalog.types[oid]; t != nil {
		return t.name
	}
	if t := catalog.arrays[oid]; t != nil {
		return "_" + t.name
	}
	return strconv.FormatUint(uint64(oid), 10)
}
