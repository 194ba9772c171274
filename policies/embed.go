// Package policies holds example policies. The clinic's is that of `dpproxy demo`.
package policies

import _ "embed"

// Clinic is clinic.yaml.
//
//go:embed clinic.yaml
var Clinic string

// Schema is policy.schema.json.
//
//go:embed policy.schema.json
var Schema []byte
