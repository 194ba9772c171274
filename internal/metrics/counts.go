package metrics

// Counts are the numbers that the console shows, as they are now.
type Counts struct {
	Statements    map[string]float64 // by verdict
	Errors        map[string]float64 // by SQLSTATE
	Refused       map[string]float64 // connections, by reason
	Connections   float64            // open now
	LoginFailures float64
	Stale         bool // the databases are not what the policy says
	Pools         map[string]Pool
}

// Counts reads the registry, as Prometheus does.
func (m *Metrics) Counts() (Counts, error) {
	c := Counts{Statements: map[string]float64{}, Errors: map[string]float64{}, Refused: map[string]float64{}}
	families, err := m.registry.Gather()
	if err != nil {
		return c, err
	}
	labelled := map[string]map[string]float64{
		"dpproxy_statements_total": c.Statements, "dpproxy_errors_total": c.Errors,
		"dpproxy_connections_refused_total": c.Refused,
	}
	for _, f := range families {
		for _, x := range f.GetMetric() {
			if into, ok := labelled[f.GetName()]; ok && len(x.GetLabel()) == 1 {
				into[x.GetLabel()[0].GetValue()] = x.GetCounter().GetValue()
			}
			switch f.GetName() {
			case "dpproxy_connections":
				c.Connections = x.GetGauge().GetValue()
			case "dpproxy_login_failures_total":
				c.LoginFailures = x.GetCounter().GetValue()
			case "dpproxy_shadow_stale":
				c.Stale = x.GetGauge().GetValue() != 0
			}
		}
	}
	return c, nil
}
