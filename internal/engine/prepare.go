package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// analysisKey holds everything that an analysis depends on, except the policy (docs/privacy.md P22): a reload starts a
// new cache.
type analysisKey struct {
	sql      string
	types    string // parameter types as the client gave them
	settings rewrite.Settings
	sent     backend.Settings // what constants and public rows are read under, hence its plans
}

// analysed is a cached analysis with the types that the shadow found.
type analysed struct {
	*rewrite.Analysis
	number     int64            // names it to what is cached for it, which would keep it otherwise
	explain    *rewrite.Explain // nil: the statement is no EXPLAIN
	parameters []uint32
	columns    []pgconn.FieldDescription // format 0; nil: no result
	answer     []pgconn.FieldDescription // of the statement, or of the one inside EXPLAIN
	timeless   bool                      // its constants are the same at any time
	reworded   bool                      // positions in it are not those of the client's text
	finished   sync.Map                  // texts of finish queries whose types are checked
	bytes      int                       // that it takes, about
}

func newAnalyses() *lists[analysisKey, *analysed] {
	return newLists[analysisKey](analysisCacheSize, 0, analysisBytes, func(a *analysed) int { return a.bytes })
}

// prepared implements session.Prepared. The analysis is looked up again at Bind, because settings or the policy may
// have changed since.
type prepared struct {
	parsed
	types      []uint32 // parameter types as the client gave them
	parameters []uint32
	columns    []pgconn.FieldDescription
}

// Prepare has the shadow check names and types, then analyses. Refusals that need no parameter value come from here.
func (p parsed) Prepare(ctx context.Context, scope session.Scope, parameterTypes []uint32) (session.Prepared, error) {
	s, err := p.engine.enter()
	if err != nil {
		return nil, err
	}
	defer s.databases.Leave()
	if err := p.engine.knows(s, scope.Analyst); err != nil {
		return nil, err
	}
	a, err := p.engine.analyse(ctx, s, scope, p.statement, parameterTypes, s.rewriteSettings(scope))
	if err != nil {
		p.engine.metrics.Statement("refused")
		return nil, p.placed(s.offered(scope, err))
	}
	return &prepared{parsed: p, types: parameterTypes, parameters: a.parameters, columns: a.columns}, nil
}

// placed has the position of an error count from the beginning of an EXPLAIN: what is analysed is the statement inside
// it.
func (p parsed) placed(err error) error {
	x := p.statement.Explain()
	var e *pgconn.PgError
	if x == nil || !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	moved := *e
	moved.Position += int32(x.Inner.Offset - p.statement.Offset)
	return &moved
}

func (p *prepared) Params() []uint32                   { return p.parameters }
func (p *prepared) Columns() []pgconn.FieldDescription { return p.columns }

// sameTypes says that parameters and columns have the types that the client knows: it encodes and reads by them.
func (p *prepared) sameTypes(a *analysed) bool {
	same := func(x, y pgconn.FieldDescription) bool { return x.DataTypeOID == y.DataTypeOID }
	return slices.Equal(p.parameters, a.parameters) && slices.EqualFunc(p.columns, a.columns, same)
}

// named lists databases: database "clinic", or databases "clinic", "trials".
func named(databases []string) string {
	word := "database "
	if len(databases) > 1 {
		word = "databases "
	}
	quoted := make([]string, len(databases))
	for i, name := range databases {
		quoted[i] = strconv.Quote(name)
	}
	return word + strings.Join(quoted, ", ")
}

// analyse takes the analysis from the cache, or makes it.
func (e *Engine) analyse(ctx context.Context, s *state, scope session.Scope, st *rewrite.Statement, types []uint32,
	settings rewrite.Settings,
) (*analysed, error) {
	key := analysisKey{st.SQL, typesKey(types), settings, backendSettings(scope)}
	if a, ok := s.analyses.get(key); ok {
		return a, nil
	}
	defer e.stage(ctx, "analyse", time.Now())
	st, err := localized(st, scope.Database, s.policy.Limits.SQLBytes)
	if err != nil {
		return nil, err
	}
	explain := st.Explain()
	analysis, described, err := e.describe(ctx, s, scope, st, types, key.settings)
	if err != nil {
		return nil, err
	}
	reworded := false
	if key.settings.Intervals {
		var wider *rewrite.Statement
		if wider, reworded, err = analysis.WithIntervals(st, s.policy.Limits.SQLBytes); err != nil {
			return nil, e.reported(err, scope.Analyst)
		}
		if reworded {
			if analysis, described, err = e.describe(ctx, s, scope, wider, described.ParamOIDs, key.settings); err != nil {
				return nil, rewrite.WithoutPosition(err)
			}
		}
	}
	if scope.Database == session.Maintenance && s.info.Database != session.Maintenance &&
		analysis.Route != rewrite.RouteShadow {
		return nil, pgerr.New(pgerr.UndefinedTable, "the tables are in "+named(s.schema.Databases),
			pgerr.Hint("Connect there: %q has the catalogs alone.", session.Maintenance))
	}
	if len(analysis.Assignments) > 0 {
		return nil, refusal.New(refusal.OwnTables, "set_config() is answered on its own, not inside another query",
			pgerr.Hint("Write SET, or SELECT set_config(…) with nothing beside it."))
	}
	a := &analysed{
		Analysis: analysis, number: e.analyses.Add(1), explain: explain, parameters: described.ParamOIDs,
		answer: described.Fields, timeless: timeless(analysis.Constants()), reworded: reworded,
	}
	switch {
	case explain != nil:
		a.columns = explainColumns(explain)
	case analysis.Route == rewrite.RoutePrivate:
		a.columns = releasedColumns(described.Fields)
	default:
		a.columns = described.Fields // as the shadow describes the client's own text
	}
	a.bytes = 2*session.TreeBytes*len(key.sql) + len(key.types) + 4*len(a.parameters)
	s.analyses.add(key, a)
	return a, nil
}

// describe has the shadow check a statement, of an EXPLAIN the one inside, and analyses it.
func (e *Engine) describe(ctx context.Context, s *state, scope session.Scope, st *rewrite.Statement, types []uint32,
	settings rewrite.Settings,
) (*rewrite.Analysis, *pgconn.StatementDescription, error) {
	text := st.SQL
	if explain := st.Explain(); explain != nil {
		text = explain.Inner.SQL
	}
	described, err := s.databases.Describe(ctx, text, types, backendSettings(scope))
	if err != nil {
		return nil, nil, pointed(err)
	}
	d := description(described)
	d.Describe = func(sql string) ([]rewrite.ColumnDescription, error) {
		other, err := s.databases.Describe(ctx, sql, described.ParamOIDs, backendSettings(scope))
		if err != nil {
			return nil, err
		}
		return description(other).Columns, nil
	}
	analysis, err := rewrite.Analyze(ctx, s.schema, st, d, settings)
	if err != nil {
		return nil, nil, pointed(e.reported(err, scope.Analyst))
	}
	return analysis, described, nil
}

// pointed adds to the error of a table or column that does not exist, or is not listed, where those are that may be
// asked. PostgreSQL's own hint stays.
func pointed(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Hint != "" || e.Code != pgerr.UndefinedTable && e.Code != pgerr.UndefinedColumn {
		return err
	}
	hinted := *e
	hinted.Hint = "SELECT * FROM dpproxy.columns lists what may be asked."
	return &hinted
}

// reported logs a fault of the analysis, which the client sees only as a refusal.
func (e *Engine) reported(err error, analyst string) error {
	var fault *rewrite.Fault
	if !errors.As(err, &fault) {
		return err
	}
	e.log.Error("the analysis of a statement failed", "analyst", analyst, "fault", fault.What, "stack", fault.Stack)
	return fault.Unwrap()
}

func description(d *pgconn.StatementDescription) rewrite.Description {
	out := rewrite.Description{ParameterTypes: d.ParamOIDs}
	for _, f := range d.Fields {
		out.Columns = append(out.Columns, rewrite.ColumnDescription{
			Name: f.Name, Type: f.DataTypeOID,
			Typmod: f.TypeModifier,
		})
	}
	return out
}

// releasedColumns describes released values: names and types as PostgreSQL gives them, and no table that they are from.
func releasedColumns(fields []pgconn.FieldDescription) []pgconn.FieldDescription {
	out := slices.Clone(fields)
	for i := range out {
		out[i].TableOID, out[i].TableAttributeNumber, out[i].Format = 0, 0, 0
	}
	return out
}

func typesKey(types []uint32) string {
	var b strings.Builder
	for _, t := range types {
		b.WriteString(strconv.FormatUint(uint64(t), 10))
		b.WriteByte(',')
	}
	return b.String()
}

// rewriteSettings are the session's, and the policy's where it has set none.
func (s *state) rewriteSettings(scope session.Scope) rewrite.Settings {
	return rewrite.Settings{
		TimeZone: scope.Settings.TimeZone(), DateStyle: scope.Settings.DateStyle(),
		IntervalStyle: scope.Settings.IntervalStyle(),
		User:          scope.User, Database: scope.Database, MaxRows: scope.Settings.Rows("dpproxy.max_rows"),
		MaxRowsPerGroup: scope.Settings.Rows("dpproxy.max_rows_per_group"),
		Intervals: scope.Settings.Intervals(
			s.policy.Defaults.Intervals),
		SyntheticRows: scope.Settings.SyntheticRows(s.policy.RowsOf(scope.Analyst)), Synthetic: scope.Settings.Synthetic(),
	}
}

// backendSettings are all of the session's that reach a backend.
func backendSettings(scope session.Scope) backend.Settings {
	return backend.Settings{
		TimeZone: scope.Settings.TimeZone(), DateStyle: scope.Settings.DateStyle(),
		IntervalStyle:    scope.Settings.IntervalStyle(),
		ExtraFloatDigits: scope.Settings.ExtraFloatDigits(), ByteaOutput: scope.Settings.ByteaOutput(),
	}
}

// stage tells the metrics how long a stage took, and ctx's trace what may be told of it.
func (e *Engine) stage(ctx context.Context, name string, since time.Time) {
	e.metrics.Stage(name, time.Since(since))
	session.TraceOf(ctx).Stage(name, since)
}

// privately tells the metrics alone: the duration may depend on private rows.
func (e *Engine) privately(name string, since time.Time) { e.metrics.Stage(name, time.Since(since)) }
