package provision

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// checkTwin makes sure that the synthetic twin has main's tables, and that it is the one that setup has made: whatever
// is in a database of another origin would be shown as nobody's.
func (c *liveCheck) checkTwin(ctx context.Context) error {
	if c.twin == nil {
		return nil
	}
	made, err := IsTwin(ctx, c.twin.conn)
	if err != nil {
		return err
	}
	if !made {
		c.found.problem("databases.synthetic: dpproxy setup has not made this database: whose rows are in it, nobody knows")
		return nil
	}
	same, err := sameShape(ctx, c.policy, c.main.conn, c.twin.conn)
	if err != nil {
		return fmt.Errorf("databases.synthetic: %w", err)
	}
	if !same {
		c.found.problem("databases.synthetic: its tables are not those of main: run dpproxy setup, and dpproxy synthesize")
		return nil
	}
	var private []policy.Name
	for _, t := range c.policy.Tables {
		if !t.Public {
			private = append(private, t.Name)
		}
	}
	found, err := rowsAmong(ctx, c.twin.conn, private)
	if err != nil {
		return fmt.Errorf("databases.synthetic: %w", err)
	}
	if len(found) == 0 {
		c.found.advise("databases.synthetic: it has no rows yet: dpproxy synthesize draws them")
	}
	return nil
}

// IsTwin reports whether setup has made a database for rows that are nobody's.
func IsTwin(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var comment string
	err := conn.QueryRow(ctx, commentSQL).Scan(&comment)
	return strings.HasPrefix(comment, twinComment), err
}
