package integration_test

import (
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// cutter is a relay before main that can break a connection in the middle of an answer.
type cutter struct {
	address string
	mu      sync.Mutex
	left    int    // bytes that main may still answer on one connection; 0: no limit
	before  func() // runs before the connection is cut
}

// newCutter listens until the test ends.
func newCutter(t *testing.T, host string, port int) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	c := &cutter{address: listener.Addr().String()}
	main := net.JoinHostPort(host, strconv.Itoa(port))
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", main)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(server, client)
				server.Close()
			}()
			go c.answers(client, server)
		}
	}()
	return c
}

// cut breaks the next connection on which main answers that many bytes in a row without being asked anew.
func (c *cutter) cut(after int, before func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.before = after, before
}

// done reports whether the connection was cut.
func (c *cutter) done() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left == 0
}

func (c *cutter) answers(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	buffer := make([]byte, 512)
	passed := 0
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		c.mu.Lock()
		if c.left == 0 {
			passed = 0
		}
		passed += n
		cut := c.left > 0 && passed > c.left
		if cut {
			c.left = 0
		}
		c.mu.Unlock()
		if cut {
			c.before()
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// policyThrough sends the proxy to main by way of c.
func (p *proxy) policyThrough(c *cutter) {
	p.t.Helper()
	policy, err := os.ReadFile(p.policy)
	if err != nil {
		p.t.Fatal(err)
	}
	direct := "main: \"postgres://it_main@" + net.JoinHostPort(p.server.Host, strconv.Itoa(p.server.Port))
	changed := strings.Replace(string(policy), direct, "main: \"postgres://it_main@"+c.address, 1)
	if changed == string(policy) {
		p.t.Fatalf("no %s in the policy:\n%s", direct, policy)
	}
	if err := os.WriteFile(p.policy, []byte(changed), 0o600); err != nil {
		p.t.Fatal(err)
	}
}
