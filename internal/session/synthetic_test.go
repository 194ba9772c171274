package session

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// TestSyntheticRowsAreThePolicys: who may not have rows of the twin may neither set them nor bring them at startup.
func TestSyntheticRowsAreThePolicys(t *testing.T) {
	for name, rest := range map[string]string{"dpproxy.rows": "refuse", "dpproxy.source": "real"} {
		c := open(t, nil)
		c.startup.Analyst = "bob"
		for value, allowed := range map[string]bool{Synthetic: false, "SYNTHETIC": false, rest: true} {
			_, err := c.check(context.Background(), c.state, lookup(name), name, value)
			var refused *pgconn.PgError
			if allowed != (err == nil) ||
				!allowed && (!errors.As(err, &refused) || refused.Code != pgerr.InsufficientPrivilege) {
				t.Errorf("%s = %s: %v", name, value, err)
			}
		}
		_, err := NewHandler(&fakeEngine{}).Open(context.Background(), wire.Startup{
			Analyst: "bob", Database: "clinic", Parameters: map[string]string{name: Synthetic}, Notice: func(*pgconn.Notice) {},
		})
		if err == nil {
			t.Errorf("%s was taken at startup", name)
		}
	}
}
