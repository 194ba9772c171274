//go:build !linux

package admin

import "net"

// peerAllowed relies on the socket's mode where the kernel is not asked.
func peerAllowed(*net.UnixConn) bool { return true }
