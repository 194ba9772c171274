package pgresolve_test

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// oids reads types by name; the name unknown is an untyped literal's.
func oids(t *testing.T, names string) []uint32 {
	t.Helper()
	var out []uint32
	for _, name := range strings.Fields(names) {
		oid := pgresolve.TypeNamed(name)
		if oid == 0 {
			t.Fatalf("no type %s", name)
		}
		out = append(out, oid)
	}
	return out
}

// TestOperator: each line is what PostgreSQL chooses; an empty signature is an error there.
func TestOperator(t *testing.T) {
	for _, c := range []struct{ name, in, signature string }{
		{"+", "int4 int4", "+(int4,int4)"},
		{"+", "int2 int8", "+(int2,int8)"},
		{"+", "int4 numeric", "+(numeric,numeric)"},
		{"+", "numeric float8", "+(float8,float8)"},
		{"+", "date unknown", ""},
		{"+", "int4 unknown", "+(int4,int4)"},
		{"-", "date date", "-(date,date)"},
		{"-", "timestamp date", "-(timestamp,timestamp)"},
		{"-", "int4", "-(int4)"},
		{"=", "varchar text", "=(text,text)"},
		{"=", "varchar varchar", "=(text,text)"},
		{"=", "date timestamptz", "=(date,timestamptz)"},
		{"=", "int4 text", ""},
		{"=", "bool unknown", "=(bool,bool)"},
		{"||", "text int4", "||(text,anynonarray)"},
		{"||", "unknown unknown", "||(text,text)"},
		{"*", "text int4", ""},
		{"no such operator", "int4 int4", ""},
	} {
		checkChoice(t, c.name+" of "+c.in, pgresolve.Operator(c.name, oids(t, c.in)), c.signature)
	}
}

// TestFunction does the same for functions.
func TestFunction(t *testing.T) {
	for _, c := range []struct{ name, in, signature string }{
		{"abs", "int2", "abs(int2)"},
		{"abs", "unknown", "abs(float8)"},
		{"sqrt", "int4", "sqrt(float8)"},
		{"sqrt", "numeric", "sqrt(numeric)"},
		{"round", "float8 int4", ""},
		{"round", "int4 int4", "round(numeric,int4)"},
		{"lower", "varchar", "lower(text)"},
		{"lower", "int4", ""},
		{"date_trunc", "unknown date", "date_trunc(text,timestamptz)"},
		{"substring", "text int4 int4", "substring(text,int4,int4)"},
		{"no_such_function", "int4", ""},
	} {
		checkChoice(t, c.name+" of "+c.in, pgresolve.Function(c.name, oids(t, c.in)), c.signature)
	}
}

func checkChoice(t *testing.T, call string, got *pgresolve.Candidate, signature string) {
	t.Helper()
	have := ""
	if got != nil {
		have = got.Signature()
	}
	if have != signature {
		t.Errorf("%s is %q, PostgreSQL takes %q", call, have, signature)
	}
}

// TestCommonType: the types of CASE, COALESCE and ARRAY.
func TestCommonType(t *testing.T) {
	for in, want := range map[string]string{
		"int4 int4": "int4", "int2 int8": "int8", "int4 numeric": "numeric", "numeric float8": "float8",
		"int4 unknown": "int4", "unknown unknown": "text",
		"date timestamp": "timestamp", "timestamp timestamptz": "timestamptz", "text varchar": "text",
		"varchar text": "varchar", "int4 text": "", "date int4": "", "bool bool": "bool",
	} {
		oid, ok := pgresolve.CommonType(oids(t, in))
		have := ""
		if ok {
			have = pgresolve.LookupType(oid).Name
		}
		if have != want {
			t.Errorf("%s: %q, PostgreSQL takes %q", in, have, want)
		}
	}
	if _, ok := pgresolve.CommonType(nil); ok {
		t.Error("no operands have a common type")
	}
}

// TestNames: how types are printed for casts and for people.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		name               string
		typmod             int32
		qualified, display string
	}{
		{"int4", -1, "pg_catalog.int4", "integer"},
		{"numeric", (12<<16 | 2) + 4, "pg_catalog.numeric(12,2)", "numeric"},
		{"varchar", 24, "pg_catalog.varchar(20)", "character varying"},
		{"timestamptz", 3, "pg_catalog.timestamptz(3)", "timestamp with time zone"},
		{"char", -1, `pg_catalog."char"`, "char"},
		{"_text", -1, "pg_catalog.text[]", "that type"},
	} {
		oid := pgresolve.TypeNamed(c.name)
		if got := pgresolve.Qualified(oid, c.typmod); got != c.qualified {
			t.Errorf("%s is printed as %s", c.name, got)
		}
		if got := pgresolve.Display(oid); got != c.display {
			t.Errorf("%s is shown as %s", c.name, got)
		}
	}
	if precision, scale := pgresolve.NumericTypmod((12<<16 | 2) + 4); precision != 12 || scale != 2 {
		t.Errorf("numeric(12,2) is read as (%d,%d)", precision, scale)
	}
	if got := pgresolve.QuoteName("left"); got != `"left"` {
		t.Errorf("left is printed as %s", got)
	}
}
