package session

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/wire"
)

// messageLevels orders severities as client_min_messages does; what the client does not want is not sent.
var messageLevels = []string{"debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"}

// notify sends the notices that the client wants to see: dpproxy.notices turns off those of cost and margins,
// client_min_messages works as in PostgreSQL.
func (s *Session) notify(w wire.ResultWriter, notices []*pgconn.Notice) error {
	if len(notices) == 0 {
		return nil
	}
	settings := s.state.layers.current
	least := slices.Index(messageLevels, settings.Get("client_min_messages"))
	for _, n := range notices {
		severity := n.SeverityUnlocalized
		if severity == "" {
			severity = n.Severity
		}
		if severity == "NOTICE" && !settings.Notices() {
			continue
		}
		level := slices.Index(messageLevels, strings.ToLower(severity))
		if severity != "INFO" && level >= 0 && level < least {
			continue
		}
		if err := w.Notice(n); err != nil {
			return err
		}
	}
	return nil
}
