package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// commit decides requests in one transaction and answers them when it is on disk. Either there is one account, whose
// lock it waits for; or it returns the requests of those accounts that are locked, or have no row yet, unanswered.
func (s *Store) commit(work map[string][]*request, wait bool) (locked map[string][]*request) {
	r := s.Rules.Load()
	replies := make(map[*request]error)
	locked, err := s.attempt(r, work, wait, replies)
	r.Reached("committed")
	for analyst, requests := range work {
		if err == nil && locked[analyst] != nil {
			continue
		}
		for _, request := range requests {
			reply := replies[request]
			if err != nil && reply == nil {
				reply = ledger.Unavailable(r.Log, "charging", err)
			}
			request.done <- reply
		}
	}
	if err != nil {
		return nil
	}
	return locked
}

// attempt runs the transaction. It sets the replies of the requests that are refused.
func (s *Store) attempt(r *accounting.Rules, work map[string][]*request, wait bool, replies map[*request]error) (
	locked map[string][]*request, err error,
) {
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
	defer cancel()
	t, err := s.lock(ctx, r, work, wait)
	if err != nil && ctx.Err() == nil && !isServerError(err) {
		// The server may have been restarted since the pool connected. Nothing is charged yet.
		s.pool.Reset()
		t, err = s.lock(ctx, r, work, wait)
	}
	if err != nil {
		return nil, err
	}
	defer t.conn.Release() // closes the connection if it is still in a transaction
	locked = make(map[string][]*request)
	for analyst, requests := range work {
		if t.own[analyst] == nil {
			locked[analyst] = requests
			continue
		}
		t.decide(analyst, requests, replies)
	}
	r.Reached("decided")
	if len(t.entries()) == 0 {
		_, err := t.conn.Exec(ctx, "ROLLBACK")
		return locked, err
	}
	return locked, s.write(ctx, t)
}

// isServerError reports whether the server itself answered with err; otherwise the connection is broken.
func isServerError(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && !strings.HasPrefix(e.Code, "57P") // 57P01…57P03: the server is stopping or starting
}

// decide runs an analyst's requests on a book of theirs, one after the other. The account of all analysts together goes
// from book to book.
func (t *transaction) decide(analyst string, requests []*request, replies map[*request]error) {
	book := t.book(analyst)
	t.books = append(t.books, book)
	for _, request := range requests {
		if slices.ContainsFunc(request.questions, func(hash []byte) bool { return t.asked[string(hash)] }) {
			replies[request] = ledger.ErrAsked
			continue
		}
		if err := request.Decide(book); err != nil {
			replies[request] = ledger.ClientError(t.rules.Log, err)
			continue
		}
		t.claims = append(t.claims, request.questions...)
		for _, hash := range request.questions {
			t.asked[string(hash)] = true
		}
	}
	t.group = book.Group
}

// book returns a book on a locked account.
func (t *transaction) book(analyst string) *accounting.Book {
	return accounting.NewBook(t.rules, t.rules.Time(t.now), *t.own[analyst], t.group)
}

// entries are the records that the transaction writes.
func (t *transaction) entries() (all []accounting.Entry) {
	for _, b := range t.books {
		all = append(all, b.Entries...)
	}
	return all
}

// write adds the entries, stores the accounts and claims, and commits, in one round trip.
func (s *Store) write(ctx context.Context, t *transaction) error {
	var (
		names            []string
		numbers          []int64
		times            []time.Time
		kinds            []int16
		payloads, chains [][]byte
		changed          []string
		states           [][]byte
	)
	for _, e := range t.entries() {
		names = append(names, e.Analyst)
		numbers = append(numbers, int64(e.Number))
		times = append(times, e.At)
		kinds = append(kinds, int16(e.Kind))
		payloads = append(payloads, e.Payload)
		chains = append(chains, e.Chain[:])
	}
	for _, b := range t.books {
		if len(b.Entries) > 0 {
			changed, states = append(changed, b.Account.Name), append(states, b.Account.Encode())
		}
	}
	if t.group != nil {
		changed, states = append(changed, accounting.GroupName), append(states, t.group.Encode())
	}
	store := &pipeline{}
	keep := s.curves.put(store, t.entries())
	store.exec(
		`INSERT INTO dpproxy_ledger.record SELECT * FROM unnest($1::text[], $2::int8[], $3::timestamptz[], $4::int2[],
		$5::bytea[], $6::bytea[])`, names, numbers, times, kinds, payloads, chains)
	store.exec(
		`UPDATE dpproxy_ledger.account a SET state = changed.state FROM unnest($1::text[], $2::bytea[]) changed (name, state)
		WHERE a.name = changed.name`, changed, states)
	s.claim(store, t.claims)
	// COMMIT can be in the same round trip: after an error the server skips everything up to the end of the batch.
	store.commit()
	t.rules.Reached("written")
	err := store.run(ctx, t.conn)
	if err == nil {
		keep()
	}
	return err
}
