package mechanism

import (
	"math"
	"math/big"
	"math/bits"
)

// The sampler draws d with probability exactly proportional to exp(−κ·g(d)) on a union of segments, by rejection from a
// staircase: distances are cut into blocks of B = 2^b ≤ scale/64 steps; a block is proposed with probability
// proportional to its envelope, a point inside it uniformly, and it is accepted with probability weight/envelope, on
// average above 1 − 1/128. Points at the ends of a segment form blocks of their own length, so that no proposal lies
// outside the segments, wherever the true value is.
//
// Draws: the candidates of a batch consume wordsPerCandidate words each and are all evaluated; the first accepted one
// is taken. A batch without an accepted candidate (probability below 10^−8) is followed by another. So neither the
// number of draws nor the number of steps depends on the true value or the noise.
//
// Exactness: a comparison that 63 bits cannot decide (about one in 2^50) goes on with more random words and bigExp.
const (
	batch             = 4
	wordsPerCandidate = 3
	envelopeBits      = 44 // envelopes count in units of 2^−44 of the weight at distance 0
	bodyExponent      = 28 // the staircase of equal blocks ends where the weight is exp(−28)
	maxBlockBits      = 56 // of the widest blocks: 64 of them reach 2^62
	guideBits         = 10 // the guide into cum has at most 2^guideBits entries
)

// sampler is the staircase of one kernel. Immutable.
type sampler struct {
	kernel
	b      uint     // blocks hold 2^b steps
	body   uint64   // first index behind the equal blocks
	env    []uint64 // per block: an upper bound of 2^44·weight at its start, for each point
	cum    []uint64 // cum[j] = Σ env[:j]
	guide  []uint16 // guide[c>>shift]: a block at or before that of c
	shift  uint
	tails  []tailBlock
	bounds []uint64 // bounds[i] = Σ share of tails[:i]
	plain  proposal // of noise that is bounded afterwards
}

// tailBlock is one of the blocks of doubling length behind the body. share bounds 2^44·weight of all its points.
type tailBlock struct{ from, n, share uint64 }

// segment is a run of distances [from, to] on one side of the true value. Distance 0 is on the right.
type segment struct {
	from, to uint64
	left     bool
}

func newSampler(n kernel) *sampler { return newStaircase(n, bodyExponent) }

// newStaircase lets the equal blocks end where the weight is exp(−exponent): any value gives the same distribution, but
// small ones take the slow branch for tails more often.
func newStaircase(n kernel, exponent float64) *sampler {
	s := &sampler{kernel: n}
	if q := n.scale() / 64; q >= 2 {
		s.b = uint(math.Min(maxBlockBits, math.Floor(math.Log2(q))))
	}
	blocks := int(math.Min(n.distance(exponent), 4*limit)/float64(uint64(1)<<s.b)) + 1 // no distance is beyond 2·limit
	s.body = uint64(blocks) << s.b
	s.env, s.cum = make([]uint64, blocks), make([]uint64, blocks+1)
	for j := range s.env {
		s.env[j] = s.envelope(uint64(j) << s.b)
		s.cum[j+1] = s.cum[j] + s.env[j]
	}
	s.shift = uint(max(0, bits.Len64(s.cum[blocks])-guideBits))
	s.guide = make([]uint16, s.cum[blocks]>>s.shift+1)
	for i, j := 0, 0; i < len(s.guide); i++ {
		for j+1 < blocks && s.cum[j+1] <= uint64(i)<<s.shift {
			j++
		}
		s.guide[i] = uint16(j)
	}
	s.bounds = []uint64{0}
	// The factor covers the rounding of math.Exp many times over; a bound is all that is needed.
	for from, n := s.body, uint64(1)<<s.b; from < 4*limit; from, n = from+n, 2*n {
		share := uint64(math.Exp(s.log(float64(from)))*(1<<envelopeBits)*(1+1e-9)*float64(n)) + 1
		s.tails = append(s.tails, tailBlock{from, n, share})
		s.bounds = append(s.bounds, s.bounds[len(s.bounds)-1]+share)
	}
	s.propose(&s.plain, everywhere)
	return s
}

// envelope bounds 2^44·weight from above.
func (s *sampler) envelope(at uint64) uint64 {
	return (expNeg(s.exponent(at))+expSlack)>>(63-envelopeBits) + 1
}

type pieceKind uint8

const (
	edge  pieceKind = iota // points within one block, under one envelope
	whole                  // whole blocks
	tail                   // tail blocks; what lies outside the segment is rejected
)

// piece is a run of distances with one way of proposing them; its share is its total envelope.
type piece struct {
	segment
	kind  pieceKind
	env   uint64 // edge: per point
	first int    // whole, tail: first block
	endHi uint64 // cumulative share of this and all pieces before it
	endLo uint64
}

// proposal is what can be drawn, cut into pieces.
type proposal struct {
	pieces  []piece
	hi, lo  uint64 // total share
	storage [8]piece
}

// propose cuts segments into pieces.
func (s *sampler) propose(p *proposal, segments []segment) {
	if p.pieces == nil {
		p.pieces = p.storage[:0]
	}
	p.pieces, p.hi, p.lo = p.pieces[:0], 0, 0
	mask := uint64(1)<<s.b - 1
	for _, g := range segments {
		for from := g.from; from <= g.to; {
			q := piece{segment: segment{from, g.to, g.left}}
			var hi, lo uint64
			switch {
			case from >= s.body:
				q.kind, q.first = tail, s.tailOf(from)
				lo = s.bounds[s.tailOf(g.to)+1] - s.bounds[q.first]
			case from&mask == 0 && min(g.to+1, s.body)-from > mask:
				j0, j1 := from>>s.b, min(g.to+1, s.body)>>s.b
				q.kind, q.first, q.to = whole, int(j0), j1<<s.b-1
				hi, lo = shift192(0, 0, s.cum[j1]-s.cum[j0], -int(s.b))
			default:
				q.kind, q.env, q.to = edge, s.envelope(from), min(g.to, from|mask)
				hi, lo = bits.Mul64(q.env, q.to-from+1)
			}
			p.add(q, hi, lo)
			from = q.to + 1
		}
	}
}

func (p *proposal) add(q piece, hi, lo uint64) {
	var carry uint64
	p.lo, carry = bits.Add64(p.lo, lo, 0)
	p.hi += hi + carry
	q.endHi, q.endLo = p.hi, p.lo
	p.pieces = append(p.pieces, q)
}

// tailOf is the tail block that holds an index ≥ body: block i starts at body + 2^b(2^i − 1).
func (s *sampler) tailOf(index uint64) int {
	return bits.Len64((index-s.body)>>s.b+1) - 1
}

// draw returns a distance with probability proportional to its weight among those of the proposal.
func (s *sampler) draw(src *Source, p *proposal) (index uint64, left bool) {
	for found := false; !found; {
		for range batch {
			i, l, ok := s.candidate(src, p)
			if ok && !found {
				found, index, left = true, i, l
			}
		}
	}
	return index, left
}

// candidate proposes one distance and says whether it is accepted. It consumes wordsPerCandidate words.
func (s *sampler) candidate(src *Source, p *proposal) (index uint64, left, ok bool) {
	u1, u0, accept := src.Uint64(), src.Uint64(), src.Uint64()
	hi, lo, ok := uniform128(u1, u0, p.hi, p.lo)
	if !ok {
		return 0, false, false
	}
	at := 0
	for i := range p.pieces {
		if hi > p.pieces[i].endHi || hi == p.pieces[i].endHi && lo >= p.pieces[i].endLo {
			at = i + 1
		}
	}
	q := &p.pieces[at]
	if at > 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(lo, p.pieces[at-1].endLo, 0)
		hi -= p.pieces[at-1].endHi + borrow
	}
	index = q.from
	env := q.env
	switch q.kind {
	case edge:
		offset, _ := bits.Div64(hi, lo, q.env)
		index += offset
	case whole:
		_, c := shift192(0, hi, lo, int(s.b))
		c += s.cum[q.first]
		j := int(s.guide[c>>s.shift])
		for s.cum[j+1] <= c {
			j++
		}
		index, env = uint64(j)<<s.b|lo&(1<<s.b-1), s.env[j]
	case tail:
		index, ok = s.tailCandidate(src, q, lo, accept)
		return index, q.left, ok
	}
	return index, q.left, s.accept(src, accept, index, env, 1)
}

// tailCandidate is candidate's branch for distances with weights below exp(−28).
func (s *sampler) tailCandidate(src *Source, q *piece, share, accept uint64) (uint64, bool) {
	j := q.first
	for s.bounds[j+1]-s.bounds[q.first] <= share {
		j++
	}
	t := s.tails[j]
	offset, ok := uniform64(src.Uint64(), t.n)
	index := t.from + offset
	if !ok || index < q.from || index > q.to {
		return 0, false
	}
	return index, s.accept(src, accept, index, t.share, t.n)
}

// accept returns true with probability 2^44·weight·n/env, which is at most 1. word is its first random word.
func (s *sampler) accept(src *Source, word, d, env, n uint64) bool {
	if n == 1 {
		// word/2^64 < v/2^63·2^44/env  ⇔  word·env < v·2^45, give or take expSlack and one unit of word.
		v := expNeg(s.exponent(d))
		hi, lo := bits.Mul64(word, env)
		topLo, carry := bits.Add64(lo, env, 0)
		topHi := hi + carry
		least, most := v-min(v, expSlack), v+expSlack
		if topHi < least>>19 || topHi == least>>19 && topLo <= least<<45 {
			return true
		}
		if hi > most>>19 || hi == most>>19 && lo >= most<<45 {
			return false
		}
	}
	return s.acceptBig(src, word, d, env, n)
}

// acceptBig decides u < 2^44·n·weight(d)/env with as many random words as it takes.
func (s *sampler) acceptBig(src *Source, word, d, env, n uint64) bool {
	num, m := s.bigExponent(d)
	u := new(big.Int).SetUint64(word)
	factor := new(big.Int).Lsh(new(big.Int).SetUint64(n), envelopeBits)
	e := new(big.Int).SetUint64(env)
	for prec := uint(64); ; prec += 64 {
		// Compare u·env with factor·2^prec·exp(−y), where u stands for [u, u+1) and the exponential is known to ± 4.
		w := bigExp(num, m, prec)
		low := new(big.Int).Mul(factor, new(big.Int).Sub(w, big.NewInt(4)))
		high := new(big.Int).Mul(factor, new(big.Int).Add(w, big.NewInt(4)))
		left := new(big.Int).Mul(u, e)
		right := new(big.Int).Add(left, e)
		if right.Cmp(low) <= 0 {
			return true
		}
		if left.Cmp(high) >= 0 {
			return false
		}
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(src.Uint64()))
	}
}
