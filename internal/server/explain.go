package server

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/engine"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/metrics"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Explain says what a statement would cost and how well it would be answered: the text of EXPLAIN. It needs the shadow
// and main's catalogs, and reads no row and no ledger: budgets count as untouched. epsilon 0 is the policy's.
func Explain(ctx context.Context, p *policy.Policy, log *slog.Logger, analyst string, epsilon float64, sql string) (
	lines []string, err error,
) {
	err = explaining(ctx, p, log, analyst, epsilon, func(e *engine.Engine, scope session.Scope) (err error) {
		lines, err = e.Explain(ctx, scope, sql)
		return err
	})
	return lines, err
}

// Certify says what is derived of each query for main that a statement would run, from its text alone. It reads what
// Explain reads.
func Certify(ctx context.Context, p *policy.Policy, log *slog.Logger, sql string) (readings []gate.Reading, err error) {
	err = explaining(ctx, p, log, p.AnyAnalyst(), 0, func(e *engine.Engine, scope session.Scope) (err error) {
		readings, err = e.Certify(ctx, scope, sql)
		return err
	})
	return readings, err
}

// CertifyQueries says what is derived of queries for main, whoever has written them.
func CertifyQueries(ctx context.Context, p *policy.Policy, log *slog.Logger, queries []gate.Query) (
	readings []gate.Reading, err error,
) {
	err = explaining(ctx, p, log, p.AnyAnalyst(), 0, func(e *engine.Engine, _ session.Scope) error {
		facts := e.Facts()
		readings = gate.Derived(facts, gate.Read(facts, queries))
		return nil
	})
	return readings, err
}

// explaining gives an engine without a ledger, and an analyst's session.
func explaining(ctx context.Context, p *policy.Policy, log *slog.Logger, analyst string, epsilon float64,
	use func(*engine.Engine, session.Scope) error,
) error {
	st, err := open(ctx, p, log)
	if err != nil {
		return err
	}
	defer st.close()
	e, err := explainer(ctx, st.databases[0])
	if err != nil {
		return err
	}
	scope, err := explainScope(ctx, e, p, analyst, epsilon)
	if err != nil {
		return err
	}
	return use(e, scope)
}

// CheckViews plans a count of the rows of every view that the policy lists, as an analyst's, and returns why one cannot
// be asked.
func CheckViews(ctx context.Context, p *policy.Policy, log *slog.Logger) (map[policy.Name]error, error) {
	found := map[policy.Name]error{}
	if len(p.Views) == 0 {
		return found, nil
	}
	err := explaining(ctx, p, log, p.AnyAnalyst(), 0, func(e *engine.Engine, scope session.Scope) error {
		for _, v := range p.Views {
			if _, err := e.Explain(ctx, scope, "SELECT count(*) FROM "+pgx.Identifier{v.Schema, v.Relation}.Sanitize()); err != nil {
				found[v] = err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// explainer is an engine without a ledger.
func explainer(ctx context.Context, d *database) (*engine.Engine, error) {
	return engine.New(ctx, d.policy, d.backend, untouched{d.policy}, metrics.New(), slog.New(slog.DiscardHandler))
}

// explainScope is an analyst's session in which nothing but epsilon was set; 0 is the policy's.
func explainScope(ctx context.Context, e *engine.Engine, p *policy.Policy, analyst string, epsilon float64) (
	session.Scope, error,
) {
	info, err := e.Info(ctx)
	if err != nil {
		return session.Scope{}, err
	}
	settings := session.Settings{}.With("timezone", "UTC").With("datestyle", "ISO, MDY").With("intervalstyle", "postgres").
		With("extra_float_digits", "1").With("bytea_output", "hex")
	if epsilon != 0 {
		settings = settings.With("dpproxy.epsilon", strconv.FormatFloat(epsilon, 'g', -1, 64))
	}
	account := memory.New(p.Limits.Memory).Open(analyst)
	return session.Scope{Analyst: analyst, User: analyst, Database: info.Database, Settings: settings, Memory: account},
		nil
}

// untouched implements a ledger to explain with: every budget is whole, and nothing can be charged.
type untouched struct{ policy *policy.Policy }

var errExplains = errors.New("explain charges nothing")

func (untouched) Spend(context.Context, string, []ledger.Charge) (ledger.Balance, error) {
	return ledger.Balance{}, errExplains
}

// book is a book on an account without records.
func (u untouched) book(analyst string) (*accounting.Book, error) {
	rules, err := accounting.NewRules(ledger.ConfigOf(u.policy))
	if err != nil {
		return nil, err
	}
	return accounting.NewBook(rules, time.Now(), accounting.NewAccount(analyst), nil), nil
}

func (u untouched) Balance(_ context.Context, analyst string) (ledger.Balance, error) {
	b, err := u.book(analyst)
	if err != nil {
		return ledger.Balance{}, err
	}
	return b.Balance(), nil
}

// Preview is what a ledger says of the first charges to a budget.
func (u untouched) Preview(_ context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error) {
	b, err := u.book(analyst)
	if err != nil {
		return ledger.Balance{}, err
	}
	balance, err := b.Spend(charges)
	return balance, ledger.ClientError(b.Rules.Log, err)
}

func (untouched) History(context.Context, string, int) ([]ledger.HistoryEntry, error) {
	return nil, nil
}

// Answer finds nothing: explain reads neither the answers nor the secrets of a ledger.
func (untouched) Answer(context.Context, string) ([]byte, bool, error) { return nil, false, nil }

func (untouched) PutAnswer(_ context.Context, _ string, answer []byte, _ time.Duration) ([]byte, error) {
	return answer, nil
}
func (untouched) GiveUp(string)                                        {}
func (untouched) Fail(context.Context, string, string) error           { return nil }
func (untouched) Releasable(context.Context, string) error             { return nil }
func (untouched) Failed(context.Context, string, string) (bool, error) { return false, nil }
func (untouched) Close() error                                         { return nil }
