package pgserver

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// childVariable makes the test binary start a server, print its folder and pid, and wait to be killed.
const childVariable = "DPPROXY_PGSERVER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		s, err := Start(context.Background(), Options{})
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString(s.dir + " " + strconv.Itoa(s.process.cmd.Process.Pid) + "\n")
		select {}
	}
	os.Exit(m.Run())
}

func query(t *testing.T, dsn, sql string) string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var out string
	if err := conn.QueryRow(ctx, sql).Scan(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStartServesAndStopRemovesEverything(t *testing.T) {
	s, err := Start(context.Background(), Options{Password: "pass'word", Settings: map[string]string{"work_mem": "7MB"}})
	if err != nil {
		t.Fatal(err)
	}
	dsn := s.DSN("postgres", Superuser)
	if got := query(t, dsn, "SHOW work_mem"); got != "7MB" {
		t.Errorf("work_mem = %s", got)
	}
	if got := query(t, dsn, "SHOW fsync"); got != "off" {
		t.Errorf("fsync = %s", got)
	}
	if _, err := pgx.Connect(context.Background(), strings.Replace(dsn, "pass%27word", "wrong", 1)); err == nil {
		t.Error("a wrong password was accepted")
	}
	query(t, dsn, "SELECT set_config('work_mem', '8MB', false)")
	if err := s.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, dsn, "SELECT 'again'"); got != "again" {
		t.Errorf("after restart: %q", got)
	}
	pid := s.process.cmd.Process.Pid
	s.Stop()
	s.Stop()
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder %s is still there: %v", s.dir, err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("postmaster %d is still there: %v", pid, err)
	}
}

func TestServerEndsWithItsParentEvenIfKilled(t *testing.T) {
	before := segments(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	dir, number, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		t.Fatalf("child said %q, %v", line, err)
	}
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone := func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist) && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	for i := 0; !gone(); i++ {
		if i == 300 {
			t.Fatalf("30 s after its parent was killed, postmaster %d or its folder %s is still there", pid, dir)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if after := segments(t); after > before {
		t.Errorf("shared memory segments of the dead server remain: %d before, %d after", before, after)
	}
}

// segments counts System V segments that no process is attached to.
func segments(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return 0 // not Linux
	}
	n := 0
	for _, line := range strings.Split(string(data), "\n")[1:] {
		if f := strings.Fields(line); len(f) > 6 && f[6] == "0" {
			n++
		}
	}
	return n
}

func TestTakenPortIsAnError(t *testing.T) {
	s, err := Start(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if second, err := Start(context.Background(), Options{Port: s.Port}); err == nil {
		second.Stop()
		t.Fatal("two servers on one port")
	} else if !errors.Is(err, errPortTaken) {
		t.Errorf("error = %v", err)
	}
}

func TestMissingServerSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(); err == nil {
		return // found in one of the fixed places
	} else if !errors.Is(err, ErrNoServer) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error = %v", err)
	}
}

func TestVersionOrder(t *testing.T) {
	for path, want := range map[string]int{"/usr/lib/postgresql/15/bin": 15, "/usr/pgsql-9.6/bin": 6, "/opt": 0} {
		if got := version(path); got != want {
			t.Errorf("version(%q) = %d, want %d", path, got, want)
		}
	}
}
