package measure

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Print writes a query of a block for main. The plan relies on the columns that it reads of tables. It panics if these
// are none of the block's, or if it is more than a plan may say, and may run without a certificate.
func Print(b *relation.Base, k *release.Block, q query.Query) schema.SQL {
	sql, reads := query.PrintReading(q)
	planned := tables(b.Schema.Policy, k.Tables())
	for name, columns := range reads {
		if !planned[name] {
			panic(fmt.Sprintf("the measure query reads %s, which its plan does not", name))
		}
		for _, c := range columns {
			b.Rely(policy.ColumnOf{Table: name, Column: c})
		}
	}
	if b.Schema.Policy.Certify == policy.Warn {
		if err := verify(sql.Text, planned); err != nil {
			panic(err)
		}
	}
	return sql
}

// tables are those of a plan, and those that lead to their unit.
func tables(p *policy.Policy, list []*policy.Table) map[policy.Name]bool {
	planned := map[policy.Name]bool{}
	for _, t := range list {
		planned[t.Name] = true
		for t != nil && t.Unit != nil && t.Unit.Via != nil {
			planned[t.Unit.Via.References] = true
			t = p.Table(t.Unit.Via.References)
		}
	}
	return planned
}
