package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// Exit codes.
const (
	exitFailed = 1 // a check failed, a statement was refused, something could not be reached
	exitUsage  = 2 // the policy or the command line is wrong
)

// failure carries an exit code other than exitFailed, or a hint, to report.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// hinted adds what to do to an error.
func hinted(err error, format string, args ...any) error {
	return &failure{code: exitFailed, err: err, hint: fmt.Sprintf(format, args...)}
}

// report prints why a command failed and returns the exit code. It is the only place that does.
func (s *streams) report(err error) int {
	if err == nil {
		return 0
	}
	if several := joined(err); several != nil {
		code := 0
		for _, one := range several {
			code = max(code, s.report(one))
		}
		return code
	}
	var problems policy.Errors
	if errors.As(err, &problems) {
		fmt.Fprintln(s.err, problems)
		return exitUsage
	}
	var located *policy.Located
	if errors.As(err, &located) {
		fmt.Fprintln(s.err, located)
		return exitFailed
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(s.err, "dpproxy: error: %s\n", strings.TrimSuffix(line, "\n"))
	}
	code := exitFailed
	var f *failure
	if errors.As(err, &f) {
		code = f.code
		if f.hint != "" {
			fmt.Fprintf(s.err, "dpproxy: hint: %s\n", f.hint)
		}
	}
	return code
}

// joined are the errors that errors.Join has put together; nil of one that says more than they do.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != errors.Join(several.Unwrap()...).Error() {
		return nil
	}
	return several.Unwrap()
}

// say writes to the person at the terminal what is not the command's result.
func (s *streams) say(format string, args ...any) {
	fmt.Fprintf(s.err, "dpproxy: "+format+"\n", args...)
}
