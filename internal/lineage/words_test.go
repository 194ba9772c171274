package lineage

import "testing"

func TestTellingColumns(t *testing.T) {
	for _, c := range []struct {
		column        string
		number, texts bool
	}{
		{"emp_no", true, true},
		{"customer_id", true, true},
		{"CustomerId", true, true},
		{"userid", true, true},
		{"id", true, true},
		{"serial", true, true},
		{"zip_code", true, true},
		{"postal_code", true, true},
		{"amount", false, false},
		{"active", false, false},
		{"birth_year", false, true},
		{"paid", false, false},
		{"days", false, false},
		{"title", false, false},
		{"method", false, false},
		{"gender", false, false},
		{"ward", false, false},
		{"country_code", true, false},
		{"last_name", false, true},
		{"username", false, true},
		{"email", false, true},
		{"billing_address", false, true},
		{"phone", false, true},
		{"comment", false, true},
		{"description", false, true},
		{"salary", false, true},
		{"", false, false},
	} {
		if Telling(c.column, false) != c.number || Telling(c.column, true) != c.texts {
			t.Errorf("%s: %t of a number, %t of a text", c.column, Telling(c.column, false), Telling(c.column, true))
		}
	}
}
