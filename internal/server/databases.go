package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/engine"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// database is one that analysts connect to. Policy, backend and drift are those of one state; engine and sessions
// outlive a reload.
type database struct {
	policy   *policy.Policy
	backend  *backend.Backend
	suspects []string // public tables that look like people's, which the log has
	drift    error    // what the last look has found; who reads it holds Server.reloading

	engine   *engine.Engine
	sessions *session.Handler
}

// name is what clients connect to.
func (d *database) name(ctx context.Context) string {
	info, _ := d.engine.Info(ctx) // which an engine has at any time
	return info.Database
}

// Need returns a policy.Errors that lists the connections that serve uses, or one of more for each database, and that
// are not known.
func Need(p *policy.Policy, more ...string) error {
	keys := []string{"ledger"}
	if p.Auth.Method == policy.AuthQuery {
		keys = append(keys, "auth.dsn")
	}
	var missing policy.Errors
	errors.As(p.Need(keys...), &missing)
	for _, one := range p.Each() {
		keys := append([]string{"main", "shadow"}, more...)
		if one.HasPublicTable() {
			keys = append(keys, "public")
		}
		if one.Synthetic != nil {
			keys = append(keys, "synthetic")
		}
		var found policy.Errors
		errors.As(one.Need(keys...), &found)
		missing = append(missing, found...)
	}
	if len(missing) == 0 {
		return nil
	}
	return missing
}

// answer makes the engine and the sessions of a database that had none.
func (s *Server) answer(ctx context.Context, d *database) (err error) {
	if d.engine, err = engine.New(ctx, d.policy, d.backend, s.ledger, s.metrics, s.log); err != nil {
		return err
	}
	d.sessions = session.NewHandler(d.engine)
	d.sessions.Observe(s.statement)
	d.sessions.Trace(s.traces)
	return nil
}

// load prepares the databases of a state to take the place of the old ones. Nothing has changed until use is called.
func (s *Server) load(ctx context.Context, old, fresh *state) (use func(), err error) {
	var uses []func()
	gone := slices.Clone(old.databases)
	for _, d := range fresh.databases {
		at := slices.IndexFunc(gone, func(o *database) bool { return o.policy.Name == d.policy.Name })
		if at < 0 {
			if err := s.answer(ctx, d); err != nil {
				return nil, d.policy.In(err)
			}
			continue
		}
		was := gone[at]
		gone = slices.Delete(gone, at, at+1)
		d.engine, d.sessions = was.engine, was.sessions
		take, err := d.engine.Load(ctx, d.policy, d.backend)
		if err != nil {
			return nil, d.policy.In(err)
		}
		uses = append(uses, func() {
			take()
			d.engine.Withhold(false) // it was checked just now
		})
	}
	return func() {
		for _, use := range uses {
			use()
		}
		for _, d := range gone {
			d.engine.Remove()
		}
		s.state.Store(fresh)
	}, nil
}

// router opens the sessions of clients who have authenticated.
type router Server

// Open implements wire.Handler: a session of the database that the client names. Who the policy does not list is a
// member from here on.
func (r *router) Open(ctx context.Context, startup wire.Startup) (wire.Session, error) {
	st := r.state.Load()
	if st == nil {
		return nil, errStopped
	}
	r.members.Admit(startup.Analyst)
	open := slices.DeleteFunc(slices.Clone(st.databases), func(d *database) bool {
		return !d.policy.Knows(startup.Analyst)
	})
	for _, d := range st.databases {
		if d.name(ctx) != startup.Database {
			continue
		}
		if !slices.Contains(open, d) {
			return nil, notOpen(startup.Database)
		}
		return d.sessions.Open(ctx, startup)
	}
	if len(open) == 0 {
		return nil, notOpen(startup.Database)
	}
	return open[0].sessions.Open(ctx, startup) // the maintenance database, or one that does not exist
}

// notOpen is a refusal in PostgreSQL's words.
func notOpen(database string) error {
	return pgerr.New(pgerr.InsufficientPrivilege, fmt.Sprintf("permission denied for database %q", database),
		pgerr.Fatal(),
		pgerr.Detail("The policy does not open it to this analyst."))
}
