package provision

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/reach.sql
var reachSQL string

//go:embed sql/powers.sql
var powersSQL string

//go:embed sql/definer.sql
var definerSQL string

//go:embed sql/writes.sql
var writesSQL string

// checkRoles makes sure that none of the roles of public, the shadow and the twin can read a private row, whatever an
// analyst gets past the allow-list, and looks at what main's role can do beyond reading.
func (c *liveCheck) checkRoles(ctx context.Context, d dsns) error {
	private, err := c.privateOIDs(ctx)
	if err != nil {
		return err
	}
	client := map[string]*connection{d.shadow.User: c.shadow}
	names := map[string]string{d.shadow.User: "shadow"}
	order := []string{d.shadow.User}
	if d.public != nil && names[d.public.User] == "" {
		client[d.public.User], names[d.public.User] = c.main, "public"
		order = append(order, d.public.User)
	}
	if d.synthetic != nil && names[d.synthetic.User] == "" {
		client[d.synthetic.User], names[d.synthetic.User] = c.twin, "synthetic"
		order = append(order, d.synthetic.User)
	}
	for _, role := range order {
		// The shadow may be on another cluster, where the same name is another role: its powers are asked there, and what
		// a role of that name could read, on main.
		powers, err := client[role].strings(ctx, powersSQL, role)
		if err != nil {
			return err
		}
		for _, power := range powers {
			c.found.problem(
				"databases.%s: role %s %s: analysts' statements must run as an ordinary role; dpproxy setup makes one", names[role],
				role, power)
		}
		if err := c.checkReach(ctx, names[role], role, private); err != nil {
			return err
		}
		definers, err := c.main.strings(ctx, definerSQL, role)
		if err != nil {
			return err
		}
		if len(definers) > 0 {
			c.found.advise(
				"role %s may call functions of main that run with their owner's rights (%s): dpproxy's allow-list refuses them, but REVOKE EXECUTE … FROM PUBLIC would be a second wall", role, strings.Join(definers, ", "))
		}
	}
	return c.adviseMain(ctx, d.main.User, private)
}

func (c *liveCheck) checkReach(ctx context.Context, name, role string, private []uint32) error {
	return c.main.each(ctx, reachSQL, func(rows pgx.Rows) error {
		var relation, through string
		if err := rows.Scan(&relation, &through); err != nil {
			return err
		}
		from := identifier(through)
		if through != role {
			from += " (of which it is a member)"
		}
		c.found.problem(
			"databases.%s: role %s can read private rows of %s: REVOKE SELECT ON %s FROM %s, or FROM PUBLIC if everybody was granted it", name, role, relation, relation, from)
		return nil
	}, role, private)
}

func (c *liveCheck) adviseMain(ctx context.Context, role string, private []uint32) error {
	powers, err := c.main.strings(ctx, powersSQL, role)
	if err != nil {
		return err
	}
	for _, power := range powers {
		c.found.advise(
			"databases.main: role %s %s: one that may SELECT the policy's columns is enough; dpproxy setup makes one", role,
			power)
	}
	writes, err := c.main.strings(ctx, writesSQL, role, private)
	if err != nil {
		return err
	}
	if len(writes) > 0 && len(powers) == 0 {
		c.found.advise("databases.main: role %s may change %s: dpproxy only reads; REVOKE what it does not need", role,
			strings.Join(writes, ", "))
	}
	return nil
}

// oidsSQL: the relations $1, $2.
const oidsSQL = `SELECT c.oid FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) w(schema, relation)
  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.relation AND c.relkind IN ('r', 'p', 'f', 'v', 'm')`

// privateOIDs returns main's private tables and the policy's views.
func (c *liveCheck) privateOIDs(ctx context.Context) ([]uint32, error) {
	names := slices.Clone(c.policy.Views)
	for _, t := range c.policy.Tables {
		if !t.Public {
			names = append(names, t.Name)
		}
	}
	oids := []uint32{}
	schemas, relations := split(names)
	err := c.main.each(ctx, oidsSQL, func(rows pgx.Rows) error {
		var oid uint32
		err := rows.Scan(&oid)
		oids = append(oids, oid)
		return err
	}, schemas, relations)
	return oids, err
}
