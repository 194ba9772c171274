package command

import (
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

func variableSet(v *pg_query.VariableSetStmt) Command {
	name := strings.ToLower(v.Name)
	switch v.Kind {
	case pg_query.VariableSetKind_VAR_SET_MULTI:
		return setMulti(v)
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		return Reset{}
	case pg_query.VariableSetKind_VAR_SET_CURRENT:
		return Refused{pgerr.New(pgerr.FeatureNotSupported, "SET … FROM CURRENT is not supported")}
	case pg_query.VariableSetKind_VAR_RESET:
		if name == "role" || name == "session_authorization" {
			return Role{Setting: name}
		}
		return Reset{Name: v.Name}
	case pg_query.VariableSetKind_VAR_SET_DEFAULT:
		if name == "role" || name == "session_authorization" {
			return Role{Setting: name}
		}
		return Set{Name: v.Name, Default: true, Local: v.IsLocal}
	}
	value, err := joinValues(name, v.Args)
	if err != nil {
		return Refused{err}
	}
	switch name {
	case "role", "session_authorization":
		if name == "role" && strings.EqualFold(value, "none") {
			value = ""
		}
		return Role{Setting: name, Name: value}
	case "seed":
		// Every random() of a client runs where no private row is; a seed is harmless and has nothing to act on.
		return Set{Name: "seed", Value: value, Local: v.IsLocal}
	}
	return Set{Name: v.Name, Value: value, Local: v.IsLocal}
}

func setMulti(v *pg_query.VariableSetStmt) Command {
	switch v.Name {
	case "TRANSACTION":
		return SetTransaction{Modes: modes(v.Args)}
	case "SESSION CHARACTERISTICS":
		return SetTransaction{Modes: modes(v.Args), Session: true}
	}
	return Refused{pgerr.New(pgerr.FeatureNotSupported, "imported snapshots are not supported",
		pgerr.Hint("Every statement reads its own snapshot."))}
}

// joinValues builds a setting's value as PostgreSQL's flatten_set_variable_args does. Only search_path and its like
// take several names, each of which is quoted where it must be; DateStyle takes several words.
func joinValues(name string, args []*pg_query.Node) (string, *pgconn.PgError) {
	quoted := name == "search_path" || name == "temp_tablespaces" || strings.HasSuffix(name, "_preload_libraries")
	if len(args) > 1 && !quoted && name != "datestyle" {
		return "", pgerr.New(pgerr.InvalidParameterValue, "SET "+name+" takes only one argument")
	}
	values := make([]string, len(args))
	for i, a := range args {
		if c := a.GetTypeCast(); c != nil { // SET TIME ZONE INTERVAL '…' is the only one that the grammar has
			text, _ := constant(c.Arg)
			if text == nil {
				return "", pgerr.New(pgerr.SyntaxError, "unreadable value for parameter \""+name+"\"")
			}
			values[i] = "INTERVAL '" + strings.ReplaceAll(*text, "'", "''") + "'"
			continue
		}
		text, ok := constant(a)
		if !ok || text == nil {
			return "", pgerr.New(pgerr.SyntaxError, "unreadable value for parameter \""+name+"\"")
		}
		values[i] = *text
		if quoted {
			values[i] = quoteIdentifier(*text)
		}
	}
	return strings.Join(values, ", "), nil
}

// quoteIdentifier quotes what is not a plain lower-case name. Keywords are not looked up: the value is only shown.
func quoteIdentifier(s string) string {
	plain := s != ""
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r == '_'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '$')) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
