package expr

import (
	"strings"
	"time"
	_ "time/tzdata" // the same names on every machine
)

// zoneAreas are the areas whose names every build of the time zone database has.
var zoneAreas = []string{"Africa/", "America/", "Antarctica/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/"}

// zone is the session's time zone, if the scope says and Go knows it by that name.
func (b *builder) zone() *time.Location {
	z, ok := b.scope.(Zoned)
	if !ok {
		return nil
	}
	if name := z.TimeZone(); zoneName(name) || name == "Etc/UTC" {
		l, err := time.LoadLocation(name)
		if err == nil {
			return l
		}
	}
	return nil
}

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
