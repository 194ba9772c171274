// Package docs holds pages that the program shows as they stand.
package docs

import "embed"

// Pages are those of dpproxy.help.
//
//go:embed refusals.md functions.md introspection.md sql.md protocol.md
var Pages embed.FS
