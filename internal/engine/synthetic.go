package engine

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// syntheticWarning comes with every answer of the twin.
const syntheticWarning = "dpproxy: these rows are synthetic: drawn from released statistics, nobody's data"

// synthetic is a bound statement that runs on the synthetic twin, wholly and as the client wrote it. It costs nothing:
// what is computed of released statistics releases nothing more.
type synthetic struct{ *open }

// bindSynthetic refuses what an analyst may not ask of the twin, also where a reload has taken it from them: what they
// take to be free is not asked of the data in its place.
func (c *call) bindSynthetic(ctx context.Context) (session.Bound, error) {
	if c.state.policy.RowsOf(c.scope.Analyst) != policy.SyntheticRows {
		return nil, refusal.New(refusal.NoSyntheticRows, "the policy shows you no synthetic rows any more",
			pgerr.Hint("Nothing was charged. RESET dpproxy.source asks the data."))
	}
	drawn, err := c.state.databases.Drawn(ctx)
	if err != nil {
		return nil, err
	}
	if !drawn {
		return nil, refusal.New(refusal.NoSyntheticRows, "there are no synthetic rows yet",
			pgerr.Hint("Nothing was charged. Tell the administrator: dpproxy synthesize draws them."))
	}
	o, err := c.bindOpen(ctx)
	if err != nil {
		return nil, err
	}
	return synthetic{o}, nil
}

// Released implements session.Releaser: dpproxy.last says of each column that it is synthetic.
func (o synthetic) Released() []session.Released {
	list := make([]session.Released, len(o.analysis.columns))
	for i, column := range o.analysis.columns {
		list[i] = session.Released{Column: column.Name, Mechanism: session.Synthetic}
	}
	return list
}

// warnings come behind the rows of a statement that runs as the client wrote it.
func (c *call) warnings() []*pgconn.Notice {
	if c.analysis.Route != rewrite.RouteSynthetic {
		return nil
	}
	return []*pgconn.Notice{{
		Severity: "WARNING", SeverityUnlocalized: "WARNING", Code: "01000", Message: syntheticWarning,
	}}
}

// offered adds to a refusal of private rows that the analyst may have synthetic ones.
func (s *state) offered(scope session.Scope, err error) error {
	var e *pgconn.PgError
	if !refusal.OfRows(err) || !errors.As(err, &e) || s.policy.RowsOf(scope.Analyst) != policy.SyntheticRows {
		return err
	}
	hinted := *e
	hinted.Hint = "SET dpproxy.rows = synthetic shows rows that are nobody's. " + e.Hint
	return &hinted
}
