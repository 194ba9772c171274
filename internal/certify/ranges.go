package certify

// ranges are the range types, and of what they are. Whether one holds an element, or meets another, is total
// (rangetypes.c).
var ranges = map[string]string{
	"int4range": "int4", "int8range": "int8", "numrange": "numeric", "daterange": "date", "tsrange": "timestamp",
	"tstzrange": "timestamptz",
}

var rangeOperators = map[string]bool{
	"@>": true, "<@": true, "&&": true, "<<": true, ">>": true, "&<": true, "&>": true,
	"-|-": true,
}
