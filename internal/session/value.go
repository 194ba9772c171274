package session

import (
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// parseBool reads what PostgreSQL's parse_bool takes: on, off, and unique prefixes of true, false, yes, no.
func parseBool(s string) (value, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch {
	case s == "":
		return false, false
	case s == "1" || s == "on" || strings.HasPrefix("true", s) || strings.HasPrefix("yes", s):
		return true, true
	case s == "0" || len(s) > 1 && strings.HasPrefix("off", s) || strings.HasPrefix("false", s) ||
		strings.HasPrefix("no", s):
		return false, true
	}
	return false, false
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// scale returns the size of one unit of a parameter in base units.
type scale struct {
	name string
	size float64
}

// Units from the largest to the smallest, as PostgreSQL's memory_unit_conversion_table and time_unit_conversion_table.
var (
	timeUnits   = []scale{{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}, {"us", 0.001}}
	memoryUnits = []scale{{"TB", 1 << 30}, {"GB", 1 << 20}, {"MB", 1 << 10}, {"kB", 1}, {"B", 1.0 / 1024}}
	blockUnits  = []scale{{"TB", 1 << 27}, {"GB", 1 << 17}, {"MB", 1 << 7}, {"kB", 1.0 / 8}, {"B", 1.0 / 8192}}
)

func (u unit) scales() []scale {
	switch u {
	case milliseconds:
		return timeUnits
	case kilobytes:
		return memoryUnits
	case blocks:
		return blockUnits
	}
	return nil
}

// number reads an integer parameter with an optional unit, in base units.
func (p *parameter) number(parameter, s string) (int64, *pgconn.PgError) {
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) && strings.IndexByte("+-.0123456789eE", s[end]) >= 0 {
		end++
	}
	v, err := strconv.ParseFloat(s[:end], 64)
	name := strings.TrimSpace(s[end:])
	if err != nil || math.IsNaN(v) {
		return 0, invalidValue(parameter, s)
	}
	if name != "" {
		factor, ok := 0.0, false
		for _, u := range p.unit.scales() {
			if u.name == name {
				factor, ok = u.size, true
			}
		}
		if !ok {
			return 0, invalidValue(parameter, s)
		}
		v *= factor
	}
	if v = math.RoundToEven(v); v < p.min || v > p.max {
		suffix := map[unit]string{milliseconds: " ms", kilobytes: " kB", blocks: " 8kB"}[p.unit]
		return 0, pgerr.New(pgerr.InvalidParameterValue, strconv.FormatFloat(v, 'f', 0, 64)+suffix+
			" is outside the valid range for parameter \""+parameter+
			"\" ("+strconv.FormatFloat(p.min, 'f', 0, 64)+" .. "+strconv.FormatFloat(p.max, 'f', 0, 64)+")")
	}
	return int64(v), nil
}

// show prints a value as SHOW does: integers with the largest unit that divides them.
func (p *parameter) show(value string) string {
	v, err := strconv.ParseInt(value, 10, 64)
	if p.kind != integer || p.unit == noUnit || err != nil || v <= 0 {
		return value
	}
	for _, u := range p.unit.scales() {
		if u.size < 1 {
			return strconv.FormatInt(int64(math.Round(float64(v)/u.size)), 10) + u.name
		}
		if v%int64(u.size) == 0 {
			return strconv.FormatInt(v/int64(u.size), 10) + u.name
		}
	}
	return value
}

func invalidValue(name, value string) *pgconn.PgError {
	return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "`+name+`": "`+value+`"`)
}
