package expr

import (
	"errors"
	"strings"
	"testing"
)

// TestZonesThatTheServerLacks: a zone of this program's database is refused where the server has it not.
func TestZonesThatTheServerLacks(t *testing.T) {
	scope := offlineScope(t)
	lacking := errors.New("time zone not recognized")
	scope.ask = func(_ uint32, text string) (string, error) {
		if strings.HasSuffix(text, "Asia/Calcutta") {
			return "", lacking
		}
		return "2000-01-01 00:00:00+00", nil
	}
	for _, text := range []string{"ts AT TIME ZONE '%s'", "tz AT TIME ZONE '%s'"} {
		if _, err := Build(parseExpr(t, strings.Replace(text, "%s", "Asia/Kolkata", 1)), scope); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := Build(parseExpr(t, strings.Replace(text, "%s", "Asia/Calcutta", 1)), scope); !errors.Is(err, lacking) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
