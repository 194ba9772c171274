package accounting

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// history is a ledger in memory.
type history struct {
	rules    *Rules
	now      time.Time
	accounts map[string]Account
	records  map[string][]Entry
	curves   map[CurveID][]byte
}

// newHistory is for tests and for rapid.T, which is no testing.TB.
func newHistory(t interface{ Fatal(...any) }, every uint64) *history {
	budget := policy.Budget{Epsilon: 1e6, Delta: 1e-6, Every: time.Hour}
	group := policy.Budget{Epsilon: 1e6, Delta: 1e-6, Every: 3 * time.Hour}
	rules, err := NewRules(ledger.Config{
		Method: policy.RDP, SelectionDeltaShare: 0.5, Failures: 4, Group: &group, Checkpoint: every,
		Analysts: map[string]policy.Budget{"alice": budget, "bob": budget, "carol": {Epsilon: 1e6, Delta: 1e-6}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &history{
		rules: rules, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), accounts: map[string]Account{},
		records: map[string][]Entry{}, curves: map[CurveID][]byte{},
	}
}

// do decides on a book and keeps what it writes.
func (h *history) do(name string, decide func(*Book) error) error {
	account := func(name string) Account {
		if a, ok := h.accounts[name]; ok {
			return a
		}
		return NewAccount(name)
	}
	b := NewBook(h.rules, h.now, account(name), nil)
	if name != GroupName {
		group := account(GroupName)
		b = NewBook(h.rules, h.now, account(name), &group)
	}
	if err := decide(b); err != nil {
		return err
	}
	for _, e := range b.Entries {
		h.records[e.Analyst] = append(h.records[e.Analyst], e)
		if e.Curve != nil {
			h.curves[e.CurveID] = e.Curve
		}
	}
	for _, a := range []*Account{&b.Account, b.Group} {
		if a != nil && a.Records > 0 {
			h.accounts[a.Name] = *a
		}
	}
	return nil
}

func (h *history) curve(id CurveID) ([]byte, error) {
	if b, ok := h.curves[id]; ok {
		return b, nil
	}
	return nil, errors.New("missing")
}

// derive adds up each account's records that follow the checkpoint with a number; 0: all.
func (h *history) derive(from func(name string) uint64) error {
	d := NewDerivation(h.curve)
	for name, records := range h.records {
		if n := from(name); n > 0 {
			if err := d.Resume(name, n, records[n-1].Payload, records[n-1].Chain); err != nil {
				return err
			}
			records = records[n:]
		}
		for _, e := range records {
			if err := d.Add(name, e.Payload, e.Chain); err != nil {
				return err
			}
		}
	}
	d.Finish()
	return d.Compare(h.accounts)
}

func all(string) uint64 { return 0 }

// checkpoints are the numbers of an account's checkpoints, after 0.
func (h *history) checkpoints(name string) []uint64 {
	numbers := []uint64{0}
	for _, e := range h.records[name] {
		if e.Kind == KindCheckpoint {
			numbers = append(numbers, e.Number)
		}
	}
	return numbers
}

func someCharge(epsilon, divergence, selection float64) ledger.Charge {
	c := ledger.Charge{
		Query: "q", Fingerprint: "f", Epsilon: epsilon, SelectionDelta: selection,
		Curve: mechanism.PureCurve(epsilon),
	}
	if divergence > 0 {
		c.Curve = ledgertest.GaussianCurve(divergence)
	}
	return c
}

// TestEveryCheckpointGivesTheSameTotals: over random histories, the totals that were kept are those that all records
// add up to, and those from any checkpoint of each account on.
func TestEveryCheckpointGivesTheSameTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t, rapid.Uint64Range(1, 9).Draw(t, "every"))
		who := rapid.SampledFrom([]string{"alice", "bob", "carol"})
		small := rapid.Float64Range(1e-6, 1)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			name := who.Draw(t, "who")
			var err error
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				err = h.do(name, func(b *Book) error { return b.Fail(fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "fingerprint"))) })
			case 1:
				err = h.do(name, func(b *Book) error { _, err := b.Clear(); return err })
			case 2:
				err = h.do(rapid.SampledFrom([]string{name, GroupName}).Draw(t, "whose"), func(b *Book) error { return b.Reset() })
			case 3:
				h.now = h.now.Add(time.Duration(rapid.IntRange(-60, 200).Draw(t, "minutes")) * time.Minute)
			default:
				var charges []ledger.Charge
				for range rapid.IntRange(1, 4).Draw(t, "charges") {
					divergence := rapid.OneOf(rapid.Just(0.0), small).Draw(t, "divergence")
					charges = append(charges, someCharge(small.Draw(t, "epsilon"), divergence,
						rapid.SampledFrom([]float64{0, 1e-12}).Draw(t, "selection")))
				}
				err = h.do(name, func(b *Book) error { _, err := b.Spend(charges); return err })
			}
			var invalid ledger.InvalidCharge
			if errors.As(err, &invalid) {
				t.Fatal(err)
			}
		}
		if err := h.derive(all); err != nil {
			t.Fatalf("from all records: %v", err)
		}
		if err := h.derive(func(name string) uint64 { return h.accounts[name].Checkpoint }); err != nil {
			t.Fatalf("from the latest checkpoints: %v", err)
		}
		if err := h.derive(func(name string) uint64 {
			return rapid.SampledFrom(h.checkpoints(name)).Draw(t, "checkpoint")
		}); err != nil {
			t.Fatalf("from any checkpoints: %v", err)
		}
	})
}

// TestForgedCheckpoints: somebody changes a checkpoint, and every later hash to match. What was stored before and after
// it gives it away.
func TestForgedCheckpoints(t *testing.T) {
	for _, tt := range []struct {
		want  string // of a derivation from all records
		forge func(*Account)
	}{
		{"", func(*Account) {}},
		{"the checkpoint says epsilon 1, its records say 1.5", func(a *Account) { a.sums.pure = decimal(1, epsilonDigits) }},
		{"the checkpoint says Rényi divergences", func(a *Account) { a.sums.renyi = make([]Amount, len(a.sums.renyi)) }},
		{
			"the checkpoint says selection delta 0, its records say 0.000000000003",
			func(a *Account) { a.sums.selection = Amount{} },
		},
		{
			"the checkpoint says epsilon for all analysts together 1,",
			func(a *Account) { a.groupSums.pure = decimal(1, epsilonDigits) },
		},
		{"the checkpoint says failures 0, its records say 1", func(a *Account) { a.failures = 0 }},
		{"the checkpoint says refused statements 0, its records say 1", func(a *Account) { a.refused = nil }},
		{
			"the checkpoint says refused statements 1, its records say 1",
			func(a *Account) { a.refused = []refusal{refusalOf("other")} },
		},
		{"the checkpoint says records 4,", func(a *Account) { a.Records-- }},
		{"the checkpoint says period", func(a *Account) { a.start = a.start.Add(time.Hour) }},
		{"the checkpoint says period of all analysts together 1,", func(a *Account) { a.groupPeriod++ }},
		{"the checkpoint says latest charge", func(a *Account) { a.charged = a.charged.Add(-time.Hour) }},
		{"the checkpoint says latest record", func(a *Account) { a.last = a.last.Add(-time.Hour) }},
		{"the checkpoint says latest checkpoint 1,", func(a *Account) { a.Checkpoint = 1 }},
		{"the checkpoint says chain", func(a *Account) { a.chain = Chain{} }},
		{"the checkpoint says name bob", func(a *Account) { a.Name = "bob" }},
	} {
		h := newHistory(t, 5)
		spend := func() {
			t.Helper()
			if err := h.do("alice", func(b *Book) error {
				_, err := b.Spend([]ledger.Charge{someCharge(0.5, 0, 1e-12)})
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		spend()
		spend()
		if err := h.do("alice", func(b *Book) error { return b.Fail("bad") }); err != nil {
			t.Fatal(err)
		}
		spend()
		spend() // after the checkpoint, which is record 6
		records := h.records["alice"]
		if records[5].Kind != KindCheckpoint || len(records) != 7 {
			t.Fatalf("%d records, the sixth of kind %d", len(records), records[5].Kind)
		}
		state, err := decodeAnyAccount(records[5].State)
		if err != nil {
			t.Fatal(err)
		}
		tt.forge(&state)
		records[5].State = state.Encode()
		chain := records[4].Chain
		for i := range records[5:] {
			e := &records[5+i]
			e.Payload = e.encode()
			chain = chain.link(e.Payload)
			e.Chain = chain
		}
		err = h.derive(all)
		if tt.want == "" && err != nil || tt.want != "" &&
			(err == nil || !strings.Contains(err.Error(), `account "alice", record 6: `+tt.want)) {
			t.Errorf("%v, want %q", err, tt.want)
		}
		// Without the records before it, what was stored for the account is what it must lead to.
		if err := h.derive(func(name string) uint64 { return h.accounts[name].Checkpoint }); (err == nil) != (tt.want == "") {
			t.Errorf("resumed at the checkpoint that should say %q: %v", tt.want, err)
		}
	}
}

func TestResumeRefuses(t *testing.T) {
	h := newHistory(t, 2)
	for range 3 {
		if err := h.do("alice", func(b *Book) error {
			_, err := b.Spend([]ledger.Charge{someCharge(0.5, 0, 0)})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	records := h.records["alice"] // period, charge, checkpoint, charge, charge, checkpoint
	other := records[2].Chain
	other[0] ^= 1
	short := records[2].Payload[:len(records[2].Payload)-1]
	for _, tt := range []struct {
		name    string
		number  uint64
		payload []byte
		chain   Chain
		want    string
	}{
		{"alice", 3, records[2].Payload, records[2].Chain, ""},
		{"alice", 2, records[1].Payload, records[1].Chain, "is no checkpoint, but of kind 2"},
		{"alice", 6, records[2].Payload, records[2].Chain, "record 6: has number 3"},
		{"alice", 3, records[2].Payload, other, "record 3: checksum"},
		{"bob", 3, records[2].Payload, records[2].Chain, `record 3: holds the account "alice"`},
		{"alice", 3, short, records[2].Chain, "record 3: checksum"},
		{"alice", 3, nil, records[2].Chain, "record 3: ends too early"},
	} {
		err := NewDerivation(h.curve).Resume(tt.name, tt.number, tt.payload, tt.chain)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// FuzzResume: whatever bytes stand where a checkpoint should, an account comes out only if they are a checkpoint of
// that account, and then they are what it is written as.
func FuzzResume(f *testing.F) {
	r := &Record{
		Kind: KindCheckpoint, Analyst: "alice", Number: someAccount().Records + 1, Period: 8,
		State: someAccount().Encode(),
	}
	f.Add(r.encode())
	f.Add((&Record{Kind: KindCheckpoint, Analyst: "alice", Number: 1, State: (&Account{Name: "alice"}).Encode()}).encode())
	f.Fuzz(func(t *testing.T, payload []byte) {
		state := Account{}
		if r, err := DecodeRecord(payload); err == nil {
			state, _ = decodeAnyAccount(r.State)
		}
		a, err := resume("alice", payload, state.chain.link(payload))
		if err != nil {
			return
		}
		if a.Name != "alice" || a.Records != state.Records+1 || a.Checkpoint != a.Records {
			t.Errorf("%x gives %+v", payload, a)
		}
	})
}
