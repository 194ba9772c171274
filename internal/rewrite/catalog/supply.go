package catalog

// SupplyKind says what the engine binds to a parameter that Check added to a statement.
type SupplyKind int

const (
	SupplyBudget  SupplyKind = iota // one column of dpproxy.budget, as an array with one element for each row
	SupplyColumns                   // one column of dpproxy.columns
	SupplyHistory                   // one column of dpproxy.history
	SupplyLast                      // one column of dpproxy.last
	SupplySetting                   // the session's value of the setting Name, as SHOW prints it; NULL if unset
	SupplyHelp                      // one column of dpproxy.help
)

// Supply is one parameter that Check added behind the client's.
type Supply struct {
	Parameter int        // its number: $Parameter
	Kind      SupplyKind // where its value comes from
	Name      string     // column of the relation, or setting
	Type      string     // the parameter's type as PostgreSQL spells it: "text[]", "text"
}
