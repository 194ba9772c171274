package ledger

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv("LEDGER_TEST_CHILD")]; ok {
		os.Exit(run())
	}
	code := m.Run()
	pgservertest.Stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// children are what a re-executed test binary does instead of testing.
var children = map[string]func() int{}
