package catalog

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

// operators are those of pg_catalog: all of them compute on their arguments alone.
var operators = words(
	"!! !~ !~* !~~ !~~* # ## #- #> #>> % & && &< &<| &> * *< *<= *<> *= *> *>= + - -> ->> -|- / < <-> << <<= " +
		"<<| <= <> <@ <^ = > >= >> >>= >^ ? ?# ?& ?- ?-| ?| ?|| @ @-@ @> @? @@ @@@ ^ ^@ | |&> |/ |>> || ||/ ~ ~* ~<=~ ~<~ ~= ~>=~ " +
		"~>~ ~~ ~~* BETWEEN")

// operator checks an operator's name: a symbol of pg_catalog, qualified with it or not at all.
func (c *checker) operator(nodes []*pg_query.Node, location int32) error {
	names := stringsOf(nodes)
	switch {
	case len(nodes) == 0:
		return nil
	case len(names) == 1 && (operators[names[0]] || strings.HasPrefix(names[0], "BETWEEN") ||
		strings.HasPrefix(names[0], "NOT BETWEEN")):
		return nil
	case len(names) == 2 && names[0] == "pg_catalog" && operators[names[1]]:
		return nil
	}
	return c.refuse(refusal.CatalogObject, int(location), "permission denied for operator "+strings.Join(names, "."),
		"Operators of pg_catalog are allowed.")
}
