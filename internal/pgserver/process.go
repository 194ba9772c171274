package pgserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process holds one run of the postmaster.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed when the log says that connections are accepted
	done  chan struct{} // closed when the process is gone and its log is read

	mu   sync.Mutex
	tail []string // last lines of the log, for errors
}

// tailLines is how much of the log an error quotes.
const tailLines = 12

// launch starts the postmaster from a thread that lives as long as it does: Pdeathsig follows the thread that forked,
// and Go may end an unlocked thread at any time.
func launch(program string, args []string, attr *syscall.SysProcAttr, dir string, log io.Writer) (*process, error) {
	p := &process{ready: make(chan struct{}), done: make(chan struct{})}
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir, p.cmd.Env, p.cmd.SysProcAttr = dir, []string{"LC_ALL=C", "PATH=/usr/bin:/bin", "TZ=UTC"}, attr
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.read(stderr, log)
		// A postmaster that is stopped by a signal exits with some status; the log explains it.
		_ = p.cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return p, nil
}

func (p *process) read(stderr io.Reader, log io.Writer) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	isReady := false
	for lines.Scan() {
		line := lines.Text()
		if log != nil {
			fmt.Fprintln(log, line)
		}
		p.mu.Lock()
		p.tail = append(p.tail, line)
		if len(p.tail) > tailLines {
			p.tail = p.tail[1:]
		}
		p.mu.Unlock()
		if !isReady && strings.Contains(line, "database system is ready to accept") {
			isReady = true
			close(p.ready)
		}
	}
	// A line beyond the buffer ends the scan; the pipe must still be emptied or the server blocks.
	_, _ = io.Copy(io.Discard, stderr)
}

func (p *process) lastLog() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// errPortTaken says that another process got the port first.
var errPortTaken = errors.New("port in use")

// await returns when the server accepts connections.
func (p *process) await(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-p.done:
		if log := p.lastLog(); strings.Contains(log, "Address already in use") {
			return fmt.Errorf("%w:\n%s", errPortTaken, log)
		}
		return fmt.Errorf("PostgreSQL ended while starting:\n%s", p.lastLog())
	case <-ctx.Done():
		p.stop(syscall.SIGQUIT)
		return fmt.Errorf("PostgreSQL did not start in time: %w\n%s", context.Cause(ctx), p.lastLog())
	}
}

// stopGrace is how long a postmaster may take before it is killed. Immediate shutdown itself kills backends after 5 s
// (postmaster.c, SIGKILL_CHILDREN_AFTER_SECS).
const stopGrace = 15 * time.Second

// stop signals the postmaster and returns when it is gone.
func (p *process) stop(sig syscall.Signal) {
	// The process may have ended by itself: nothing to do then.
	_ = p.cmd.Process.Signal(sig)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
