//go:build unix && !linux

package pgserver

import "syscall"

// attributes of the postmaster: its own process group, so that Ctrl-C reaches it through Stop only. The janitor alone
// ends it when its parent dies.
func attributes(c *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: c, Setpgid: true}
}
