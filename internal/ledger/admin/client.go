package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// Limits of one call: to connect, and for an answer that does not depend on the number of records.
const (
	dialTimeout = 5 * time.Second
	callTimeout = 30 * time.Second
)

var errNoAnswer = fmt.Errorf("the running dpproxy did not answer within %s", callTimeout)

// Client is a ledger that another process holds.
type Client struct{ http http.Client }

// Dial connects to the proxy that serves the socket at path.
func Dial(ctx context.Context, path string) (*Client, error) {
	conn, err := dial(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	conn.Close() // somebody listens: each call may open its own connection
	return &Client{http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, path) },
	}}}, nil
}

// call sends a request and returns an answer whose status is 200.
func (c *Client) call(ctx context.Context, method, path, analyst string) (*http.Response, error) {
	target := url.URL{Scheme: "http", Host: "dpproxy", Path: path, RawQuery: url.Values{"analyst": {analyst}}.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), nil)
	if err != nil {
		return nil, err
	}
	return c.send(ctx, request)
}

// send makes a request whose error is the ledger's own.
func (c *Client) send(ctx context.Context, request *http.Request) (*http.Response, error) {
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, lost(ctx, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("the running dpproxy does not know %s %s: it has another version", request.Method,
			request.URL.Path)
	}
	var f failure
	if err := json.NewDecoder(answer.Body).Decode(&f); err != nil {
		return nil, fmt.Errorf("the running dpproxy answered %s: %w", answer.Status, err)
	}
	return nil, errors.New(f.Error)
}

// decode reads an answer.
func decode(ctx context.Context, answer *http.Response, to any) error {
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(to); err != nil {
		return lost(ctx, err)
	}
	return nil
}

// quick makes a call that does not read every record, within callTimeout.
func (c *Client) quick(ctx context.Context, method, path, analyst string, to any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	answer, err := c.call(ctx, method, path, analyst)
	if err != nil {
		return err
	}
	return decode(ctx, answer, to)
}

// lost is the error of a connection that broke.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err // without the address, which means nothing to the caller
	}
	return fmt.Errorf("the running dpproxy closed the connection (it answers only its own user and root): %w", err)
}

// Show lists all accounts.
func (c *Client) Show(ctx context.Context) (accounts []ledger.AccountSummary, err error) {
	err = c.quick(ctx, http.MethodGet, "/show", "", &accounts)
	return accounts, err
}

// Reset opens a new period.
func (c *Client) Reset(ctx context.Context, analyst string) (account ledger.AccountSummary, err error) {
	err = c.quick(ctx, http.MethodPost, "/reset", analyst, &account)
	return account, err
}

// Clear forgets an analyst's failures.
func (c *Client) Clear(ctx context.Context, analyst string) (count int, err error) {
	err = c.quick(ctx, http.MethodPost, "/clear", analyst, &count)
	return count, err
}

// Verify derives every total from the records. It may take minutes.
func (c *Client) Verify(ctx context.Context) (report ledger.Report, err error) {
	answer, err := c.call(ctx, http.MethodGet, "/verify", "")
	if err != nil {
		return report, err
	}
	err = decode(ctx, answer, &report)
	return report, err
}

// Export copies every record to w.
func (c *Client) Export(ctx context.Context, w io.Writer) error {
	answer, err := c.call(ctx, http.MethodGet, "/export", "")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(w, exportReader{ctx, answer.Body}); err != nil {
		return err
	}
	if quoted := answer.Trailer.Get(exportError); quoted != "" {
		reason, err := strconv.Unquote(quoted)
		if err != nil {
			reason = quoted
		}
		return errors.New(reason)
	}
	return nil
}

// exportReader says of a failed read what it means. io.Copy returns failed writes too.
type exportReader struct {
	ctx  context.Context
	body io.Reader
}

func (r exportReader) Read(b []byte) (int, error) {
	n, err := r.body.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = lost(r.ctx, err)
	}
	return n, err
}

// Close closes the connection.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}
