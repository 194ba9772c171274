package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// answerCache spares charge and measure where the analyst has asked the same question before. Its answer is in the
// ledger (answers.ttl), or is being measured for another session of theirs: of this proxy (inFlight) or of another one,
// whose claim is in the ledger.
type answerCache struct {
	releaser
	ledger   Ledger
	log      *slog.Logger
	inFlight inFlight
}

// charge finds out whether the answer is known, and has the statement charged if not.
func (k *answerCache) charge(ctx context.Context, scope session.Scope, p *private) error {
	p.leaveFlight() // of a charge that was not used
	if err := k.acquire(ctx, p); err != nil {
		return err
	}
	err := k.chargeUnasked(ctx, scope, p)
	if err != nil {
		p.leaveFlight()
	}
	return err
}

// How long it waits between two looks for the answer of another proxy. How far that is from the first look, and not
// what is measured, decides.
const firstLook, laterLook = 10 * time.Millisecond, 160 * time.Millisecond

// chargeUnasked charges, unless another proxy has claimed the question. It waits for that one's answer, or the end of
// the claim.
func (k *answerCache) chargeUnasked(ctx context.Context, scope session.Scope, p *private) error {
	for pause := firstLook; ; pause = min(2*pause, laterLook) {
		costs := p.costs()
		if err := k.findShared(ctx, p); err != nil {
			return err
		}
		err := k.releaser.charge(ctx, scope, p)
		if !errors.Is(err, ledger.ErrAsked) {
			p.claimed = err == nil && costs && p.key != ""
			if p.claimed && p.shared != nil {
				k.takeShared(ctx, p)
			}
			return err
		}
		p.idle()
		select {
		case <-time.After(pause):
		case <-ctx.Done(): // the ledger says how it ended
		}
		if err := p.findAnswer(ctx); err != nil {
			return err
		}
		if p.answer != nil {
			p.leaveFlight()
		}
	}
}

// acquire puts a question in flight. While the analyst is asking the same question from another connection, it waits
// for the answer to that one, and takes it.
func (k *answerCache) acquire(ctx context.Context, p *private) (err error) {
	for p.key != "" && p.costs() && ctx.Err() == nil {
		p.flightDone = k.inFlight.acquire(ctx, p.key)
		err = p.findAnswer(ctx)
		if err != nil || p.answer != nil {
			p.leaveFlight()
			return err
		}
		if p.flightDone != nil {
			return nil
		}
	}
	return nil
}

// Void implements session.Voider: nobody waits for a statement that will not run.
func (p *private) Void() {
	p.idle()
	p.leaveFlight()
	p.leave()
	if p.table != nil {
		p.table.Void()
	}
}

var _ session.Voider = (*private)(nil)

// Bytes implements session.Sized: from Bind on each release has its mechanism, and an answer that is known is there.
func (p *private) Bytes() int {
	n := p.call.Bytes() + p.calibrated.bytes()
	if p.table != nil {
		n += p.table.Bytes()
	}
	for i, r := range p.answer {
		groups, columns := r.Keys.Len(), len(p.Plan.Blocks[i].KeyTypes)
		n += valueBytes * groups * (len(r.Values) + len(r.Plain))
		if p.Plan.Blocks[i].Keys != nil {
			continue // the plan's
		}
		for g := range groups {
			for column := range columns {
				value, _ := r.Keys.Value(g, column)
				n += keyBytes + len(value)
			}
		}
	}
	return n
}

// What is kept takes about so many bytes: of a release its calibrated mechanism, of an answer an integer, and a key
// beside its text.
const (
	releaseBytes = 12 << 10
	valueBytes   = 8
	keyBytes     = 32
)

var _ session.Sized = (*private)(nil)

// leaveFlight ends the question's time in flight: who waits for its answer goes on.
func (p *private) leaveFlight() {
	if p.claimed { // and has no answer that others could take
		p.engine.ledger.GiveUp(p.key)
		p.claimed = false
	}
	if p.flightDone != nil {
		p.flightDone()
	}
}

// measure gives the answer that is known, or has it measured and keeps it.
func (k *answerCache) measure(ctx context.Context, p *private) ([]released, error) {
	defer p.leaveFlight()
	if p.answer != nil {
		p.counted("cached")
		p.engine.kept.add(p)
		return p.answer, nil
	}
	asked := p.calibrated // with the mechanisms that were chosen before anything was drawn
	answer, err := k.releaser.measure(ctx, p)
	if err != nil {
		return nil, err
	}
	p.answer = answer
	if err := k.keep(ctx, p, asked); err != nil {
		k.log.Error("answer not kept", "analyst", p.scope.Analyst, "error", err.Error())
	}
	p.engine.kept.add(p)
	return p.answer, nil
}

// keep stores the answer. Where another proxy has stored one since this statement's claim ended, that is the answer,
// and what was drawn here is given to nobody (docs/privacy.md P23a). A store that fails costs the analyst a second
// charge later, and nothing else.
func (k *answerCache) keep(ctx context.Context, p *private, asked *calibrated) error {
	if p.key == "" || p.unkept {
		return nil
	}
	encoded, err := json.Marshal(p.kept(p.answer))
	if err != nil {
		return err
	}
	first, err := k.ledger.PutAnswer(ctx, p.key, encoded, p.state.policy.AnswersTTL)
	if err != nil {
		return err
	}
	p.claimed = false
	if bytes.Equal(first, encoded) {
		return k.share(ctx, p, asked)
	}
	answer, err := decodeAnswer(asked.Plan, first)
	if err != nil {
		return err
	}
	drawn, err := asked.drawn(ctx, answer)
	if err != nil {
		return err
	}
	p.calibrated, p.answer, p.stages = drawn, answer, nil
	return nil
}

// findAnswer looks for an answer that the analyst has already paid for, or for some that determine it.
func (p *private) findAnswer(ctx context.Context) error {
	if err := p.findKept(ctx); err != nil || p.answer != nil || p.key == "" {
		return err
	}
	return p.determine(ctx)
}

// findKept looks for an answer to the same question. One whose stages have read the clock answers no later one.
func (p *private) findKept(ctx context.Context) (err error) {
	if p.state.policy.AnswersTTL > 0 && !slices.ContainsFunc(p.Plan.Stages, func(s rewrite.Stage) bool {
		return s.Query.Clock
	}) {
		p.key = p.answerKey(p.scope.Analyst, p.calibrated)
		p.answer, err = p.storedAnswer(ctx, p.calibrated, p.key)
	}
	if p.answer != nil {
		p.calibrated, err = p.drawn(ctx, p.answer)
	}
	return err
}

// answerKey is what makes two questions the same (docs/privacy.md P23). The fingerprint holds values and domains; the ε
// says what the answer may cost. The price that follows from it depends on the budget, which a reload may change: it is
// kept with the answer, and is in the key only where margins choose it. No analyst: the answer is for all of them.
func (c *call) answerKey(analyst string, p *calibrated) string {
	h := sha256.New()
	settings := backendSettings(c.scope)
	if len(p.Plan.Stages) == 0 { // which may print numbers
		settings.ExtraFloatDigits, settings.ByteaOutput = "", ""
	}
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	parts := []string{
		analyst, p.Plan.Fingerprint, exact(p.budget.epsilon), exact(p.budget.selectionDelta),
		fmt.Sprintf("%q", settings), c.state.policy.Version,
	}
	if p.look != nil {
		parts = append(parts, "look", exact(p.look.margin), exact(p.look.rest.epsilon))
	}
	if !p.byEpsilon() {
		parts = append(parts, exact(p.epsilon), exact(p.price.Epsilon), exact(p.price.Order))
	}
	for i := range p.Mechanisms {
		for j := range p.Plan.Blocks[i].Releases {
			if margin := p.wanted[i][j]; margin > 0 {
				parts = append(parts, "margin", strconv.Itoa(i), strconv.Itoa(j), exact(margin))
			}
		}
	}
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// storedAnswer reads what the ledger keeps of a statement; nil: nothing.
func (c *call) storedAnswer(ctx context.Context, p *calibrated, key string) ([]released, error) {
	text, found, err := c.engine.ledger.Answer(ctx, key)
	if err != nil || !found {
		return nil, err
	}
	return decodeAnswer(p.Plan, text)
}

// decodeAnswer is the inverse of kept.
func decodeAnswer(plan *rewrite.Plan, text []byte) ([]released, error) {
	var blocks []keptBlock
	if err := json.Unmarshal(text, &blocks); err != nil {
		return nil, err
	}
	return answerOf(plan, blocks), nil
}

// answerOf has the blocks of an answer with their keys.
func answerOf(plan *rewrite.Plan, blocks []keptBlock) []released {
	answer := make([]released, len(blocks))
	for i, b := range blocks {
		answer[i] = released{gate.Released{Keys: plan.Blocks[i].Keys, Values: b.Values, Plain: b.Plain}, b.drawnWith}
		if plan.Blocks[i].Keys == nil {
			answer[i].Keys = b.Selected
		}
	}
	return answer
}

// byEpsilon says that the price of the statement follows from its ε, and not from margins.
func (p *calibrated) byEpsilon() bool {
	return p.budget.margin == nil && !p.ownMargins() && !p.chargedInParts()
}

// paid is the statement at the price that an answer was drawn at: the budget may have changed since.
func (p *calibrated) paid(ctx context.Context, answer []released) (*calibrated, error) {
	behind := p.look != nil && len(answer) > 0 && !answer[0].Look
	if len(answer) == 0 || answer[0].Price == nil || *answer[0].Price == p.price.Guarantee && !behind {
		return p, nil
	}
	// Infinite where it is none of them
	then := price{*answer[0].Price, slices.Index(mechanism.Orders, answer[0].Price.Order)}
	drawn, err := then.calibrate(ctx, p.Plan, p.budget)
	if err != nil {
		return nil, err
	}
	out := *p
	out.price, out.Mechanisms, out.wanted, out.later = drawn.price, drawn.Mechanisms, drawn.wanted, drawn.later
	out.other, out.look = nil, p.look
	if behind {
		out.look, out.Part = nil, 1-wrongLooks
	}
	return &out, nil
}

// keptBlock is a released block as the ledger keeps it: without its keys where they are declared, since the plan has
// them.
type keptBlock struct {
	Selected rewrite.KeyRows `json:",omitempty"`
	Values   [][]int64
	Plain    [][]int64 `json:",omitempty"` // old answers have none
	drawnWith
}

// kept makes what the ledger keeps of an answer.
func (p *calibrated) kept(answer []released) []keptBlock {
	blocks := make([]keptBlock, len(answer))
	for i, r := range answer {
		blocks[i].Values, blocks[i].Plain = r.Values, r.Plain
		blocks[i].drawnWith = drawnWith{Chosen: r.Chosen, Look: p.look != nil}
		if p.byEpsilon() {
			blocks[i].Price = &p.price.Guarantee
		}
		if p.Plan.Blocks[i].Keys != nil {
			continue
		}
		for g := range r.Keys.Len() {
			blocks[i].Selected = append(blocks[i].Selected, rewrite.KeyRow(r.Keys, g, len(p.Plan.Blocks[i].KeyTypes)))
		}
	}
	return blocks
}
