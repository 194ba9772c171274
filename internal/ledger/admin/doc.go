// Package admin gives an administrator access to a ledger file that a running proxy holds.
//
// The proxy serves HTTP on a Unix socket next to the file (server.go). The socket has mode 0600, and the kernel is
// asked who connects (socket.go): only the proxy's own user and root are answered. `dpproxy budget` is the client
// (client.go, open.go).
package admin
