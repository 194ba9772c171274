package catalog

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Route says where a statement runs.
type Route int

const (
	Shadow Route = iota // catalog queries, statements without a table
	Public              // public tables of the policy
)

// Input holds what Check has to know besides the statement.
type Input struct {
	// Public lists the policy's public relations with the columns that analysts may see, in order; nil columns: all.
	Public map[policy.Name][]string
	// Views has what stands in the place of views of the policy, which read relations of Public.
	Views map[policy.Name]*pg_query.SelectStmt
	// Private lists the policy's private relations. Check refuses them, unless the statement is Empty.
	Private map[policy.Name]bool
	// Types lists the types that listed columns have and that are not built in: enums, domains.
	Types map[policy.Name]bool
	// Planned says that PostgreSQL is asked for the statement's plan on the shadow alone: it returns no row, as one that
	// is Empty.
	Planned bool
	// Chance says that the statement's rows are nobody's: what it calls may be drawn by chance.
	Chance bool
	// Schemas are the policy's schemas in search order. pg_catalog comes first unless it is in the list.
	Schemas []string
	// User and Database are what the client connected as.
	User, Database string
	// Databases are those that clients can connect to: pg_database lists them, too.
	Databases []string
	// Parameters is how many parameters the client binds; Check adds its own behind them and behind those in the text.
	Parameters int
	// ParameterTypes are their types, where known; nil skips the check of types.
	ParameterTypes []uint32
}

// Result is what to run, and where.
type Result struct {
	Route Route
	SQL   string
	// Supplies are the parameters that Check added; the engine binds them behind the client's.
	Supplies []Supply
	// Assignments are the settings that set_config() calls change; the session applies them as SET.
	Assignments []Assignment
}

// Assignment is one set_config() call.
type Assignment struct {
	Name      string
	Value     string
	Parameter int  // number of the client's parameter that holds the value; 0: Value does
	Local     bool // until the end of the transaction
}

// Check decides where stmt may run, and how its text has to read there. text is the statement's own text; locations in
// stmt are byte offsets into it. stmt is not changed.
//
// Errors are made by pgerr: 42501 for what is off the allow-lists or would write, 0A000 for what is not supported, with
// a position in characters of text and a hint.
func Check(stmt *pg_query.Node, text string, in Input) (Result, error) {
	tree := sqltree.Clone(stmt)
	c := newChecker(tree, text, in)
	if tree.GetSelectStmt() == nil {
		return Result{}, c.refused(tree.ProtoReflect())
	}
	if err := c.walk(tree.ProtoReflect(), nil); err != nil {
		return Result{}, err
	}
	if err := c.parameterTypes(); err != nil {
		return Result{}, err
	}
	if err := c.mix(); err != nil {
		return Result{}, err
	}
	sql, err := printed(stmt, tree, text)
	if err != nil {
		return Result{}, err
	}
	r := Result{Route: Shadow, SQL: sql, Supplies: c.supplies, Assignments: c.assignments}
	if c.publicAt >= 0 {
		r.Route = Public
	}
	return r, nil
}

// checker walks one statement.
type checker struct {
	in    Input
	text  sqltree.Text
	empty bool // the statement returns no row whatever the tables hold

	functionAliases map[string]map[string]bool // functions in FROM: name → column names given there
	readsCatalogs   bool                       // a relation of pg_catalog, by its name
	wholeRows       map[string]bool            // names of relations of which the statement takes whole rows
	tableOID        bool                       // a reference to tableoid
	parameters      int                        // the highest parameter number in the text
	parameterUses   map[int]int                // how often each occurs
	next            int                        // number of the last parameter in use
	supplies        []Supply
	assignments     []Assignment

	// byte offsets of the first use, -1 for none
	publicAt  int    // a public relation
	catalogAt int    // a catalog relation, or a function or type that reads catalogs
	systemAt  int    // a system column
	ageAt     int    // age() of a column
	catalog   string // what stands at catalogAt
}

func newChecker(tree *pg_query.Node, text string, in Input) *checker {
	c := &checker{
		in: in, text: sqltree.Text(text), empty: in.Planned || Empty(tree), publicAt: -1, catalogAt: -1, systemAt: -1,
		ageAt:           -1,
		functionAliases: map[string]map[string]bool{}, wholeRows: map[string]bool{}, parameterUses: map[int]int{},
	}
	c.survey(tree.ProtoReflect())
	c.next = max(in.Parameters, c.parameters)
	return c
}

// mix refuses a statement that needs both the catalogs of the shadow and rows that only public can read.
func (c *checker) mix() error {
	if c.ageAt >= 0 && (c.publicAt < 0 || c.parameters > 0) {
		return c.ageRefused("age", c.ageAt)
	}
	if c.publicAt < 0 {
		return nil
	}
	if c.catalogAt >= 0 {
		return c.refuse(refusal.CatalogForm, c.catalogAt, fmt.Sprintf("%s cannot be used together with public tables",
			c.catalog),
			"Public tables and catalogs live in different databases behind dpproxy; write two statements.")
	}
	if c.systemAt >= 0 {
		return c.refuse(refusal.SystemColumn, c.systemAt, "permission denied for system columns",
			"System columns (tableoid) are available in catalog queries only.")
	}
	return nil
}

// usesCatalog notes that the statement can run on the shadow only.
func (c *checker) usesCatalog(at int, what string) {
	if c.catalogAt < 0 {
		c.catalogAt, c.catalog = at, what
	}
}

// supply adds a parameter and returns its text, such as $3.
func (c *checker) supply(s Supply) string {
	for _, old := range c.supplies {
		if old.Kind == s.Kind && old.Name == s.Name {
			return fmt.Sprintf("$%d", old.Parameter)
		}
	}
	c.next++
	s.Parameter = c.next
	c.supplies = append(c.supplies, s)
	return fmt.Sprintf("$%d", s.Parameter)
}

func (c *checker) refuse(reason refusal.Reason, at int, message, hint string) error {
	return c.text.RefuseAt(reason, at, message, hint)
}
