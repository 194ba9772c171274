package provision

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

//go:embed sql/reset.sql
var resetSQL string

// shadowComment and twinComment mark databases that setup made. What one was made from follows, see mirror.mark.
const (
	shadowComment = "dpproxy shadow: the schema of the policy's tables, no rows"
	twinComment   = "dpproxy synthetic: the policy's tables, with rows that are nobody's"
)

// mirror is a database that setup makes of the shape of main's tables: the shadow, or the synthetic twin.
type mirror struct {
	on      target
	config  *pgconn.Config
	logins  []*pgconn.Config // whose roles are made
	comment string           // how the database's begins
	kept    []string         // names of the SQL for its tables
	own     string           // SQL for what it has besides the tables, once they are there
	grants  string
}

func mirrors(p *policy.Policy, d dsns) []mirror {
	all := []mirror{{
		on: onShadow, config: d.shadow, logins: []*pgconn.Config{d.shadow}, comment: shadowComment,
		kept: []string{keptShadow}, own: catalog.ShadowSQL(), grants: readerGrants(p, d.shadow),
	}}
	if d.synthetic == nil {
		return all
	}
	twin := mirror{
		on: onTwin, config: d.synthetic, comment: twinComment, kept: []string{keptShadow, keptChecks},
		own: catalog.Revokes(), grants: readerGrants(p, d.synthetic),
	}
	if d.synthetic.User != d.shadow.User {
		twin.logins = append(twin.logins, d.synthetic)
	}
	if d.synthesize != nil {
		twin.logins = append(twin.logins, d.synthesize)
		twin.grants += ";\n" + writerGrants(p, d.synthesize)
	}
	return append(all, twin)
}

// creation makes the roles and the database, if they are not there, as main's was made.
func (m mirror) creation(main *pgconn.Config) []step {
	about := inDatabase(m.config)
	all := []step{{
		on: onMain, action: keep, name: keptCreate, about: inDatabase(main) + "how it was created",
		sql: bind(createSQL, m.config.Database),
	}}
	for _, c := range m.logins {
		all = append(all, roleSteps(onShadowCluster, role{name: c.User, password: c.Password})...)
	}
	return append(all, step{
		on: onShadowCluster, action: runEach, about: about + "created, if it is not there", aside: m.on == onShadow,
		sql: "SELECT :'" + keptCreate + "' WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = " +
			quoteLiteral(m.config.Database) + ")",
	})
}

// steps make the contents anew, as a whole or not at all.
func (m mirror) steps() (all []step) {
	about := inDatabase(m.config)
	add := func(a action, about, sql string) {
		all = append(all, step{on: m.on, action: a, about: about, sql: sql})
	}
	add(run, about+"its contents, made anew as a whole or not at all", "BEGIN")
	add(run, "", bind(resetSQL, m.comment))
	for _, name := range m.kept {
		add(run, "", ":"+name)
	}
	add(run, about+"what analysts may name besides the tables", m.own)
	add(run, "", m.grants)
	add(runEach, "", ownRole("SELECT "+quoteLiteral(catalog.RoleSQL(m.config.User)), m.config.User)+
		" AND (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)")
	add(runEach, "", "SELECT pg_catalog.format('COMMENT ON DATABASE %I IS %L', "+quoteLiteral(m.config.Database)+", "+
		m.mark()+")")
	add(run, "", "COMMIT")
	return all
}

// mark is an SQL expression for the database's comment: it names what its contents were made from. Rows of a twin have
// been paid for, so it is not made anew for another dpproxy's sake.
func (m mirror) mark() string {
	rest := m.grants
	if m.on == onShadow {
		rest = resetSQL + m.own + m.grants + catalog.RoleSQL(m.config.User)
	}
	sum := sha256.Sum256([]byte(rest))
	return quoteLiteral(fmt.Sprintf("%s (%x ", m.comment, sum[:8])) + " || pg_catalog.md5(:'" +
		strings.Join(m.kept, "' || :'") + "') || ')'"
}
