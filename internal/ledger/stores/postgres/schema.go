package postgres

import (
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Schema is the name of the schema that holds a shared ledger's tables.
const Schema = "dpproxy_ledger"

//go:embed schema.sql
var schemaSQL string

// SetupSQL returns the statements that create a shared ledger's schema and let role use it: add records, never change
// or remove one. An administrator who may create schemas in the ledger's database may run them at any time, also again.
func SetupSQL(role string) string {
	return strings.ReplaceAll(schemaSQL, ":role", pgx.Identifier{role}.Sanitize())
}
