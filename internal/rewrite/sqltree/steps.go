package sqltree

import (
	"context"
	"fmt"
)

// Steps counts the work of one planning and ends it: where its context does, and where a statement needs more than any
// that people write. What is compared with each other counts, not what the length of a text bounds. The count follows
// from the statement, the policy and public tables alone.
type Steps struct {
	ctx   context.Context
	Taken int
}

const (
	// MostSteps bounds one planning: less than half a second. Statements of the corpus, of TPC-H and of tests/questions
	// take less than a tenth of it.
	MostSteps = 300_000
	// stepsBetween is how many steps are taken before the context is looked at again: less than a millisecond.
	stepsBetween = 256
)

// NewSteps begins to count. nil counts nothing.
func NewSteps(ctx context.Context) *Steps { return &Steps{ctx: ctx} }

// Stopped is what Take panics with. Whoever began to count recovers it: planning is a recursion, many of whose callers
// try another way after an error.
type Stopped struct{ Err error }

// Take counts n steps of about a microsecond.
func (s *Steps) Take(n int) {
	if s == nil {
		return
	}
	before := s.Taken
	s.Taken += n
	if s.Taken > MostSteps {
		panic(Stopped{TooComplex(fmt.Sprintf("planning it takes more than %d steps", MostSteps))})
	}
	if before/stepsBetween != s.Taken/stepsBetween && s.ctx.Err() != nil {
		panic(Stopped{context.Cause(s.ctx)})
	}
}
