package policy

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Members holds the users whom auth.query has found and the policy does not list, with the group that the query names;
// an empty one is the default. It outlives reloads, and is safe for concurrent use.
type Members struct {
	mu       sync.RWMutex
	found    map[string]string // by a lookup, which proves nothing
	admitted map[string]string // by a login
}

// NewMembers returns a list of nobody.
func NewMembers() *Members {
	return &Members{found: map[string]string{}, admitted: map[string]string{}}
}

// Found takes over what the query says of a user who wants to log in.
func (m *Members) Found(user, group string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found[user] = group
}

// Admit takes over that a user has logged in: from now on they have the group that was found last.
func (m *Members) Admit(user string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if group, ok := m.found[user]; ok {
		m.admitted[user] = group
	}
}

// group returns the group of a user at their last login. A nil m knows nobody.
func (m *Members) group(user string) (group string, known bool) {
	if m == nil {
		return "", false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	group, known = m.admitted[user]
	return group, known
}

// MemberOf returns the group that gives an unlisted user their budget, where the query names one or none; empty: the
// user is not admitted, because the policy has no auth.default_group, or not the group that the query names. Names that
// `dpproxy budget` gives another meaning, or that a terminal shows as something else, are nobody's.
func (p *Policy) MemberOf(user, named string) string {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if p.Auth.DefaultGroup == "" || p.Analysts[user] != nil || !validName(user) || user[0] == '*' ||
		strings.ContainsFunc(user, unprintable) {
		return ""
	}
	if named == "" {
		named = p.Auth.DefaultGroup
	}
	if _, ok := p.Groups[named]; !ok {
		return ""
	}
	return named
}

// GroupOf returns the group of an unlisted user, for the ledger: who has not logged in since the proxy has started
// counts as one of the default group, so that their account is shown with a budget.
func (p *Policy) GroupOf(user string) string {
	named, _ := p.Members.group(user)
	return p.MemberOf(user, named)
}

// AnyAnalyst returns the name of an analyst with a budget, to explain with: the first, or one of the default group
// where none is listed.
func (p *Policy) AnyAnalyst() string {
	if len(p.Analysts) == 0 {
		return "analyst"
	}
	return slices.Min(slices.Collect(maps.Keys(p.Analysts)))
}

// Knows reports whether an analyst may ask: the policy lists them, or they have logged in as one of a group that it
// still has; and the database is open to them.
func (p *Policy) Knows(analyst string) bool {
	if a := p.Analysts[analyst]; a != nil {
		return p.Access.allows(analyst, a.Group)
	}
	named, admitted := p.Members.group(analyst)
	group := p.MemberOf(analyst, named)
	return admitted && group != "" && p.Access.allows(analyst, group)
}

// validName reports whether a login or a group may have this name.
func validName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// groups reads the groups of analysts.
func (d *document) groups(n *yaml.Node, p *Policy) {
	p.Groups = map[string]Budget{}
	for name, node := range entries(n) {
		var group struct{ Budget Budget }
		path := child("groups", name)
		if err := node.Decode(&group); err != nil {
			d.fail(path, "%s", err)
		}
		d.budget(path+".budget", &group.Budget, p)
		p.Groups[name] = group.Budget
	}
}

// group checks the name of a group of the policy.
func (d *document) group(path, name string, p *Policy) {
	if _, listed := p.Groups[name]; !listed {
		d.fail(path, "%s is not listed under groups", quoted(name))
	}
}
