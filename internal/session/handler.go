package session

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// Handler opens sessions over one engine. It is safe for concurrent use.
type Handler struct {
	engine  Engine
	observe func(Event) // nil: no event is reported
	traces  func() bool // nil: no

	mu    sync.Mutex
	zones map[string]string // values of TimeZone that the backend has canonicalised
}

// maxZones bounds the memory of time zones, zoneBytes the text of each.
const maxZones, zoneBytes = 1000, 64

// Maintenance is the database that tools connect to for a list of databases (psql -l). It has the catalogs and no
// tables.
const Maintenance = "postgres"

// NewHandler returns a handler whose sessions put their statements to engine.
func NewHandler(engine Engine) *Handler {
	return &Handler{engine: engine, zones: map[string]string{}}
}

var _ wire.Handler = (*Handler)(nil)

// Open starts a session: the backend's parameters, then the client's own.
func (h *Handler) Open(ctx context.Context, startup wire.Startup) (wire.Session, error) {
	info, err := h.engine.Info(ctx)
	if err != nil {
		return nil, err
	}
	if info.Database != "" && startup.Database != info.Database && startup.Database != Maintenance {
		return nil, pgerr.New(pgerr.InvalidCatalogName, `database "`+startup.Database+`" does not exist`, pgerr.Fatal())
	}
	s := &Session{handler: h, engine: h.engine, startup: startup, info: info, lastReported: map[string]string{}}
	s.state = &state{statements: map[string]*preparedStatement{}, portals: map[string]*portal{}, memory: startup.Memory}
	s.state.layers = newLayers(s.defaults())
	if err := s.applyStartup(ctx); err != nil {
		return nil, err
	}
	s.state.layers = newLayers(s.state.layers.session) // RESET goes back to what the client asked for at startup
	s.state.tx.base = s.state.layers
	s.startup.Notice = nil
	return s, nil
}

// defaults returns the settings of a session before the client changes any.
func (s *Session) defaults() Settings {
	values := make(map[string]string, len(parameters))
	for key, p := range parameters {
		values[key] = p.initial
	}
	for name, value := range s.info.Parameters {
		if p := lookup(name); p != nil && p.kind != special || name == "TimeZone" || name == "DateStyle" {
			values[keyOf(name)] = value
		}
	}
	values["is_superuser"] = "off"
	values["session_authorization"] = s.startup.User
	values["standard_conforming_strings"] = "on"
	return Settings{values: values}
}

// applyStartup takes over the settings of the startup packet; those that the session does not hold are named in a
// notice and forgotten.
func (s *Session) applyStartup(ctx context.Context) error {
	for _, name := range sortedKeys(s.startup.Parameters) {
		value := s.startup.Parameters[name]
		if lookup(name) == nil {
			s.startup.Notice(&pgconn.Notice{
				Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000",
				Message: `ignored startup parameter "` + name + `"`, Hint: "dpproxy holds no such setting.",
			})
			continue
		}
		key, canonical, err := s.checked(ctx, s.state, name, value)
		if err != nil {
			var e *pgconn.PgError
			if errors.As(err, &e) {
				f := *e
				f.Severity, f.SeverityUnlocalized = "FATAL", "FATAL"
				return &f
			}
			return err
		}
		s.state.layers = s.state.layers.set(key, canonical, false)
	}
	return nil
}

// timeZone has the backend check a time zone, and remembers the answer.
func (h *Handler) timeZone(ctx context.Context, value string) (string, error) {
	h.mu.Lock()
	canonical, known := h.zones[value]
	h.mu.Unlock()
	if known {
		return canonical, nil
	}
	canonical, err := h.engine.CheckSetting(ctx, "TimeZone", value)
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.zones) < maxZones && len(value) <= zoneBytes {
		h.zones[value] = canonical
	}
	return canonical, nil
}
