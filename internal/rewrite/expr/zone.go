package expr

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the same names on every machine

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

// zoneAreas are the areas of names that PostgreSQL never takes for an abbreviation or a POSIX rule.
var zoneAreas = []string{
	"Africa/", "America/", "Antarctica/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/",
	"Pacific/",
}

// zoneName says whether a time zone is known here by this name. A server may lack it: see zoneExists.
func zoneName(name string) bool {
	if universal(name) {
		return true
	}
	for _, area := range zoneAreas {
		if strings.HasPrefix(name, area) {
			_, err := time.LoadLocation(name)
			return err == nil
		}
	}
	return false
}

// universal says that a zone's times are those of UTC.
func universal(name string) bool { return name == "UTC" || name == "GMT" || name == "Etc/UTC" }

// zoneExists refuses a time zone that PostgreSQL does not have. Servers differ in old names and in new ones, and a
// function that is given one raises when a row arrives. So PostgreSQL reads a time of that zone before.
func (c *call) zoneExists(name string) error {
	if !zoneName(name) {
		return c.refuse(refusal.TimeZone, fmt.Sprintf("%q is not a time zone that is known here", name),
			"write UTC or a name such as Europe/Berlin")
	}
	if name == "UTC" || name == "GMT" {
		return nil
	}
	_, _, err := c.b.scope.Literal(pgtype.TimestamptzOID, "2000-01-01 00:00:00 "+name)
	return err
}
