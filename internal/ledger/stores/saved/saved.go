// Package saved keeps the questions that analysts have given a name: for each analyst of a database a list, in a file
// beside the ledger's or in a table of its schema. Nothing of it has a part in a charge, and a damaged file loses the
// names alone.
package saved

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// What an analyst may keep in one database.
const (
	MaxQuestions = 100
	MaxName      = 100       // characters
	MaxShared    = 20        // analysts
	MaxBytes     = 256 << 10 // of a whole list
)

// Question is one that its owner has saved.
type Question struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	SQL  string    `json:"sql"`
	At   time.Time `json:"at"`
	With []string  `json:"with,omitempty"` // analysts of the same database who may open it
}

// Owner is an analyst of a database.
type Owner struct{ Database, Analyst string }

// Store keeps lists. It is safe for concurrent use.
type Store struct{ lists lists }

// lists holds a text for each owner.
type lists interface {
	get(ctx context.Context, o Owner) ([]byte, error)
	// swap replaces old, nil for none, and reports whether it was still there.
	swap(ctx context.Context, o Owner, old, fresh []byte) (bool, error)
	close() error
}

// Open opens the store beside a ledger. A file that is damaged is put aside, and log has a line.
func Open(ctx context.Context, dsn string, log *slog.Logger) (*Store, error) {
	var l lists
	var err error
	if path := ledger.FilePath(dsn); path != "" {
		l, err = openFile(path+".questions", log)
	} else {
		l, err = openTable(ctx, dsn)
	}
	if err != nil {
		return nil, fmt.Errorf("saved questions: %w", err)
	}
	return &Store{l}, nil
}

// Close closes it.
func (s *Store) Close() error { return s.lists.close() }

// List has the questions of an owner, by name.
func (s *Store) List(ctx context.Context, o Owner) ([]Question, error) {
	text, err := s.lists.get(ctx, o)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// Find returns a question that the reader, an analyst of the owner's database, may open.
func (s *Store) Find(ctx context.Context, o Owner, id, reader string) (Question, bool, error) {
	list, err := s.List(ctx, o)
	for _, q := range list {
		if q.ID == id && (reader == o.Analyst || slices.Contains(q.With, reader)) {
			return q, true, err
		}
	}
	return Question{}, false, err
}

// Put saves a question, in the place of the owner's one of that name. It gives it its ID.
func (s *Store) Put(ctx context.Context, o Owner, q Question) (id string, err error) {
	q.Name = strings.TrimSpace(q.Name)
	switch {
	case q.Name == "" || utf8.RuneCountInString(q.Name) > MaxName || !utf8.ValidString(q.Name):
		return "", pgerr.New(pgerr.InvalidParameterValue,
			fmt.Sprintf("a name has 1 to %d characters", MaxName))
	case len(q.With) > MaxShared:
		return "", pgerr.New(pgerr.InvalidParameterValue,
			fmt.Sprintf("a question is shared with %d analysts at most", MaxShared))
	}
	err = s.change(ctx, o, func(list []Question) ([]Question, error) {
		q.ID = rand.Text()
		at := slices.IndexFunc(list, func(other Question) bool { return other.Name == q.Name })
		if at >= 0 {
			q.ID = list[at].ID
			list = slices.Delete(list, at, at+1)
		}
		if len(list) == MaxQuestions {
			return nil, errFull
		}
		list = append(list, q)
		slices.SortFunc(list, func(a, b Question) int { return strings.Compare(a.Name, b.Name) })
		id = q.ID
		return list, nil
	})
	return id, err
}

// Delete forgets a question of an owner.
func (s *Store) Delete(ctx context.Context, o Owner, id string) error {
	return s.change(ctx, o, func(list []Question) ([]Question, error) {
		return slices.DeleteFunc(list, func(q Question) bool { return q.ID == id }), nil
	})
}

var errFull = pgerr.New(pgerr.ProgramLimitExceeded, "there is no room for another saved question",
	pgerr.Hint("Delete one that you do not need."))

// attempts is how often a change is tried while others change the same list.
const attempts = 20

func (s *Store) change(ctx context.Context, o Owner, by func([]Question) ([]Question, error)) error {
	for range attempts {
		old, err := s.lists.get(ctx, o)
		if err != nil {
			return err
		}
		list, err := decode(old)
		if err != nil {
			return err
		}
		if list, err = by(list); err != nil {
			return err
		}
		fresh, err := json.Marshal(list)
		if err != nil {
			return err
		}
		if len(fresh) > MaxBytes {
			return errFull
		}
		if done, err := s.lists.swap(ctx, o, old, fresh); done || err != nil {
			return err
		}
	}
	return pgerr.New(pgerr.ObjectNotInState, "your saved questions change all the time")
}

func decode(text []byte) (list []Question, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("saved questions: %w", err)
	}
	return list, nil
}
