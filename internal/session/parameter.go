package session

import (
	"sort"
	"strings"
)

// kind selects the check of a parameter's value.
type kind int

const (
	text kind = iota
	boolean
	integer
	number
	enum
	// special parameters have their checks in check.go.
	special
	// fixed parameters may be set to the value that they have. Any other would change what a text means, or how results
	// look, without the proxy knowing.
	fixed
	// preset parameters can only be read.
	preset
)

type unit int

const (
	noUnit unit = iota
	milliseconds
	kilobytes
	blocks // of 8 kB
)

// parameter describes one setting that the session holds. Those without a comment are accepted and change nothing.
type parameter struct {
	name     string // as SHOW ALL and ParameterStatus print it
	kind     kind
	initial  string
	min, max float64
	unit     unit
	values   []string
}

// parameters lists the settings that a session holds, by lower-case name.
var parameters = index(reported, meaning, ignored, presets)

func index(lists ...[]parameter) map[string]*parameter {
	m := map[string]*parameter{}
	for _, list := range lists {
		for i := range list {
			m[strings.ToLower(list[i].name)] = &list[i]
		}
	}
	return m
}

// lookup finds a parameter whatever its case.
func lookup(name string) *parameter { return parameters[strings.ToLower(name)] }

// parameterNames lists the allow-list as SHOW ALL does.
func parameterNames() []string {
	names := make([]string, 0, len(parameters))
	for _, p := range parameters {
		names = append(names, p.name)
	}
	sort.Slice(names, func(i, j int) bool { return strings.ToLower(names[i]) < strings.ToLower(names[j]) })
	return names
}

const maxInt = 1<<31 - 1

var isolationLevels = []string{"serializable", "repeatable read", "read committed", "read uncommitted"}

// reported lists what is sent as ParameterStatus, in this order. PostgreSQL 15 sends the same.
var reported = []parameter{
	{name: "application_name", kind: text},
	{name: "client_encoding", kind: special, initial: "UTF8"},
	{name: "DateStyle", kind: special, initial: "ISO, MDY"},
	{name: "default_transaction_read_only", kind: boolean, initial: "off"},
	{name: "in_hot_standby", kind: preset, initial: "off"},
	{name: "integer_datetimes", kind: preset, initial: "on"},
	{name: "IntervalStyle", kind: enum, initial: "postgres", values: []string{
		"postgres", "postgres_verbose",
		"sql_standard", "iso_8601",
	}},
	{name: "is_superuser", kind: preset, initial: "off"},
	{name: "server_encoding", kind: preset, initial: "UTF8"},
	{name: "server_version", kind: preset},
	{name: "session_authorization", kind: preset},
	{name: "standard_conforming_strings", kind: fixed, initial: "on"},
	{name: "TimeZone", kind: special, initial: "UTC"},
}

// meaning lists the settings that the session, the wire or the engine act on.
var meaning = []parameter{
	{name: "dpproxy.epsilon", kind: special},
	{name: "dpproxy.notices", kind: boolean, initial: "on"},
	{name: "dpproxy.margin", kind: special},
	{name: "dpproxy.empty_groups", kind: enum, values: []string{"drop", "keep"}},
	{name: "dpproxy.max_rows", kind: integer, initial: "0", max: maxInt},
	{name: "dpproxy.max_rows_per_group", kind: integer, initial: "0", max: maxInt},
	{name: "dpproxy.intervals", kind: boolean},
	{name: workload, kind: special},
	{name: "dpproxy.rows", kind: special, values: []string{"refuse", Synthetic}},
	{name: "dpproxy.source", kind: special, initial: "real", values: []string{"real", Synthetic}},
	{name: "extra_float_digits", kind: integer, initial: "1", min: -15, max: 3},
	{name: "bytea_output", kind: enum, initial: "hex", values: []string{"escape", "hex"}},
	{name: "client_min_messages", kind: enum, initial: "notice", values: []string{
		"debug5", "debug4", "debug3", "debug2",
		"debug1", "log", "notice", "warning", "error",
	}},
	{name: "statement_timeout", kind: integer, initial: "0", max: maxInt, unit: milliseconds},
	{name: "idle_in_transaction_session_timeout", kind: integer, initial: "0", max: maxInt, unit: milliseconds},
	{name: "idle_session_timeout", kind: integer, initial: "0", max: maxInt, unit: milliseconds},
	{name: "default_transaction_isolation", kind: enum, initial: "read committed", values: isolationLevels},
	{name: "default_transaction_deferrable", kind: boolean, initial: "off"},
	{name: "transaction_isolation", kind: enum, initial: "read committed", values: isolationLevels},
	{name: "transaction_read_only", kind: boolean, initial: "off"},
	{name: "transaction_deferrable", kind: boolean, initial: "off"},
}

// presets can be read; the engine's Info replaces the values.
var presets = []parameter{
	{name: "server_version_num", kind: preset},
	{name: "max_identifier_length", kind: preset, initial: "63"},
	{name: "max_index_keys", kind: preset, initial: "32"},
	{name: "max_function_args", kind: preset, initial: "100"},
	{name: "block_size", kind: preset, initial: "8192"},
	{name: "lc_collate", kind: preset},
	{name: "lc_ctype", kind: preset},
	{name: "lc_monetary", kind: fixed, initial: "C"},
	{name: "lc_numeric", kind: fixed, initial: "C"},
	{name: "lc_time", kind: fixed, initial: "C"},
	{name: "default_text_search_config", kind: fixed, initial: "pg_catalog.english"},
	{name: "transform_null_equals", kind: fixed, initial: "off"},
	{name: "array_nulls", kind: fixed, initial: "on"},
	{name: "backslash_quote", kind: fixed, initial: "safe_encoding"},
	{name: "timezone_abbreviations", kind: fixed, initial: "Default"},
	{name: "role", kind: preset, initial: "none"},
	{name: "port", kind: preset, initial: "5432"},
	{name: "max_connections", kind: preset, initial: "100"},
	{name: "ssl", kind: preset, initial: "off"},
}
