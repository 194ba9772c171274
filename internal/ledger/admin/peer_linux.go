package admin

import (
	"net"
	"syscall"
)

// peerAllowed asks the kernel who connected. The socket's mode alone would let others in between bind and chmod.
func peerAllowed(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var peer *syscall.Ucred
	if raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}) != nil || err != nil {
		return false
	}
	return peer.Uid == 0 || int(peer.Uid) == syscall.Getuid()
}
