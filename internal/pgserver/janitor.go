package pgserver

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// janitorScript waits until the pipe from its parent closes (the parent stopped the server, or died), makes sure that
// the postmaster $2 is gone, and removes the folder $1. The pid is trusted only while its data folder still names it,
// so that a pid that was given to another process in the meantime is not signalled.
const janitorScript = `trap '' HUP INT TERM
cat >/dev/null
ours() { [ "$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)" = "$2" ] && kill -0 "$2" 2>/dev/null; }
n=0
while ours "$1" "$2" && [ $n -lt 100 ]; do kill -QUIT "$2" 2>/dev/null; n=$((n+1)); sleep 0.1; done
rm -rf -- "$1"`

// janitor starts the process that cleans up after us if we cannot. Closing the returned pipe sends it to work.
func janitor(dir string, pid int) (io.Closer, *exec.Cmd, error) {
	cmd := exec.Command("/bin/sh", "-c", janitorScript, "dpproxy-janitor", dir, strconv.Itoa(pid))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	return pipe, cmd, nil
}
