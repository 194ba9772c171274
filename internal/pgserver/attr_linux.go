package pgserver

import "syscall"

// attributes of the postmaster: its own process group, so that Ctrl-C reaches it through Stop only; SIGQUIT (immediate
// shutdown) when the thread that started it ends.
func attributes(c *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: c, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
