package packages_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is this one's file system in a mount namespace of its own: what is written there goes to memory, and is gone
// with the test. Network and processes are the host's.
type machine struct {
	*testing.T
	pid  int    // of who keeps the namespace
	root string // the file system, as the namespace sees it
}

// mount makes the file system, says that it is there, and keeps it until its input ends.
const mount = `set -e
mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount --bind /dev "$1/root/dev"
echo ready
read -r end || true`

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("packages are installed by root")
	}
	folder := t.TempDir()
	cmd := exec.Command("unshare", "--mount", "sh", "-c", mount, "sh", folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no mount namespace: %v", err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		_ = cmd.Wait()
		t.Skipf("no file system of its own: %s", said.String())
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &machine{t, cmd.Process.Pid, filepath.Join(folder, "root")}
}

// command runs there, as a user of that machine.
func (m *machine) command(user string, args ...string) *exec.Cmd {
	as := []string{"--mount=/proc/" + strconv.Itoa(m.pid) + "/ns/mnt", "chroot", "--userspec=" + user, m.root}
	cmd := exec.Command("nsenter", append(as, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs a command of the administrator.
func (m *machine) run(args ...string) string {
	m.Helper()
	out, err := m.command("root:root", args...).CombinedOutput()
	if err != nil {
		m.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// fails reports whether a command of the administrator fails.
func (m *machine) fails(args ...string) bool {
	return m.command("root:root", args...).Run() != nil
}

// write stores a file.
func (m *machine) write(path, text string) {
	m.Helper()
	cmd := m.command("root:root", "tee", path)
	cmd.Stdin, cmd.Stdout = strings.NewReader(text), io.Discard
	if err := cmd.Run(); err != nil {
		m.Fatalf("%s: %v", path, err)
	}
}

// service is a started unit.
type service struct {
	cmd  *exec.Cmd
	log  strings.Builder
	addr string
}

// start does what systemd does for a unit of Type=notify: it runs ExecStart as the unit's user, and waits for READY=1.
func (m *machine) start(unit string) *service {
	m.Helper()
	var command []string
	for line := range strings.Lines(m.run("cat", unit)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok {
			command = strings.Fields(value)
		}
	}
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@dpproxy-" + filepath.Base(filepath.Dir(m.root)) +
		strconv.Itoa(os.Getpid()), Net: "unixgram"})
	if err != nil {
		m.Fatal(err)
	}
	defer told.Close()
	s := &service{cmd: m.command("dpproxy:dpproxy", command...)}
	s.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+told.LocalAddr().String())
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		m.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		m.Fatal(err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(listening)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if addr, ok := strings.CutPrefix(lines.Text(), "dpproxy: listening on "); ok {
				listening <- addr
			}
			s.log.WriteString(lines.Text() + "\n")
		}
	}()
	var ok bool
	if s.addr, ok = <-listening; !ok {
		m.Fatalf("%v ended: %v\n%s", command, s.cmd.Wait(), s.log.String())
	}
	state := make([]byte, 64)
	_ = told.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := told.Read(state); err != nil || string(state[:n]) != "READY=1" {
		m.Errorf("systemd was told %q, %v", state[:n], err)
	}
	return s
}

// stop does what systemd does.
func (m *machine) stop(s *service) {
	m.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		m.Errorf("the service ended with %v", err)
	}
}
