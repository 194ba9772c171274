package policy

import (
	"slices"
	"testing"
)

func TestSchemas(t *testing.T) {
	p := &Policy{
		Tables: []*Table{
			{Name: Name{"zoo", "a"}},
			{Name: Name{"public", "a"}},
			{Name: Name{"zoo", "b"}},
			{Name: Name{"Abc", "a"}},
		},
		Views: []Name{{"more", "v"}},
	}
	if got := p.Schemas(); !slices.Equal(got, []string{"public", "Abc", "more", "zoo"}) {
		t.Errorf("schemas = %q", got)
	}
}
