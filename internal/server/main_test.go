package server

import (
	"os"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgservertest.Stop()
	os.Exit(code)
}
