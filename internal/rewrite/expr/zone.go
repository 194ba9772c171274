package expr

import (
	"strings"
	"time"
	_ "time/tzdata" // the same names on every machine
)

// zoneAreas are the areas whose names every build of the time zone database has.
var zoneAreas = []string{"Africa/", "America/", "Antarctica/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/"}

// zoneName says whether PostgreSQL knows a time zone by this name.
func zoneName(name string) bool {
	if name == "UTC" || name == "GMT" {
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
