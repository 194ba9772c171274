package session

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

func keyOf(name string) string { return strings.ToLower(name) }

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// textColumn describes a column of type text, as SHOW has them.
func textColumn(name string) pgconn.FieldDescription {
	return pgconn.FieldDescription{Name: name, DataTypeOID: pgtype.TextOID, DataTypeSize: -1, TypeModifier: -1}
}

func (s *Session) set(ctx context.Context, st *state, c command.Set) (*result, error) {
	r := &result{tag: "SET"}
	if c.Local && !st.tx.block && !st.tx.many {
		r.warn(noActiveTransaction, "SET LOCAL can only be used in transaction blocks")
	}
	return r, s.assign(ctx, st, c)
}

// assign validates and stores a setting; set_config comes here too.
func (s *Session) assign(ctx context.Context, st *state, c command.Set) error {
	key := keyOf(c.Name)
	canonical := st.layers.reset.Get(key)
	if c.Default {
		if err := resettable(key, c.Name); err != nil {
			return err
		}
	} else {
		var err error
		if key, canonical, err = s.checked(ctx, st, c.Name, c.Value); err != nil {
			return err
		}
	}
	if p := parameters[key]; p != nil && strings.HasPrefix(key, "transaction_") {
		// These belong to the transaction whichever way they are set.
		c.Local = true
		if err := st.checkMode(key, canonical); err != nil {
			return err
		}
	}
	st.layers = st.layers.set(key, canonical, c.Local)
	return nil
}

// resettable refuses names that no setting has; custom ones may be reset even if they were never set.
func resettable(key, name string) error {
	if parameters[key] == nil && (!strings.Contains(key, ".") || strings.HasPrefix(key, "dpproxy.")) {
		return pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "`+name+`"`)
	}
	if p := parameters[key]; p != nil && p.kind == preset {
		return pgerr.New("55P02", `parameter "`+p.name+`" cannot be changed`)
	}
	return nil
}

func (st *state) reset(c command.Reset) (*result, error) {
	if c.Name == "" {
		st.layers = st.layers.resetAll()
		return &result{tag: "RESET"}, nil
	}
	key := keyOf(c.Name)
	if err := resettable(key, c.Name); err != nil {
		return nil, err
	}
	st.layers = st.layers.set(key, st.layers.reset.Get(key), false)
	return &result{tag: "RESET"}, nil
}

// role refuses to become another user: the budget belongs to the one that logged in.
func (s *Session) role(c command.Role) (*result, error) {
	r := &result{tag: "SET"}
	if c.Name == "" || c.Name == s.startup.User {
		return r, nil
	}
	if c.Setting == "role" {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, `permission denied to set role "`+c.Name+`"`)
	}
	return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set session authorization \""+c.Name+`"`)
}

func (st *state) discard(c command.Discard) (*result, error) {
	if c.What == "ALL" {
		if st.tx.block || st.tx.many {
			return nil, pgerr.New(activeTransaction, "DISCARD ALL cannot run inside a transaction block")
		}
		for name := range st.portals {
			st.dropPortal(name)
		}
		for name := range st.statements {
			st.dropStatement(name)
		}
		st.layers = st.layers.resetAll()
	}
	return &result{tag: "DISCARD " + c.What}, nil
}

// show prints a setting as SHOW does.
func (s *Session) show(st *state, p *parameter) string {
	value := st.layers.current.Get(keyOf(p.name))
	if mode, ok := strings.CutPrefix(p.name, "transaction_"); ok && !st.tx.block && st.layers.local[p.name] == "" {
		// Outside a block every statement is a transaction, with the modes of new ones.
		value = st.layers.current.Get("default_transaction_" + mode)
	}
	switch {
	case p.name == "dpproxy.epsilon" && value == "":
		return formatFloat(s.info.Epsilon)
	case p.name == "dpproxy.empty_groups" && value == "":
		return s.info.EmptyGroups
	case p.name == "dpproxy.rows" && value == "":
		return s.info.Rows(s.startup.Analyst)
	case p.name == "dpproxy.intervals" && value == "" && s.info.Intervals:
		return "on"
	case p.name == "dpproxy.intervals" && value == "":
		return "off"
	case p.kind == integer:
		return p.show(value)
	}
	return value
}

func (s *Session) showResult(st *state, c command.Show) (*result, error) {
	if keyOf(c.Name) == "all" {
		r := &result{tag: "SHOW", columns: showColumns(c)}
		for _, name := range parameterNames() {
			r.rows = append(r.rows, [][]byte{[]byte(name), []byte(s.show(st, lookup(name))), {}})
		}
		return r, nil
	}
	value, ok := s.current(st, c.Name)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "`+c.Name+`"`)
	}
	return &result{tag: "SHOW", columns: showColumns(c), rows: [][][]byte{{[]byte(value)}}}, nil
}

// current finds the value of a setting by its name, in any case.
func (s *Session) current(st *state, name string) (string, bool) {
	if p := lookup(name); p != nil {
		return s.show(st, p), true
	}
	value, ok := st.layers.current.values[keyOf(name)]
	return value, ok
}

func showColumns(c command.Show) []pgconn.FieldDescription {
	if keyOf(c.Name) == "all" {
		return []pgconn.FieldDescription{textColumn("name"), textColumn("setting"), textColumn("description")}
	}
	if p := lookup(c.Name); p != nil {
		return []pgconn.FieldDescription{textColumn(p.name)}
	}
	return []pgconn.FieldDescription{textColumn(c.Name)}
}
