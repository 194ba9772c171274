// Package sqltext writes values and names as SQL.
package sqltext

import "strings"

// Literal quotes a text constant for standard_conforming_strings = on, which every connection of the backend pins.
func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// EscapedLiteral quotes a text constant for either value of standard_conforming_strings.
func EscapedLiteral(s string) string {
	if strings.Contains(s, `\`) {
		return "E" + Literal(strings.ReplaceAll(s, `\`, `\\`))
	}
	return Literal(s)
}

// Ident quotes a name.
func Ident(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// Name is what Ident has quoted, or a name that needs no quotes.
func Name(ident string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(ident, `"`), `"`), `""`, `"`)
}
