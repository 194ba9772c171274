package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

const (
	// maxForm bounds the body of an analyst's request: a statement of the greatest length that the proxy takes,
	// percent-encoded, fits.
	maxForm = 128 << 10
	// maxSmallForm bounds that of everybody else: a name and a password.
	maxSmallForm = 8 << 10

	// A form is held as it comes, as a text and as values; each field takes so many bytes beside.
	formCopies = 4
	fieldBytes = 128
	// pageCopies is how much a buffer may have grown beyond what is in it.
	pageCopies = 2
	// answerBytes is what an answer takes at least: where there is no more room for so much, a question is not run.
	answerBytes = 16 << 10
)

type accountKey struct{}

// accountOf counts what a request takes. Pages that refuse one have none: they are small.
func accountOf(r *http.Request) *memory.Account {
	account, _ := r.Context().Value(accountKey{}).(*memory.Account)
	return account
}

// counted reads forms, and counts them and the pages that answer them: for the analyst who has logged in, or else for
// strangers.
func (c *Console) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		analyst, most := "", int64(maxSmallForm)
		if x := c.sessions.find(c.identifier(r), hostOf(r)); x != nil && !x.administrator() {
			analyst, most = x.analyst, maxForm
		}
		account := c.config.Memory.Open(analyst)
		defer account.Close()
		hold := account.Hold()
		r.Body = form{http.MaxBytesReader(w, r.Body, most), &hold}
		var err error
		if changes(r) {
			err = r.ParseForm()
		}
		var tooLarge *http.MaxBytesError
		switch {
		case err == nil:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), accountKey{}, account)))
		case outOfMemory(err):
			c.refuse(w, r, err)
		case errors.As(err, &tooLarge):
			c.fail(w, r, http.StatusRequestEntityTooLarge,
				"This form is too long. A long statement can only be asked by who has logged in.")
		default:
			c.fail(w, r, http.StatusBadRequest, "This form cannot be read.")
		}
	})
}

// form counts the body of a request while it is read.
type form struct {
	io.ReadCloser
	hold *memory.Hold
}

// Read implements io.Reader.
func (f form) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if full := f.hold.Grow(formCopies*n + fieldBytes*bytes.Count(p[:n], []byte("&"))); full != nil {
		return 0, full
	}
	return n, err
}

// pageBuffer counts a page while it is made.
type pageBuffer struct {
	bytes.Buffer
	hold memory.Hold
}

// Write implements io.Writer.
func (b *pageBuffer) Write(p []byte) (int, error) {
	if err := b.hold.Grow(pageCopies * len(p)); err != nil {
		return 0, err
	}
	return b.Buffer.Write(p)
}

func outOfMemory(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == pgerr.OutOfMemory
}

// statusOf is that of a page which shows a refusal, or none: the question may be another, the page is there.
func statusOf(r *refusal) int {
	if r != nil && r.Code == pgerr.OutOfMemory {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// hold keeps an answer counted for one more who has it.
func (a *answer) hold() *answer {
	if a != nil {
		a.holders.Add(1)
	}
	return a
}

// release says that one has it no more. The last one gives back what it takes.
func (a *answer) release() {
	if a != nil && a.holders.Add(-1) == 0 {
		a.memory.Close()
	}
}
