package backend

import (
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"
)

// pinSet is what is pinned for a statement. Statements with the same purpose and settings share one, so that pointers
// say whether a connection has its pins, and for which pins a text is prepared.
type pinSet struct {
	list    []pin
	session []byte // messages that pin a connection
}

func newPinSet(list []pin) *pinSet { return &pinSet{list, pinMessages(list, false)} }

// pinMessages encodes the command that sets pins.
func pinMessages(pins []pin, local bool) []byte {
	sql, values := pinSQL(pins, local)
	return encoded(&pgproto3.Parse{Query: sql, ParameterOIDs: textOIDs(len(values))}, &pgproto3.Bind{Parameters: values},
		&pgproto3.Execute{})
}

// purpose says what runs under pins.
type purpose int

const (
	measuring purpose = iota // main's own queries: mainPins
	answering                // clients' texts on the shadow: clientPins
	reading                  // clients' texts on public: publicPins
	planning                 // what plans are made with: planningPins
)

// pinsKey names a set of pins.
type pinsKey struct {
	purpose  purpose
	settings Settings
}

// keptPins is how many sets of pins are shared. Analysts choose settings.
const keptPins = 256

// pins are what is pinned for a statement.
func (b *Backend) pins(of purpose, s Settings) *pinSet {
	if of == measuring {
		s = Settings{TimeZone: s.TimeZone}
	}
	key := pinsKey{of, s}
	if set, ok := b.pinSets.Get(key); ok {
		return set
	}
	var list []pin
	switch of {
	case measuring:
		list = s.mainPins()
	case answering:
		list = s.clientPins(b.path)
	case reading:
		list = s.publicPins(b.path)
	case planning:
		list = s.planningPins(b.path)
	}
	set := newPinSet(slices.Clip(list))
	if other, ok, _ := b.pinSets.PeekOrAdd(key, set); ok {
		return other
	}
	return set
}
