package provision

import (
	"fmt"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// SetupScript prints what Setup does as a script for psql, which a DBA can read before running it. It needs no database, and
// holds verifiers, never passwords.
func SetupScript(p *policy.Policy) (string, error) {
	d, err := parseDSNs(p)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("-- " + p.Titled("dpproxy setup: roles, their grants, and the shadow database. Run as superuser:") + "\n" +
		"--     psql -X -f THIS_FILE postgres\n" +
		"-- It may be run again at any time; it changes no role that it did not make.\n" +
		"\\set ON_ERROR_STOP on\n")
	at := target(-1)
	for _, s := range steps(p, d) {
		on := s.on
		if on == onShadowCluster && d.sameCluster() || on == onLedgerCluster && same(d.ledger, d.main) {
			on = onMain
		}
		if on != at {
			b.WriteString("\n" + connectLine(on, d) + "\n" + stepSettings + ";\n")
			at = on
		}
		if s.about != "" {
			b.WriteString("\n-- " + s.about + "\n")
		}
		b.WriteString(strings.TrimSpace(s.sql))
		switch s.action {
		case runEach:
			b.WriteString("\n\\gexec\n")
		case keep:
			b.WriteString("\n\\gset\n") // the column is called as the kept text
		default:
			b.WriteString("\n;\n")
		}
	}
	return b.String(), nil
}

func connectLine(on target, d dsns) string {
	c, database := d.main, d.main.Database
	switch on {
	case onShadowCluster:
		c, database = d.shadow, maintenance
	case onShadow:
		c, database = d.shadow, d.shadow.Database
	case onLedgerCluster:
		c, database = d.ledger, maintenance
	case onLedger:
		c, database = d.ledger, d.ledger.Database
	}
	line := "\\connect -reuse-previous=on \"dbname=" + connectValue(database)
	if !same(c, d.main) {
		line += " host=" + connectValue(c.Host) + fmt.Sprintf(" port=%d", c.Port)
	}
	return line + "\""
}

// connectValue quotes a value of a connection string inside psql's double quotes.
func connectValue(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)
	return strings.ReplaceAll("'"+s+"'", `"`, `""`)
}
