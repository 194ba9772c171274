package wire

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// open runs the startup phase under one deadline: negotiation, limits, authentication, session, first ReadyForQuery. It
// returns false without an error when there is nothing to serve (a CancelRequest).
func (c *conn) open() (bool, error) {
	deadline := time.Now().Add(c.server.config.Timeouts.Startup)
	ctx, cancel := context.WithDeadline(c.ctx, deadline)
	defer cancel()
	c.raw.until = deadline
	if err := c.raw.SetReadDeadline(deadline); err != nil {
		return false, err
	}
	p, err := c.negotiate(ctx)
	if err != nil {
		return false, err
	}
	c.r = bufio.NewReaderSize(c.stream, readBuffer)
	c.w = newWriter(c.stream)
	if p.code == cancelRequestCode {
		if !c.server.cancels.request(p.body) {
			c.log.Debug("cancel request with a wrong key")
		}
		return false, nil
	}
	m, err := parseStartup(p)
	if err != nil {
		return false, err
	}
	if err := c.admit(); err != nil {
		return false, err
	}
	if err := c.negotiateVersion(m); err != nil {
		return false, err
	}
	if err := c.login(ctx, m); err != nil {
		return false, err
	}
	c.raw.until = time.Time{}
	return true, c.raw.SetReadDeadline(time.Time{})
}

// negotiate answers SSLRequest and GSSENCRequest, each at most once, up to the packet that says what the client wants.
func (c *conn) negotiate(ctx context.Context) (packet, error) {
	first, replay, err := peek(c.raw)
	if err != nil {
		return packet{}, err
	}
	var in net.Conn = replay
	sslSeen, gssSeen := false, false
	if first == tlsRecordHandshake {
		if c.server.tlsConfig() == nil {
			return packet{}, silent{errors.New("direct TLS, but TLS is not configured")}
		}
		if err := c.startTLS(ctx, &timedReplay{replay, c.raw}, true); err != nil {
			return packet{}, silent{err}
		}
		in, sslSeen, gssSeen = c.stream, true, true
	}
	for {
		p, err := readPacket(in)
		switch {
		case errors.Is(err, errPacketLength):
			return packet{}, fatal(pgerr.ProtocolViolation, "%s", errPacketLength.Error())
		case err != nil:
			return packet{}, err
		case p.code == sslRequestCode && !sslSeen && len(p.body) == 0:
			sslSeen = true
			if in, err = c.answerSSL(ctx, in); err != nil {
				return packet{}, err
			}
		case p.code == gssRequestCode && !gssSeen && len(p.body) == 0:
			gssSeen = true
			if _, err := c.stream.Write([]byte{'N'}); err != nil {
				return packet{}, err
			}
		default:
			return p, nil
		}
	}
}

// answerSSL says S and runs the handshake, or says N. Packets are read byte-exactly, so whatever a man in the middle
// put behind the request becomes part of a failing handshake, never of the session (CVE-2021-23214).
func (c *conn) answerSSL(ctx context.Context, in net.Conn) (net.Conn, error) {
	if c.server.tlsConfig() == nil {
		_, err := c.stream.Write([]byte{'N'})
		return in, err
	}
	if _, err := c.stream.Write([]byte{'S'}); err != nil {
		return nil, err
	}
	if err := c.startTLS(ctx, c.raw, false); err != nil {
		return nil, silent{err}
	}
	return c.stream, nil
}

// admit refuses, in words, clients over the limits and clients without TLS.
func (c *conn) admit() error {
	if !c.inside() {
		if err := c.server.slots.room(c.host); err != nil {
			return err
		}
	}
	select {
	case <-c.server.draining.Done():
		return fatal("57P03", "the database system is shutting down")
	default:
	}
	if c.server.config.RequireTLS && c.tls == nil && !local(c.raw.RemoteAddr()) {
		e := fatal(pgerr.InvalidAuthorization, "connection requires TLS")
		e.Hint = "Connect with sslmode=require or stricter."
		return e
	}
	return nil
}

func local(addr net.Addr) bool {
	t, ok := addr.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}

// negotiateVersion offers 3.0 to a client that asks for a newer minor version or for protocol extensions.
func (c *conn) negotiateVersion(m startupMessage) error {
	if m.minor == 0 && len(m.extensions) == 0 {
		return nil
	}
	return c.w.send(&negotiateProtocolVersion{newest: protocol30, unknown: m.extensions})
}

// login authenticates, opens the session and sends everything up to the first ReadyForQuery.
func (c *conn) login(ctx context.Context, m startupMessage) error {
	analyst, err := c.authenticate(ctx, m)
	if err != nil {
		return err
	}
	if err := c.server.slots.authenticated(c); err != nil {
		return err
	}
	if !c.inside() {
		if err := c.server.slots.take(c); err != nil {
			return err
		}
	}
	if err := c.w.send(&pgproto3.AuthenticationOk{}); err != nil {
		return err
	}
	c.log = c.log.With("analyst", analyst)
	c.memory = c.server.memory.Open(analyst)
	c.server.cancels.add(c)
	var notices []*pgconn.Notice
	c.session, err = c.server.config.Handler.Open(ctx, Startup{
		Analyst: analyst, User: m.user, Database: m.database, Parameters: m.parameters,
		RemoteAddr: c.raw.RemoteAddr().String(), ProcessID: c.pid, Memory: c.memory,
		Notice: func(n *pgconn.Notice) { notices = append(notices, n) },
	})
	if err != nil {
		c.server.cancels.remove(c)
		return err
	}
	c.w.encoding = c.session.Encoding
	if err := c.w.parameters(c.session.Parameters()); err != nil {
		return c.abandon(err)
	}
	if err := c.w.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: c.secret}); err != nil {
		return c.abandon(err)
	}
	for _, n := range notices {
		if err := c.w.notice(n); err != nil {
			return c.abandon(err)
		}
	}
	if err := c.ready(); err != nil {
		return c.abandon(err)
	}
	c.log.Info("session opened", "user", m.user, "tls", c.tls != nil)
	return nil
}

func (c *conn) abandon(err error) error {
	c.server.cancels.remove(c)
	c.session.Close()
	return err
}
