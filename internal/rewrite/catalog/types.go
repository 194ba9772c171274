package catalog

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// pureTypes may be cast to anywhere. Transaction numbers, row places, snapshots and roles are not among them: their
// casts lead to what the cluster is doing.
var pureTypes = words(
	`bool bytea char name int8 int2 int4 text oid json path polygon float4 float8 circle money macaddr inet
	cidr macaddr8 bpchar varchar date time timestamp timestamptz interval timetz bit varbit numeric uuid tsvector tsquery
	jsonb jsonpath int4range numrange tsrange tstzrange daterange int8range int4multirange nummultirange tsmultirange
	tstzmultirange datemultirange int8multirange point lseg box line record unknown int2vector oidvector anyarray`)

// catalogTypes look names up in the catalogs of the database that they run in.
var catalogTypes = words(`regproc regprocedure regoper regoperator regclass regcollation regtype regnamespace regconfig
	regdictionary pg_node_tree`)

// informationTypes are the domains of information_schema.
var informationTypes = words(`cardinal_number character_data sql_identifier time_stamp yes_or_no`)

// typeName checks the type of a cast, a literal or a column definition.
func (c *checker) typeName(t *pg_query.TypeName) error {
	if len(t.Names) == 0 {
		return nil
	}
	names := stringsOf(t.Names)
	at := int(t.Location)
	if len(names) == 0 || len(names) > 2 || t.PctType || t.Setof {
		return c.typeDenied(at, names)
	}
	name := names[len(names)-1]
	schema := ""
	if len(names) == 2 {
		schema = names[0]
	}
	base := strings.TrimPrefix(name, "_")
	switch {
	case schema == "" || schema == "pg_catalog":
		if pureTypes[base] {
			return nil
		}
		if catalogTypes[base] {
			c.usesCatalog(at, "type "+name)
			return nil
		}
		if schema != "" {
			if systemRelations[name] == plain {
				c.usesCatalog(at, "type "+name)
				return nil
			}
			return c.typeDenied(at, names)
		}
		for _, s := range c.in.Schemas {
			if s != "pg_catalog" && c.policyType(s, name) {
				return nil
			}
		}
	case schema == "information_schema" && informationTypes[name]:
		c.usesCatalog(at, "type "+name)
		return nil
	case c.policyType(schema, name):
		return nil
	}
	return c.typeDenied(at, names)
}

// policyType reports whether a type belongs to a listed column, is an array of one, or is the row type of a public
// table.
func (c *checker) policyType(schema, name string) bool {
	n := policy.Name{Schema: schema, Relation: name}
	_, public := c.in.Public[n]
	return public || c.in.Types[n] || c.in.Types[policy.Name{Schema: schema, Relation: strings.TrimPrefix(name, "_")}]
}

func (c *checker) typeDenied(at int, names []string) error {
	return c.refuse(refusal.CatalogObject, at, fmt.Sprintf("permission denied for type %s", strings.Join(names, ".")),
		"Types of listed columns and most built-in types are allowed; the topic introspection of dpproxy.help has the list.")
}

// OIDs of types that parameters may not have: their input leads to transactions, row places, snapshots,
// roles.
var deniedOIDs = map[uint32]string{
	27: "tid", 28: "xid", 29: "cid", 142: "xml", 143: "xml[]", 1033: "aclitem", 1034: "aclitem[]", 1010: "tid[]",
	1011: "xid[]", 1012: "cid[]", 2949: "txid_snapshot[]",
	2970: "txid_snapshot", 4096: "regrole", 4097: "regrole[]", 5038: "pg_snapshot", 5039: "pg_snapshot[]", 5069: "xid8",
	271: "xid8[]",
}

// catalogOIDs are the types whose input looks names up in the catalogs.
var catalogOIDs = map[uint32]string{
	24: "regproc", 1008: "regproc[]", 2202: "regprocedure", 2203: "regoper", 2204: "regoperator",
	2205: "regclass", 2206: "regtype", 2207: "regprocedure[]", 2208: "regoper[]", 2209: "regoperator[]",
	2210: "regclass[]",
	2211: "regtype[]", 3734: "regconfig", 3735: "regconfig[]", 3769: "regdictionary", 3770: "regdictionary[]",
	4089: "regnamespace",
	4090: "regnamespace[]", 4191: "regcollation", 4192: "regcollation[]",
}

// parameterTypes checks the types that the client or PostgreSQL chose for parameters.
func (c *checker) parameterTypes() error {
	for _, oid := range c.in.ParameterTypes {
		if name := deniedOIDs[oid]; name != "" {
			return c.typeDenied(-1, []string{name})
		}
		if name := catalogOIDs[oid]; name != "" && c.catalogAt < 0 {
			c.catalogAt, c.catalog = 0, "a parameter of type "+name
		}
	}
	return nil
}
