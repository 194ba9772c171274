package provision

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// SetupScript prints what Setup does as a script for psql, which a DBA can read before running it. It needs no
// database, and holds verifiers, never passwords.
func SetupScript(p *policy.Policy) (string, error) {
	d, err := parseDSNs(p)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("-- " + p.Titled("dpproxy setup: roles, their grants, and the shadow database. Run as superuser:") +
		"\n" +
		"--     psql -X -f THIS_FILE postgres\n" +
		"-- It may be run again at any time; it changes no role that it did not make.\n" +
		"\\set ON_ERROR_STOP on\n")
	at, from := target(-1), d.main
	for _, s := range steps(p, d) {
		on := s.on
		if on == onShadowCluster && d.sameCluster() || on == onLedgerCluster && same(d.ledger, d.main) {
			on = onMain
		}
		if on != at {
			to, database := d.of(on)
			b.WriteString("\n" + connectLine(from, to, database) + "\n" + stepSettings + ";\n")
			at, from = on, to
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

// of is where a step runs, and in which database.
func (d dsns) of(on target) (c *pgconn.Config, database string) {
	switch on {
	case onShadowCluster:
		return d.shadow, maintenance
	case onShadow:
		return d.shadow, d.shadow.Database
	case onTwin:
		return d.synthetic, d.synthetic.Database
	case onLedgerCluster:
		return d.ledger, maintenance
	case onLedger:
		return d.ledger, d.ledger.Database
	}
	return d.main, d.main.Database
}

// connectLine goes on to another database.
func connectLine(from, to *pgconn.Config, database string) string {
	line := "\\connect -reuse-previous=on \"dbname=" + connectValue(database)
	if !same(from, to) {
		line += " host=" + connectValue(to.Host) + fmt.Sprintf(" port=%d", to.Port)
	}
	return line + "\""
}

// connectValue quotes a value of a connection string inside psql's double quotes.
func connectValue(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)
	return strings.ReplaceAll("'"+s+"'", `"`, `""`)
}
