package integration_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApplications runs what asks for rows, as it is: lists, pages, details and previews have rows of the twin. Each
// script checks what it is shown, and ends with the line ok; once with nothing set, so that counts of pages are the
// data's, and once on the twin alone.
func TestApplications(t *testing.T) {
	p := twinnedTools(t)
	for _, script := range []string{"django_admin.py", "rails_index.rb", "preview.R", "sqlpad.js"} {
		for _, options := range []string{"", "-c dpproxy.source=synthetic"} {
			t.Run(script+options, func(t *testing.T) {
				t.Setenv("PGOPTIONS", options)
				out, err := p.client("", interpreters[filepath.Ext(script)], "applications/"+script)
				if err != nil || !strings.HasSuffix(strings.TrimSpace(out), "ok") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// TestToolsHaveSyntheticRows: where TestTools is refused rows, the twin's come.
func TestToolsHaveSyntheticRows(t *testing.T) {
	p := twinnedTools(t)
	scripts, err := filepath.Glob("tools/*_tool.*")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no tool: %v", err)
	}
	for _, script := range scripts {
		lines, err := runTool(script, p.environment())
		if err != nil {
			t.Errorf("%s: %v", script, err)
		}
		for _, line := range lines {
			if strings.HasPrefix(line, "refused") || line == "rows 0" {
				t.Errorf("%s: %s", script, line)
			}
		}
	}
}

// twinnedTools is a clinic with a twin, of types that every tool knows, where the tools are installed.
func twinnedTools(t *testing.T) *proxy {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs them")
	}
	if _, err := os.Stat("tools/node_modules"); err != nil {
		t.Skip("make install-tools installs them")
	}
	return plainTwinned(t, clinicPolicy(), "", plainTwinRows)
}
