package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/help"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

// historyLimit bounds dpproxy.history to an analyst's latest statements.
const historyLimit = 10000

// supply gives the value of a parameter in place of a relation of schema dpproxy, or of a setting.
func (c *call) supply(ctx context.Context, s catalog.Supply) ([]byte, error) {
	switch s.Kind {
	case catalog.SupplyBudget:
		return c.budgetColumn(ctx, s.Name)
	case catalog.SupplyHistory:
		return c.historyColumn(ctx, s.Name)
	case catalog.SupplyColumns:
		return c.columnsColumn(s.Name)
	case catalog.SupplyLast:
		return c.lastColumn(s.Name)
	case catalog.SupplyHelp:
		return helpColumn(s.Name)
	case catalog.SupplySetting:
		if value := c.setting(s.Name); value != "" {
			return []byte(value), nil
		}
		return nil, nil
	}
	return nil, fmt.Errorf("supply kind %d is unknown", s.Kind)
}

// setting gives a session's setting as SHOW prints it: where it is not set, as the policy has it.
func (c *call) setting(name string) string {
	value, defaults := c.scope.Settings.Get(name), c.state.policy.Defaults
	switch {
	case value != "":
		return value
	case name == "dpproxy.epsilon":
		return strconv.FormatFloat(defaults.Epsilon, 'g', -1, 64)
	case name == "dpproxy.empty_groups":
		return defaults.EmptyGroups
	case name == "dpproxy.intervals" && defaults.Intervals:
		return "on"
	case name == "dpproxy.intervals":
		return "off"
	}
	return ""
}

// budgetColumn gives one column of dpproxy.budget, which has one row: the analyst's.
func (c *call) budgetColumn(ctx context.Context, name string) ([]byte, error) {
	if c.budgeted == nil {
		b, err := c.engine.ledger.Balance(ctx, c.scope.Analyst)
		if err != nil {
			return nil, err
		}
		c.budgeted = &b
	}
	b := c.budgeted
	switch name {
	case "analyst":
		return encodeText(pgtype.TextArrayOID, []string{c.scope.Analyst})
	case "period_ends":
		return encodeText(pgtype.TimestamptzArrayOID, []pgtype.Timestamptz{{Time: b.PeriodEnds, Valid: !b.PeriodEnds.IsZero()}})
	}
	value, known := map[string]float64{
		"epsilon_total": b.EpsilonTotal, "epsilon_spent": b.EpsilonSpent, "epsilon_left": b.EpsilonLeft, "delta": b.Delta,
		"share_spent": b.ShareSpent, "share_left": b.ShareLeft,
	}[name]
	if !known {
		return nil, fmt.Errorf("dpproxy.budget has no column %q", name)
	}
	return encodeText(pgtype.Float8ArrayOID, []float64{value})
}

// historyColumn gives one column of dpproxy.history: the statements of the analyst, latest first.
func (c *call) historyColumn(ctx context.Context, name string) ([]byte, error) {
	if c.past == nil {
		var err error
		if c.past, err = c.engine.ledger.History(ctx, c.scope.Analyst, historyLimit); err != nil {
			return nil, err
		}
	}
	entries := c.past
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
	case "share":
		out := make([]float64, len(entries))
		for i, e := range entries {
			out[i] = e.Share
		}
		return encodeText(pgtype.Float8ArrayOID, out)
	}
	return nil, fmt.Errorf("dpproxy.history has no column %q", name)
}

// helpColumn gives one column of dpproxy.help, which is the same for everyone.
func helpColumn(name string) ([]byte, error) {
	topics, err := help.Topics()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(topics))
	for i, t := range topics {
		switch name {
		case "topic":
			out[i] = t.Name
		case "text":
			out[i] = t.Text
		default:
			return nil, fmt.Errorf("dpproxy.help has no column %q", name)
		}
	}
	return encodeText(pgtype.TextArrayOID, out)
}

// columnsColumn gives one column of dpproxy.columns: what the policy lets analysts use, in the policy's order, tables first.
func (c *call) columnsColumn(name string) ([]byte, error) {
	var out []*string
	add := func(relation policy.Name) error {
		for _, use := range rewrite.Uses(c.state.schema, relation) {
			value, err := columnFact(relation, use, name)
			if err != nil {
				return err
			}
			out = append(out, value)
		}
		return nil
	}
	for _, t := range c.state.policy.Tables {
		if err := add(t.Name); err != nil {
			return nil, err
		}
	}
	for _, view := range c.state.policy.Views {
		if err := add(view); err != nil {
			return nil, err
		}
	}
	return encodeText(pgtype.TextArrayOID, out)
}

func columnFact(relation policy.Name, use rewrite.ColumnUse, name string) (*string, error) {
	text := func(s string) (*string, error) { return &s, nil }
	bounded := use.Policy != nil && use.Policy.Bounds != nil
	switch name {
	case "table_name":
		if relation.Schema == "public" {
			return text(relation.Relation)
		}
		return text(relation.String())
	case "column_name":
		return text(use.Column.Name)
	case "type":
		return text(use.Column.TypeName)
	case "lower":
		if bounded {
			return text(use.Policy.Bounds.Lo)
		}
		return nil, nil
	case "upper":
		if bounded {
			return text(use.Policy.Bounds.Hi)
		}
		return nil, nil
	case "domain":
		return columnDomain(use.Policy), nil
	case "uses":
		return text(use.Uses)
	}
	return nil, fmt.Errorf("dpproxy.columns has no column %q", name)
}

// columnDomain prints a declared domain as the policy states it.
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
