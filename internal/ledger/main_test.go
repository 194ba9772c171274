package ledger

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	switch os.Getenv("LEDGER_TEST_CHILD") {
	case "crash":
		os.Exit(crashChild())
	case "full":
		os.Exit(fullChild())
	case "readonly":
		os.Exit(readOnlyChild())
	}
	os.Exit(runTests(m))
}
