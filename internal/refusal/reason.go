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

	count
)

// reasons gives each its section of docs/refusals.md and its SQLSTATE.
var reasons = [count]struct{ anchor, code string }{
	Rows:          {"rows-are-never-returned", pgerr.InsufficientPrivilege},
	ReturnsValues: {"aggregates-that-return-values", pgerr.InsufficientPrivilege},
	UnitKey:       {"grouping-by-the-unit", pgerr.InsufficientPrivilege},
	Ungrouped:     {"ungrouped-columns", pgerr.FeatureNotSupported},
	ReadOnly:      {"read-only", pgerr.InsufficientPrivilege},
	Procedure:     {"statements-that-run-others", pgerr.FeatureNotSupported},

	JoinOnUnit:      {"join-on-the-unit", pgerr.FeatureNotSupported},
	SubqueryOnUnit:  {"subquery-on-the-unit", pgerr.FeatureNotSupported},
	MixedUnits:      {"mixed-units", pgerr.FeatureNotSupported},
	JoinMultiplies:  {"join-multiplies", pgerr.FeatureNotSupported},
	PublicRowsKept:  {"public-rows-kept", pgerr.FeatureNotSupported},
	SeveralRows:     {"subquery-of-several-rows", pgerr.FeatureNotSupported},
	SubqueryForm:    {"subquery-form", pgerr.FeatureNotSupported},
	AgainstReleased: {"rows-against-an-aggregate", pgerr.FeatureNotSupported},
	FromItem:        {"from-items", pgerr.FeatureNotSupported},
	Recursive:       {"recursive", pgerr.FeatureNotSupported},
	Tablesample:     {"tablesample", pgerr.FeatureNotSupported},

	Distinct:     {"distinct-rows", pgerr.FeatureNotSupported},
	SetOperation: {"set-operations", pgerr.FeatureNotSupported},
	Limit:        {"limit-of-rows", pgerr.FeatureNotSupported},
	Window:       {"windows-over-rows", pgerr.FeatureNotSupported},
	RowOrder:     {"order-of-rows", pgerr.FeatureNotSupported},

	TooManyGroups: {"too-many-groups", pgerr.FeatureNotSupported},
	KeyValues:     {"values-of-a-key", pgerr.FeatureNotSupported},
	SmallGroups:   {"small-groups", pgerr.FeatureNotSupported},
	GroupingSets:  {"grouping-sets", pgerr.FeatureNotSupported},

	NoBounds:         {"no-bounds", pgerr.FeatureNotSupported},
	Grid:             {"too-fine-a-grid", pgerr.FeatureNotSupported},
	Aggregate:        {"aggregates", pgerr.FeatureNotSupported},
	AggregateForm:    {"form-of-an-aggregate", pgerr.FeatureNotSupported},
	AggregatePerUnit: {"aggregates-per-unit", pgerr.FeatureNotSupported},
	PublicAggregate:  {"aggregates-of-public-rows", pgerr.FeatureNotSupported},
	NeedsAggregate:   {"functions-of-released-aggregates", pgerr.FeatureNotSupported},
	Interval:         {"intervals", pgerr.FeatureNotSupported},
	Margin:           {"margins", pgerr.FeatureNotSupported},

	Overflow:       {"overflow", pgerr.FeatureNotSupported},
	Division:       {"division-by-zero", pgerr.FeatureNotSupported},
	ArgumentRange:  {"range-of-an-argument", pgerr.FeatureNotSupported},
	Cast:           {"casts", pgerr.FeatureNotSupported},
	ConstantNeeded: {"constants", pgerr.FeatureNotSupported},
	Pattern:        {"patterns", pgerr.FeatureNotSupported},
	TextLength:     {"length-of-text", pgerr.FeatureNotSupported},
	Collation:      {"collations", pgerr.FeatureNotSupported},
	DateField:      {"fields-of-dates", pgerr.FeatureNotSupported},
	DateStyle:      {"dates-as-text", pgerr.FeatureNotSupported},
	TimeZone:       {"time-zones", pgerr.FeatureNotSupported},
	Format:         {"formats", pgerr.FeatureNotSupported},
	Function:       {"functions", pgerr.FeatureNotSupported},
	Operator:       {"operators", pgerr.FeatureNotSupported},
	Types:          {"types", pgerr.FeatureNotSupported},
	Array:          {"arrays", pgerr.FeatureNotSupported},
	RowValue:       {"rows-as-values", pgerr.FeatureNotSupported},
	Parameter:      {"parameters", pgerr.FeatureNotSupported},
	Construct:      {"constructs", pgerr.FeatureNotSupported},

	BesideReleased: {"beside-released-aggregates", pgerr.FeatureNotSupported},
	OwnTables:      {"own-tables", pgerr.FeatureNotSupported},
	AnotherForm:    {"another-form", pgerr.FeatureNotSupported},
	ExplainAnalyze: {"explain-analyze", pgerr.FeatureNotSupported},

	CatalogObject: {"catalog-objects", pgerr.InsufficientPrivilege},
	CatalogForm:   {"catalog-queries", pgerr.FeatureNotSupported},
	SystemColumn:  {"system-columns", pgerr.InsufficientPrivilege},

	TooLong:     {"too-long", pgerr.ProgramLimitExceeded},
	TooComplex:  {"too-complex", pgerr.StatementTooComplex},
	TooMuchWork: {"too-much-work", pgerr.StatementTooComplex},

	Database:    {"shape-of-the-database", pgerr.FeatureNotSupported},
	EqualValues: {"values-that-compare-as-equal", pgerr.FeatureNotSupported},
	NoMechanism: {"no-mechanism", pgerr.FeatureNotSupported},
}

// All returns every reason, in the order of docs/refusals.md.
func All() []Reason {
	all := make([]Reason, count)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// Anchor is the section of docs/refusals.md.
func (r Reason) Anchor() string { return reasons[r].anchor }

// Code is the SQLSTATE.
func (r Reason) Code() string { return reasons[r].code }
