package catalog

// The lists, for tests that compare them with a server.
var (
	PureFunctions    = pureFunctions
	CatalogFunctions = catalogFunctions
	Operators        = operators
	ResultFields     = resultFields
)

// Relations lists what may be read, by schema.relation; true: without rows.
func Relations() map[string]bool {
	out := map[string]bool{}
	for r, k := range systemRelations {
		out["pg_catalog."+r] = k == empty
	}
	for r := range informationSchema {
		out["information_schema."+r] = false
	}
	for _, r := range ownRelations {
		out[ownSchema+"."+r.name] = true
	}
	return out
}
