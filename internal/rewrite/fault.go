package rewrite

import (
	"fmt"
	"runtime/debug"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Fault is a mistake of this package, found while a statement was analysed or planned. The client sees its refusal;
// what is wrong is for the proxy's log.
type Fault struct {
	What  string
	Stack string // empty: the fault is not where it was found
}

func (f *Fault) Error() string { return f.What }

// Unwrap is what the client may see.
func (f *Fault) Unwrap() error {
	return pgerr.New(pgerr.InternalError, "the statement could not be analysed",
		pgerr.Hint("This is a fault of dpproxy; its log has the details. Write the query in another form."))
}

// guarded turns a panic of the analysis into a refusal: a client's text must never end the process. One by which
// planning was stopped has its own.
func guarded(err *error) {
	fault := recover()
	if stopped, ok := fault.(sqltree.Stopped); ok {
		*err = stopped.Err
	} else if fault != nil {
		*err = &Fault{fmt.Sprint(fault), string(debug.Stack())}
	}
}
