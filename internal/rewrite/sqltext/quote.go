// Package sqltext writes values and names as SQL.
package sqltext

import "strings"

// Literal quotes a text constant for standard_conforming_strings = on, which every connection of the backend pins.
func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
