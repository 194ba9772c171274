package synthetic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/ask"
	"github.com/dpproxy/dpproxy/internal/ledger"
)

// charges is what a survey has charged, and what the ledger says of it.
type charges struct {
	statements int
	balance    ledger.Balance
}

// asking asks through the engine; the first error of a statement ends it.
func asking(a *ask.Asker, at price, done *charges) func(ctx context.Context, list []*count) error {
	return func(ctx context.Context, list []*count) error {
		statements := make([]ask.Statement, len(list))
		for i, c := range list {
			statements[i] = ask.Statement{
				SQL: c.sql, Epsilon: at.at(c.part),
				Settings: map[string]string{"dpproxy.empty_groups": "keep"},
			}
			if c.rows > 0 {
				statements[i].Settings["dpproxy.max_rows"] = strconv.Itoa(c.rows)
				statements[i].Settings["dpproxy.max_rows_per_group"] = strconv.Itoa(c.group)
			}
		}
		answers, err := a.Plan(ctx, statements)
		if err != nil {
			return err
		}
		for i, at := range answers { // what is refused costs nothing, and neither does the rest then
			if at.Err == nil && at.Charge.SelectionDelta > 0 { // docs/privacy.md P33: no key is a value of a row
				at.Err = errors.New("its values are not declared, or too many")
			}
			if at.Err != nil {
				return fmt.Errorf("%s: %w", list[i].what, at.Err)
			}
		}
		if done.statements == 0 { // all of it must fit before a part of it is charged
			whole := slices.Repeat([]ledger.Charge{answers[0].Charge}, int(math.Round(1/list[0].part)))
			if _, err := a.Preview(ctx, whole); err != nil {
				return fmt.Errorf("nothing was charged: a twin at epsilon %g: %w", at.epsilon, err)
			}
		}
		balance, err := a.Ask(ctx, answers)
		if err != nil {
			return err
		}
		done.statements, done.balance = done.statements+len(list), balance
		for i, c := range list {
			if err := answers[i].Err; err != nil {
				return fmt.Errorf("%s: %w", c.what, err)
			}
			for _, row := range answers[i].Rows {
				c.noise = math.Max(c.noise, numberIn(row[len(row)-1]))
			}
			c.read(answers[i].Rows)
		}
		return nil
	}
}
