package schema

// Description is the shadow's description of a prepared statement.
type Description struct {
	ParameterTypes []uint32
	Columns        []ColumnDescription
	// Describe has the shadow describe another SELECT over the same parameters and tables; nil where nobody can be asked.
	Describe func(sql string) ([]ColumnDescription, error)
}

// ColumnDescription is one column of the shadow's row description.
type ColumnDescription struct {
	Name   string
	Type   uint32
	Typmod int32
}

// Route says where a statement goes.
type Route int

const (
	RouteShadow    Route = iota // catalog queries and statements without a table
	RoutePublic                 // reads public tables
	RouteSynthetic              // reads the synthetic twin of private tables
	RoutePrivate                // needs a plan
)
