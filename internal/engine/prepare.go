package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
	"github.com/dpproxy/dpproxy/internal/session"
)

// planKey is everything that an analysis depends on (PRIVACY 25); the policy version is the cache's own, since a reload
// starts a new cache.
type planKey struct {
	sql      string
	types    string // parameter types as the client gave them
	settings rewrite.Settings
}

// analysed is a cached analysis with what the shadow said of the statement.
type analysed struct {
	*rewrite.Analysis
	parameters []uint32
	columns    []pgconn.FieldDescription // format 0; nil: no result
	finished   sync.Map                  // finish queries whose types are checked
}

// prepared implements session.Prepared. The analysis is looked up again at Bind, because settings or the policy may have
// changed since.
type prepared struct {
	engine     *Engine
	statement  *rewrite.Statement
	types      []uint32
	parameters []uint32
	columns    []pgconn.FieldDescription
}

func (p *prepared) Params() []uint32                   { return p.parameters }
func (p *prepared) Columns() []pgconn.FieldDescription { return p.columns }

// still says that parameters and columns have the types that the client was told: it encodes and reads by them.
func (p *prepared) still(a *analysed) bool {
	same := func(x, y pgconn.FieldDescription) bool { return x.DataTypeOID == y.DataTypeOID }
	return slices.Equal(p.parameters, a.parameters) && slices.EqualFunc(p.columns, a.columns, same)
}

// Prepare has the shadow check names and types, then analyses. Refusals that need no parameter value come from here.
func (e *Engine) Prepare(ctx context.Context, scope session.Scope, st session.Statement, parameterTypes []uint32) (session.Prepared, error) {
	statement := st.Tree.(*rewrite.Statement)
	a, err := e.analyse(ctx, e.state.Load(), scope, statement, parameterTypes)
	if err != nil {
		e.metrics.Statement("refused")
		return nil, err
	}
	return &prepared{engine: e, statement: statement, types: parameterTypes, parameters: a.parameters, columns: a.columns}, nil
}

func (e *Engine) analyse(ctx context.Context, s *state, scope session.Scope, st *rewrite.Statement, types []uint32) (*analysed, error) {
	key := planKey{st.SQL, typesKey(types), rewriteSettings(scope)}
	if a, ok := s.plans.Get(key); ok {
		return a, nil
	}
	defer e.stage("analyse", time.Now())
	st, err := localised(st, scope.Database, s.policy.Limits.SQLBytes)
	if err != nil {
		return nil, err
	}
	text := st.SQL
	explain := st.Explain()
	if explain != nil {
		text = explain.Inner.SQL
	}
	described, err := s.backend.Describe(ctx, text, types, backendSettings(scope))
	if err != nil {
		return nil, err
	}
	analysis, err := rewrite.Analyze(s.schema, st, description(described), key.settings)
	if err != nil {
		return nil, err
	}
	if len(analysis.Assignments) > 0 {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "set_config() is answered on its own, not inside another query",
			pgerr.Hint("Write SET, or SELECT set_config(…) with nothing beside it."))
	}
	a := &analysed{Analysis: analysis, parameters: described.ParamOIDs}
	switch {
	case explain != nil:
		a.columns = explainColumns(explain)
	case analysis.Route == rewrite.RoutePrivate:
		a.columns = releasedColumns(described.Fields)
	default:
		// As the shadow describes the client's own text: its OIDs are those that its catalogs show (PRIVACY 28, 29).
		a.columns = described.Fields
	}
	s.plans.Add(key, a)
	return a, nil
}

// localised takes the database's name, which the shadow does not have, out of names that are written with it.
func localised(st *rewrite.Statement, database string, maxBytes int) (*rewrite.Statement, error) {
	text, err := catalog.Localize(st.Node, st.SQL, database)
	if err != nil || text == st.SQL {
		return st, err
	}
	parsed, err := rewrite.Parse(text, maxBytes)
	if err != nil {
		return nil, err
	}
	return parsed[0], nil
}

func description(d *pgconn.StatementDescription) rewrite.Description {
	out := rewrite.Description{ParameterTypes: d.ParamOIDs}
	for _, f := range d.Fields {
		out.Columns = append(out.Columns, rewrite.ColumnDescription{Name: f.Name, Type: f.DataTypeOID, Typmod: f.TypeModifier})
	}
	return out
}

// releasedColumns describes released values: names and types as Postgres gives them, from no table (PRIVACY 28).
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
		b.WriteByte(0x2c)
	}
	return b.String()
}

func rewriteSettings(scope session.Scope) rewrite.Settings {
	return rewrite.Settings{
		TimeZone: scope.Settings.TimeZone(), DateStyle: scope.Settings.DateStyle(), IntervalStyle: scope.Settings.IntervalStyle(),
		User: scope.User, Database: scope.Database,
	}
}

func backendSettings(scope session.Scope) backend.Settings {
	return backend.Settings{
		TimeZone: scope.Settings.TimeZone(), DateStyle: scope.Settings.DateStyle(), IntervalStyle: scope.Settings.IntervalStyle(),
		ExtraFloatDigits: scope.Settings.ExtraFloatDigits(), ByteaOutput: scope.Settings.ByteaOutput(),
	}
}

func (e *Engine) stage(name string, since time.Time) { e.metrics.Stage(name, time.Since(since)) }
