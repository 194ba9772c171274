package postgres

import (
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Schema is where a shared ledger's tables are.
const Schema = "dpproxy_ledger"

//go:embed schema.sql
var schemaSQL string

// SetupSQL makes a shared ledger's schema and lets role use it: add records, never change or remove one. It may be run
// again at any time, by an administrator who may create schemas in the ledger's database.
func SetupSQL(role string) string {
	return strings.ReplaceAll(schemaSQL, ":role", pgx.Identifier{role}.Sanitize())
}
