package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/server"
)

// drainTime is how long running statements may take after SIGTERM, before their sessions are closed.
const drainTime = 30 * time.Second

type serveCommand struct {
	policyFlag
}

// Help is shown by --help.
func (serveCommand) Help() string {
	return "Listens only after every check. SIGHUP reads policy and certificates again; SIGTERM lets running statements " +
		"finish; a second SIGTERM stops now. The log on standard error is JSON, without parameters and results."
}

func (c *serveCommand) Run(ctx context.Context, s *streams) error {
	p, err := c.load()
	if err != nil {
		return err
	}
	if err := server.Need(p); err != nil {
		return err
	}
	log := newLog(s.err)
	for _, note := range p.Notes {
		log.Info("policy", "note", note.String())
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory.Soft(p.Limits.Memory))
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	srv, err := server.Start(ctx, p, log)
	if err != nil {
		return err
	}
	s.say("listening on %s", srv.Addr())
	notify(log, daemon.SdNotifyReady)
	reloading, stopReloads := context.WithCancel(context.Background())
	defer stopReloads()
	var reloads sync.WaitGroup
	asked := make(chan struct{}, 1) // for a reload: one that waits reads the file as it is then, so one is enough
	reloads.Go(func() {
		for range asked {
			reload(reloading, srv, log)
		}
	})
	for {
		select {
		case err := <-srv.Failed():
			srv.Close()
			return err
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				select {
				case asked <- struct{}{}:
				default:
				}
				continue
			}
			stopReloads()
			close(asked)
			reloads.Wait()
			return drain(srv, signals, log)
		}
	}
}

// notify tells systemd, where it started the proxy (sd_notify(3)).
func notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd was not told", "state", state, "error", err)
	}
}

// reload takes over the policy file as it is now; a bad one keeps the old policy.
func reload(ctx context.Context, srv *server.Server, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := srv.Reload(ctx)
	var problems policy.Errors
	switch {
	case err == nil:
		log.Info("policy reloaded")
	case errors.As(err, &problems):
		for _, p := range problems {
			log.Error("policy not reloaded, the old one stays", "problem", p.String())
		}
	default:
		log.Error("policy not reloaded, the old one stays", "error", err)
	}
}

// drain lets running statements finish, unless a second signal comes.
func drain(srv *server.Server, signals <-chan os.Signal, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	notify(log, daemon.SdNotifyStopping)
	log.Info("stopping: running statements may finish; a second signal stops now", "seconds", drainTime.Seconds())
	go func() {
		for sig := range signals {
			if sig != syscall.SIGHUP {
				cancel()
			}
		}
	}()
	if err := srv.Shutdown(ctx); err != nil {
		log.Warn("stopped before every statement was done")
	} else {
		log.Info("stopped")
	}
	return nil
}
