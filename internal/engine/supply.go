package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/help"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
	"github.com/dpproxy/dpproxy/internal/session"
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
	case name == "dpproxy.rows":
		return c.state.policy.RowsOf(c.scope.Analyst)
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
		return encodeText(pgtype.TimestamptzArrayOID, []pgtype.Timestamptz{
			{Time: b.PeriodEnds, Valid: !b.PeriodEnds.IsZero()},
		})
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

// column prints one value of each row as an array.
func column[T, V any](oid uint32, rows []T, of func(T) V) ([]byte, error) {
	out := make([]V, len(rows))
	for i, row := range rows {
		out[i] = of(row)
	}
	return encodeText(oid, out)
}

// historyColumn gives one column of dpproxy.history: the statements of the analyst, latest first.
func (c *call) historyColumn(ctx context.Context, name string) ([]byte, error) {
	if c.past == nil {
		var err error
		if c.past, err = c.engine.ledger.History(ctx, c.scope.Analyst, historyLimit); err != nil {
			return nil, err
		}
	}
	switch name {
	case "at":
		return column(pgtype.TimestamptzArrayOID, c.past, func(e ledger.HistoryEntry) time.Time { return e.At })
	case "query":
		return column(pgtype.TextArrayOID, c.past, func(e ledger.HistoryEntry) string { return e.Query })
	case "epsilon":
		return column(pgtype.Float8ArrayOID, c.past, func(e ledger.HistoryEntry) float64 { return e.Epsilon })
	case "share":
		return column(pgtype.Float8ArrayOID, c.past, func(e ledger.HistoryEntry) float64 { return e.Share })
	}
	return nil, fmt.Errorf("dpproxy.history has no column %q", name)
}

// helpColumn gives one column of dpproxy.help, which is the same for everyone.
func helpColumn(name string) ([]byte, error) {
	topics, err := help.Topics()
	switch {
	case err != nil:
		return nil, err
	case name == "topic":
		return column(pgtype.TextArrayOID, topics, func(t help.Topic) string { return t.Name })
	case name == "text":
		return column(pgtype.TextArrayOID, topics, func(t help.Topic) string { return t.Text })
	}
	return nil, fmt.Errorf("dpproxy.help has no column %q", name)
}

// lastColumn gives one column of dpproxy.last: the aggregates of the session's last private statement.
func (c *call) lastColumn(name string) ([]byte, error) {
	text := func(of func(session.Released) string) ([]byte, error) {
		return column(pgtype.TextArrayOID, c.scope.Last, func(r session.Released) pgtype.Text {
			return pgtype.Text{String: of(r), Valid: of(r) != ""}
		})
	}
	number := func(of func(session.Released) *float64) ([]byte, error) {
		return column(pgtype.Float8ArrayOID, c.scope.Last, of)
	}
	switch name {
	case "column_name":
		return text(func(r session.Released) string { return r.Column })
	case "mechanism":
		return text(func(r session.Released) string { return r.Mechanism })
	case "place":
		return text(func(r session.Released) string { return r.Place })
	case "scale":
		return number(func(r session.Released) *float64 {
			if r.Scale == 0 {
				return nil
			}
			return &r.Scale
		})
	case "margin":
		return number(func(r session.Released) *float64 { return r.Margin })
	case "left_out":
		return number(func(r session.Released) *float64 { return r.LeftOut })
	case "epsilon":
		return number(func(r session.Released) *float64 { return &r.Epsilon })
	}
	return nil, fmt.Errorf("dpproxy.last has no column %q", name)
}

// columnsColumn gives one column of dpproxy.columns: what the policy lets analysts use, in the policy's order, tables
// first.
func (c *call) columnsColumn(name string) ([]byte, error) {
	relations := make([]policy.Name, 0, len(c.state.policy.Tables)+len(c.state.policy.Views))
	for _, t := range c.state.policy.Tables {
		relations = append(relations, t.Name)
	}
	var out []*string
	for _, relation := range append(relations, c.state.policy.Views...) {
		for _, use := range rewrite.Uses(c.state.schema, relation) {
			value, err := columnFact(relation, use, name)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
	}
	return encodeText(pgtype.TextArrayOID, out)
}

// columnFact is what dpproxy.columns says of a column; nil: NULL.
func columnFact(relation policy.Name, use rewrite.ColumnUse, name string) (*string, error) {
	var bounds policy.Bounds
	if use.Policy != nil && use.Policy.Bounds != nil {
		bounds = *use.Policy.Bounds
	}
	fact := ""
	switch name {
	case "table_name":
		if fact = relation.String(); relation.Schema == "public" {
			fact = relation.Relation
		}
	case "column_name":
		fact = use.Column.Name
	case "type":
		fact = use.Column.TypeName
	case "lower":
		fact = bounds.Lo
	case "upper":
		fact = bounds.Hi
	case "domain":
		fact = columnDomain(use.Policy)
	case "uses":
		return &use.Uses, nil
	default:
		return nil, fmt.Errorf("dpproxy.columns has no column %q", name)
	}
	if fact == "" {
		return nil, nil
	}
	return &fact, nil
}

// columnDomain prints a declared domain as the policy states it; empty: none is declared.
func columnDomain(c *policy.Column) string {
	switch {
	case c == nil || c.Values == nil && c.ValuesFrom == nil:
		return ""
	case c.Values == nil:
		return "values of " + c.ValuesFrom.Table.String() + "." + c.ValuesFrom.Column
	}
	list := make([]string, len(c.Values))
	for i, v := range c.Values {
		list[i] = strconv.Quote(v)
	}
	return strings.Join(list, ", ")
}
