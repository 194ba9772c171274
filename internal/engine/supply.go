package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

// historyLimit is the number of an analyst's latest statements that dpproxy.history shows.
const historyLimit = 10000

// supply gives the value of a parameter that stands for dpproxy.budget, columns or history, or for a setting.
func (c *call) supply(ctx context.Context, s catalog.Supply) ([]byte, error) {
	switch s.Kind {
	case catalog.SupplyBudget:
		return c.budgetColumn(ctx, s.Name)
	case catalog.SupplyHistory:
		return c.historyColumn(ctx, s.Name)
	case catalog.SupplyColumns:
		return c.columnsColumn(s.Name)
	case catalog.SupplySetting:
		if value := c.scope.Settings.Get(s.Name); value != "" {
			return []byte(value), nil
		}
		return nil, nil
	}
	return nil, fmt.Errorf("supply kind %d is unknown", s.Kind)
}

// budgetColumn is one column of dpproxy.budget: the analyst's own row.
func (c *call) budgetColumn(ctx context.Context, name string) ([]byte, error) {
	b, err := c.engine.ledger.Balance(ctx, c.scope.Analyst)
	if err != nil {
		return nil, err
	}
	switch name {
	case "analyst":
		return encodeText(pgtype.TextArrayOID, []string{c.scope.Analyst})
	case "epsilon_total":
		return encodeText(pgtype.Float8ArrayOID, []float64{b.EpsilonTotal})
	case "epsilon_spent":
		return encodeText(pgtype.Float8ArrayOID, []float64{b.EpsilonSpent})
	case "epsilon_left":
		return encodeText(pgtype.Float8ArrayOID, []float64{b.EpsilonLeft})
	case "delta":
		return encodeText(pgtype.Float8ArrayOID, []float64{b.Delta})
	case "period_ends":
		return encodeText(pgtype.TimestamptzArrayOID, []pgtype.Timestamptz{{Time: b.PeriodEnds, Valid: !b.PeriodEnds.IsZero()}})
	}
	return nil, fmt.Errorf("dpproxy.budget has no column %q", name)
}

// historyColumn is one column of dpproxy.history: the analyst's own statements, latest first.
func (c *call) historyColumn(ctx context.Context, name string) ([]byte, error) {
	entries, err := c.engine.ledger.History(ctx, c.scope.Analyst, historyLimit)
	if err != nil {
		return nil, err
	}
	switch name {
	case "at":
		out := make([]time.Time, len(entries))
		for i, e := range entries {
			out[i] = e.At
		}
		return encodeText(pgtype.TimestamptzArrayOID, out)
	case "query":
		out := make([]string, len(entries))
		for i, e := range entries {
			out[i] = e.Query
		}
		return encodeText(pgtype.TextArrayOID, out)
	case "epsilon":
		out := make([]float64, len(entries))
		for i, e := range entries {
			out[i] = e.Epsilon
		}
		return encodeText(pgtype.Float8ArrayOID, out)
	}
	return nil, fmt.Errorf("dpproxy.history has no column %q", name)
}

// columnsColumn is one column of dpproxy.columns: what the policy lets analysts use, in the policy's order.
func (c *call) columnsColumn(name string) ([]byte, error) {
	var out []*string
	for _, t := range c.state.policy.Tables {
		relation := c.state.schema.Relations[t.Name]
		if relation == nil {
			continue
		}
		for i := range relation.Columns {
			value, err := columnFact(t, &relation.Columns[i], name)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
	}
	return encodeText(pgtype.TextArrayOID, out)
}

func columnFact(t *policy.Table, rc *rewrite.RelationColumn, name string) (*string, error) {
	pc := t.Column(rc.Name)
	text := func(s string) (*string, error) { return &s, nil }
	switch name {
	case "table_name":
		if t.Name.Schema == "public" {
			return text(t.Name.Relation)
		}
		return text(t.Name.String())
	case "column_name":
		return text(rc.Name)
	case "type":
		return text(rc.TypeName)
	case "lower", "upper":
		if pc == nil || pc.Bounds == nil {
			return nil, nil
		}
		if name == "lower" {
			return text(pc.Bounds.Lo)
		}
		return text(pc.Bounds.Hi)
	case "domain":
		return columnDomain(pc), nil
	case "uses":
		return text(columnUses(t, pc))
	}
	return nil, fmt.Errorf("dpproxy.columns has no column %q", name)
}

// columnDomain is a declared domain as the policy states it.
func columnDomain(c *policy.Column) *string {
	switch {
	case c == nil:
		return nil
	case c.Values != nil:
		list := ""
		for i, v := range c.Values {
			if i > 0 {
				list += ", "
			}
			list += strconv.Quote(v)
		}
		return &list
	case c.ValuesFrom != nil:
		from := "values of " + c.ValuesFrom.Table.String() + "." + c.ValuesFrom.Column
		return &from
	}
	return nil
}

// columnUses says in words what a column is good for.
func columnUses(t *policy.Table, c *policy.Column) string {
	switch {
	case t.Public:
		return "anything"
	case c == nil:
		return "none"
	case t.Unit != nil && t.Unit.Column == c.Name:
		return "count(DISTINCT), join, group by inside a subquery"
	case t.Unit != nil && t.Unit.Via != nil && t.Unit.Via.Column == c.Name:
		return "join"
	case c.Bounds != nil && (c.Values != nil || c.ValuesFrom != nil):
		return "filter, aggregate, group by"
	case c.Bounds != nil:
		return "filter, aggregate, group by in buckets"
	case c.Values != nil || c.ValuesFrom != nil:
		return "filter, count, group by"
	}
	return "filter, count"
}
