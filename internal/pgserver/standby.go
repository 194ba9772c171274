package pgserver

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
)

// ReplicationSettings are what a server needs that Standby copies.
var ReplicationSettings = map[string]string{"wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on"}

// Standby copies the server, which began with ReplicationSettings, and starts a hot standby of it with further
// settings. It needs pg_basebackup.
func (s *Server) Standby(ctx context.Context, settings map[string]string) (_ *Server, err error) {
	dir, err := s.account.folder(s.options.Dir)
	if err != nil {
		return nil, err
	}
	o := s.options
	o.Settings = maps.Clone(s.options.Settings)
	maps.Copy(o.Settings, settings)
	copied := &Server{Host: s.Host, bin: s.bin, dir: dir, options: o, account: s.account, SocketDir: filepath.Join(
		dir, "socket")}
	defer func() {
		if err != nil {
			copied.Stop()
		}
	}()
	if err := os.Mkdir(copied.SocketDir, 0o755); err != nil {
		return nil, err
	}
	if s.account.drop {
		if err := os.Chown(copied.SocketDir, s.account.uid, s.account.gid); err != nil {
			return nil, err
		}
	}
	backup := exec.CommandContext(ctx, "pg_basebackup", "-D", copied.data(), "-d", s.DSN("postgres", Superuser), "-R",
		"-X", "stream", "-c", "fast", "--no-sync")
	backup.Dir, backup.SysProcAttr = dir, attributes(s.account.credential())
	if out, err := backup.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if copied.Port, err = freePort(); err != nil {
		return nil, err
	}
	if err = copied.run(ctx); err != nil {
		return nil, err
	}
	if copied.pipe, copied.janitor, err = janitor(dir, copied.process.cmd.Process.Pid); err != nil {
		return nil, fmt.Errorf("starting the janitor: %w", err)
	}
	return copied, nil
}
