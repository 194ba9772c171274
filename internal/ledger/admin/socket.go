package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// SocketPath returns where the process that holds a file ledger listens for `dpproxy budget`. It returns "" for a
// shared ledger, whose administrator connects to PostgreSQL.
func SocketPath(dsn string) string {
	if path := ledger.FilePath(dsn); path != "" {
		return path + ".sock"
	}
	return ""
}

// ownerListener accepts connections of the user who runs the proxy and of root, and closes all others.
type ownerListener struct{ *net.UnixListener }

func (l ownerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if peerAllowed(conn) {
			return conn, nil
		}
		conn.Close()
	}
}

// listen creates the socket. The process holds the ledger file's lock, so a socket that exists is a dead proxy's.
func listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	address, done, err := shortAddress(path)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.ListenUnix("unix", address)
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // the short address is no longer valid then: Serve removes the socket
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, err
	}
	return ownerListener{listener}, nil
}

// dial connects to the socket.
func dial(ctx context.Context, path string) (net.Conn, error) {
	address, done, err := shortAddress(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", address.Name)
}

// longestAddress is the number of bytes that every Unix can hold in sockaddr_un.sun_path: Linux has 108 and macOS 104,
// with the final NUL.
const longestAddress = 103

// shortAddress returns an address that fits. For a path that is too long it goes through the folder's open descriptor.
// The address is valid until the caller calls done.
func shortAddress(path string) (_ *net.UnixAddr, done func(), err error) {
	done = func() {}
	if len(path) > longestAddress {
		folder, err := os.Open(filepath.Dir(path))
		if err != nil {
			return nil, nil, err
		}
		done = func() { folder.Close() }
		path = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path))
	}
	return &net.UnixAddr{Name: path, Net: "unix"}, done, nil
}
