package refusal

import "github.com/dpproxy/dpproxy/internal/pgerr"

// Reason is why a question is refused.
type Reason int

// The reasons, in the order of docs/refusals.md.
const (
	// What an answer may hold.
	Rows Reason = iota
	ReturnsValues
	UnitKey
	Ungrouped
	ReadOnly
	Procedure

	// Joins and subqueries of private tables.
	JoinOnUnit
	SubqueryOnUnit
	MixedUnits
	JoinMultiplies
	PublicRowsKept
	SeveralRows
	SubqueryForm
	AgainstReleased
	FromItem
	Recursive
	Tablesample

	// Rows that are set against rows of other persons.
	Distinct
	SetOperation
	Limit
	Window
	RowOrder

	// Group keys.
	TooManyGroups
	KeyValues
	SmallGroups
	GroupingSets

	// Aggregates.
	NoBounds
	Grid
	Aggregate
	AggregateForm
	AggregatePerUnit
	PublicAggregate
	NeedsAggregate
	Interval
	Margin

	// Expressions over private rows.
	Overflow
	Division
	ArgumentRange
	Cast
	DomainCast
	ConstantNeeded
	Pattern
	TextLength
	Collation
	DateField
	DateStyle
	TimeZone
	Format
	Function
	Operator
	Types
	Array
	RowValue
	Parameter
	Construct

	// Above the aggregates.
	BesideReleased
	OwnTables
	AnotherForm
	ExplainAnalyze

	// Catalogs and public tables.
	CatalogObject
	CatalogForm
	SystemColumn

	// Limits.
	TooLong
	TooComplex
	TooMuchWork

	// The databases.
	Database
	EqualValues
	NoMechanism
	NotCertified
	NoSyntheticRows

	count
)

// reasons gives each its section of docs/refusals.md, its SQLSTATE, and what to write instead where the place that
// refuses knows nothing better.
var reasons = [count]struct{ anchor, code, instead string }{
	Rows:          {"rows-are-never-returned", pgerr.InsufficientPrivilege, ""},
	ReturnsValues: {"aggregates-that-return-values", pgerr.InsufficientPrivilege, ""},
	UnitKey:       {"grouping-by-the-unit", pgerr.InsufficientPrivilege, ""},
	Ungrouped:     {"ungrouped-columns", pgerr.FeatureNotSupported, "Aggregate the column, or group by it."},
	ReadOnly: {
		"read-only", pgerr.InsufficientPrivilege,
		"Leave it out: dpproxy changes nothing, and WITH … AS (…) holds what a temporary table would.",
	},
	Procedure: {
		"statements-that-run-others", pgerr.FeatureNotSupported,
		"Send the queries that it would run as statements of their own.",
	},

	JoinOnUnit:      {"join-on-the-unit", pgerr.FeatureNotSupported, ""},
	SubqueryOnUnit:  {"subquery-on-the-unit", pgerr.FeatureNotSupported, ""},
	MixedUnits:      {"mixed-units", pgerr.FeatureNotSupported, "Ask about each kind of unit in a statement of its own."},
	JoinMultiplies:  {"join-multiplies", pgerr.FeatureNotSupported, ""},
	PublicRowsKept:  {"public-rows-kept", pgerr.FeatureNotSupported, ""},
	SeveralRows:     {"subquery-of-several-rows", pgerr.FeatureNotSupported, ""},
	SubqueryForm:    {"subquery-form", pgerr.FeatureNotSupported, ""},
	AgainstReleased: {"rows-against-an-aggregate", pgerr.FeatureNotSupported, ""},
	FromItem: {
		"from-items", pgerr.FeatureNotSupported,
		"Use tables of the policy, subqueries, joins, VALUES, generate_series or unnest of constants.",
	},
	Recursive:   {"recursive", pgerr.FeatureNotSupported, ""},
	Tablesample: {"tablesample", pgerr.FeatureNotSupported, ""},

	Distinct: {"distinct-rows", pgerr.FeatureNotSupported, ""},
	SetOperation: {
		"set-operations", pgerr.FeatureNotSupported,
		"Write UNION ALL, or select the unit at the same place on both sides.",
	},
	Limit: {"limit-of-rows", pgerr.FeatureNotSupported, ""},
	Window: {
		"windows-over-rows", pgerr.FeatureNotSupported,
		"Put the unit into PARTITION BY, or the window above an aggregate.",
	},
	RowOrder: {"order-of-rows", pgerr.FeatureNotSupported, ""},

	TooManyGroups: {"too-many-groups", pgerr.FeatureNotSupported, ""},
	KeyValues:     {"values-of-a-key", pgerr.FeatureNotSupported, ""},
	SmallGroups:   {"small-groups", pgerr.FeatureNotSupported, ""},
	GroupingSets:  {"grouping-sets", pgerr.FeatureNotSupported, "Name the sets that you need: GROUPING SETS ((a), (b))."},

	NoBounds: {"no-bounds", pgerr.FeatureNotSupported, "Bound it: LEAST(GREATEST(x, low), high)."},
	Grid:     {"too-fine-a-grid", pgerr.FeatureNotSupported, ""},
	Aggregate: {
		"aggregates", pgerr.FeatureNotSupported,
		"Use count, sum, avg, min, max, a variance, a percentile, bool_and or bool_or, of numbers, dates and times.",
	},
	AggregateForm: {
		"form-of-an-aggregate", pgerr.FeatureNotSupported,
		"Leave out what stands beside the arguments, or aggregate the rows of each unit in a subquery first.",
	},
	AggregatePerUnit: {"aggregates-per-unit", pgerr.FeatureNotSupported, ""},
	PublicAggregate:  {"aggregates-of-public-rows", pgerr.FeatureNotSupported, ""},
	NeedsAggregate:   {"functions-of-released-aggregates", pgerr.FeatureNotSupported, ""},
	Interval: {
		"intervals", pgerr.FeatureNotSupported,
		"Ask for the interval of a count, a sum, an average or a quantile.",
	},
	Margin: {"margins", pgerr.FeatureNotSupported, ""},

	Overflow: {
		"overflow", pgerr.FeatureNotSupported,
		"Bound the operands with LEAST(GREATEST(x, low), high), or cast them to numeric.",
	},
	Division: {"division-by-zero", pgerr.FeatureNotSupported, "Write CASE WHEN y <> 0 THEN x / y END."},
	ArgumentRange: {
		"range-of-an-argument", pgerr.FeatureNotSupported,
		"Keep the argument in its range with LEAST(GREATEST(x, low), high).",
	},
	Cast: {
		"casts", pgerr.FeatureNotSupported,
		"Cast constants and parameters only, or compare the column as it is.",
	},
	DomainCast: {
		"casts-to-domains", pgerr.FeatureNotSupported,
		"Cast to the type that the domain is over, or cast constants alone.",
	},
	ConstantNeeded: {"constants", pgerr.FeatureNotSupported, "Write a constant or a parameter."},
	Pattern: {
		"patterns", pgerr.FeatureNotSupported,
		"Write a shorter pattern with fewer %, or compare with left(x, n).",
	},
	TextLength: {"length-of-text", pgerr.FeatureNotSupported, "Shorten the operands with left(x, 100)."},
	Collation:  {"collations", pgerr.FeatureNotSupported, `Write COLLATE "C" after the text.`},
	DateField: {
		"fields-of-dates", pgerr.FeatureNotSupported,
		"Use second, minute, hour, day, week, month, quarter, year or epoch.",
	},
	DateStyle: {"dates-as-text", pgerr.FeatureNotSupported, ""},
	TimeZone:  {"time-zones", pgerr.FeatureNotSupported, ""},
	Format:    {"formats", pgerr.FeatureNotSupported, "Write a format such as 'YYYY-MM' or 'FM999,990.00'."},
	Function: {
		"functions", pgerr.FeatureNotSupported,
		"Use one of the functions that are listed, or compute it above the aggregates, of released numbers.",
	},
	Operator: {"operators", pgerr.FeatureNotSupported, "Cast one side, so that both have one type."},
	Types: {
		"types", pgerr.FeatureNotSupported,
		"Cast it to a number, a date, a time, a text or a boolean; anything can be counted.",
	},
	Array:    {"arrays", pgerr.FeatureNotSupported, "Compare with = ANY (ARRAY[1, 2]), or with an array parameter."},
	RowValue: {"rows-as-values", pgerr.FeatureNotSupported, "Compare the columns one by one, with AND."},
	Parameter: {
		"parameters", pgerr.FeatureNotSupported,
		"Cast the parameter to text, a number, a date or a boolean.",
	},
	Construct: {"constructs", pgerr.FeatureNotSupported, "Write it with CASE, AND, OR and comparisons."},

	BesideReleased: {
		"beside-released-aggregates", pgerr.FeatureNotSupported,
		"Join released aggregates with tables of the policy, VALUES, generate_series or unnest.",
	},
	OwnTables: {"own-tables", pgerr.FeatureNotSupported, ""},
	AnotherForm: {
		"another-form", pgerr.FeatureNotSupported,
		"Name the columns otherwise, or compute above a subquery.",
	},
	ExplainAnalyze: {"explain-analyze", pgerr.FeatureNotSupported, ""},

	CatalogObject: {"catalog-objects", pgerr.InsufficientPrivilege, ""},
	CatalogForm:   {"catalog-queries", pgerr.FeatureNotSupported, ""},
	SystemColumn:  {"system-columns", pgerr.InsufficientPrivilege, ""},

	TooLong:     {"too-long", pgerr.ProgramLimitExceeded, ""},
	TooComplex:  {"too-complex", pgerr.StatementTooComplex, ""},
	TooMuchWork: {"too-much-work", pgerr.StatementTooComplex, ""},

	Database: {
		"shape-of-the-database", pgerr.FeatureNotSupported,
		"Tell the administrator: dpproxy check --live names what differs.",
	},
	EqualValues: {"values-that-compare-as-equal", pgerr.FeatureNotSupported, ""},
	NoMechanism: {"no-mechanism", pgerr.FeatureNotSupported, ""},
	NotCertified: {
		"not-certified", pgerr.FeatureNotSupported,
		"Nothing was charged. Write the query in another form, or tell the administrator: the proxy's log says which rule is missing.",
	},
	NoSyntheticRows: {"synthetic-rows", pgerr.FeatureNotSupported, ""},
}

// All returns every reason, in the order of docs/refusals.md.
func All() []Reason {
	all := make([]Reason, count)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// Anchor is the section of docs/refusals.md, and the topic of dpproxy.help.
func (r Reason) Anchor() string { return reasons[r].anchor }

// Help is the statement that returns the section.
func (r Reason) Help() string {
	return "SELECT text FROM dpproxy.help WHERE topic = '" + r.Anchor() + "'"
}

// Code is the SQLSTATE.
func (r Reason) Code() string { return reasons[r].code }
