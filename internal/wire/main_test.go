package wire_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgservertest.Stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString("goroutines left behind:\n" + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
