package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Server is a running PostgreSQL. Its methods may be called from several goroutines.
type Server struct {
	// Host is 127.0.0.1, Port its TCP port, SocketDir the folder of its Unix socket.
	Host      string
	Port      int
	SocketDir string

	bin, dir string
	options  Options
	account  account
	process  *process
	pipe     io.Closer
	janitor  *exec.Cmd
	stopOnce sync.Once
}

// startTimeout bounds initdb and start together; on a slow disk initdb alone takes seconds.
const startTimeout = 2 * time.Minute

// Start makes a cluster and starts its server. The error of a machine without PostgreSQL wraps ErrNoServer and says in
// one line what to install.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	bin := o.Programs
	if bin == "" {
		if bin, err = Find(); err != nil {
			return nil, err
		}
	}
	a, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := a.folder(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{Host: "127.0.0.1", bin: bin, dir: dir, options: o, account: a, SocketDir: filepath.Join(dir, "socket")}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	if err := s.initialise(ctx); err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		s.Port = o.Port
		if s.Port == 0 {
			if s.Port, err = freePort(); err != nil {
				return nil, err
			}
		}
		err = s.run(ctx)
		// Between freePort and the bind another process may take the port: choose again, unless it was asked for.
		if err == nil || o.Port != 0 || attempt == 5 || !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if s.pipe, s.janitor, err = janitor(dir, s.process.cmd.Process.Pid); err != nil {
		return nil, fmt.Errorf("starting the janitor: %w", err)
	}
	return s, nil
}

// initialise runs initdb as the server's user.
func (s *Server) initialise(ctx context.Context) error {
	if err := os.Mkdir(s.SocketDir, 0o755); err != nil {
		return err
	}
	if s.account.drop {
		if err := os.Chown(s.SocketDir, s.account.uid, s.account.gid); err != nil {
			return err
		}
	}
	args := []string{"-D", s.data(), "-U", Superuser, "-E", "UTF8", "--no-locale", "--no-sync", "-A", "trust"}
	if s.options.Password != "" {
		file := filepath.Join(s.dir, "password")
		if err := os.WriteFile(file, []byte(s.options.Password+"\n"), 0o600); err != nil {
			return err
		}
		defer os.Remove(file)
		if err := os.Chown(file, s.account.uid, s.account.gid); err != nil {
			return err
		}
		args = append(args, "--pwfile", file, "--auth-host", "scram-sha-256", "--auth-local", "trust")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), args...)
	cmd.Dir, cmd.Env = s.dir, []string{"LC_ALL=C", "PATH=" + s.bin + ":/usr/bin:/bin", "TZ=UTC"}
	cmd.SysProcAttr = attributes(s.account.credential())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb in %s: %w\n%s", s.dir, err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) run(ctx context.Context) (err error) {
	args := s.options.arguments(s.data(), s.SocketDir, strconv.Itoa(s.Port))
	s.process, err = launch(filepath.Join(s.bin, "postgres"), args, attributes(s.account.credential()), s.dir,
		s.options.Log)
	if err != nil {
		return err
	}
	return s.process.await(ctx)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// DSN returns a connection string over TCP. The superuser's carries its password where the server has one.
func (s *Server) DSN(db, user string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User(user), Host: net.JoinHostPort(s.Host, strconv.Itoa(s.Port)),
		Path: "/" + db, RawQuery: "sslmode=disable",
	}
	if user == Superuser && s.options.Password != "" {
		u.User = url.UserPassword(user, s.options.Password)
	}
	return u.String()
}

// Folder returns a folder that goes with the server: Stop removes it, and so does the janitor.
func (s *Server) Folder() string { return s.dir }

// Restart stops the server as a crash would and starts it again on the same port with the same data: what a failover
// looks like to a client.
func (s *Server) Restart(ctx context.Context) error {
	s.process.stop(syscall.SIGQUIT)
	s.pipeHandover()
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("restarting PostgreSQL: %w", err)
	}
	var err error
	s.pipe, s.janitor, err = janitor(s.dir, s.process.cmd.Process.Pid)
	return err
}

// pipeHandover ends the old janitor, which knows the old pid, without letting it remove the folder.
func (s *Server) pipeHandover() {
	_ = s.janitor.Process.Kill()
	_ = s.janitor.Wait()
	_ = s.pipe.Close()
}

// Stop ends the server, without a checkpoint, and removes its folder. It may be called more than once.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		if s.process != nil {
			s.process.stop(syscall.SIGQUIT)
		}
		if s.pipe != nil {
			_ = s.pipe.Close()
			_ = s.janitor.Wait()
		}
		_ = os.RemoveAll(s.dir)
	})
}
