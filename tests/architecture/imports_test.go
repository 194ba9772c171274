// Package architecture_test proves that the packages import each other only downwards.
package architecture_test

import (
	"os/exec"
	"sort"
	"strings"
	"testing"
)

const module = "github.com/dpproxy/dpproxy/internal/"

// allowed lists, for every package of ours, the packages of ours that it may import. A package that is not listed fails
// the test: whoever adds one decides here where it stands.
var allowed = map[string]string{
	"pgerr":                  "",
	"refusal":                "pgerr",
	"help":                   "",
	"certify":                "",
	"loss":                   "",
	"gate":                   "backend certify ledger mechanism policy rewrite rewrite/schema",
	"consistency":            "",
	"mechanism":              "loss",
	"mechanism/stattest":     "",
	"policy/bound":           "",
	"verifier":               "",
	"clientencoding":         "pgerr",
	"memory":                 "pgerr",
	"wire":                   "clientencoding memory pgerr verifier",
	"wire/wiretest":          "",
	"policy":                 "mechanism policy/bound verifier",
	"metrics":                "version",
	"version":                "",
	"lineage":                "policy",
	"rewrite/bounds":         "",
	"rewrite/sqltext":        "",
	"rewrite/sqltree":        "pgerr refusal",
	"rewrite/pgresolve":      "",
	"rewrite/schema":         "policy policy/bound rewrite/pgresolve",
	"rewrite/query":          "policy rewrite/schema rewrite/sqltext",
	"rewrite/expr":           "pgerr refusal rewrite/bounds rewrite/pgresolve rewrite/query rewrite/schema rewrite/sqltext",
	"rewrite/relation":       "pgerr policy policy/bound refusal rewrite/bounds rewrite/expr rewrite/pgresolve rewrite/query rewrite/schema rewrite/sqltext rewrite/sqltree",
	"rewrite/aggregate":      "pgerr policy refusal rewrite/bounds rewrite/expr rewrite/pgresolve rewrite/query rewrite/relation rewrite/schema rewrite/sqltext rewrite/sqltree",
	"rewrite/bind":           "pgerr refusal rewrite/aggregate rewrite/bounds rewrite/expr rewrite/pgresolve rewrite/query rewrite/relation rewrite/schema rewrite/sqltext rewrite/sqltree",
	"rewrite/release":        "mechanism pgerr policy refusal rewrite/aggregate rewrite/bind rewrite/bounds rewrite/expr rewrite/pgresolve rewrite/query rewrite/relation rewrite/schema",
	"rewrite/measure":        "policy rewrite/bounds rewrite/expr rewrite/query rewrite/relation rewrite/release rewrite/schema rewrite/sqltree",
	"rewrite/catalog":        "pgerr policy refusal rewrite/sqltext rewrite/sqltree",
	"rewrite/finish":         "pgerr refusal rewrite/aggregate rewrite/bind rewrite/catalog rewrite/query rewrite/relation rewrite/release rewrite/schema rewrite/sqltree",
	"rewrite/rewritetest":    "",
	"rewrite":                "mechanism pgerr policy refusal rewrite/aggregate rewrite/bind rewrite/catalog rewrite/expr rewrite/finish rewrite/measure rewrite/query rewrite/relation rewrite/release rewrite/schema rewrite/sqltree",
	"ledger":                 "mechanism pgerr policy",
	"pgserver":               "",
	"pgserver/pgservertest":  "pgserver",
	"command":                "clientencoding pgerr refusal",
	"session":                "clientencoding command memory pgerr wire",
	"introspect":             "policy rewrite",
	"initpolicy":             "introspect lineage policy policy/bound rewrite verifier",
	"backend":                "introspect pgerr policy rewrite rewrite/sqltext",
	"engine/estimate":        "consistency gate mechanism rewrite",
	"gate/gatetest":          "backend gate ledger mechanism policy rewrite",
	"engine":                 "backend certify command engine/estimate gate help ledger ledger/accounting mechanism memory pgerr policy refusal rewrite rewrite/catalog session",
	"ledger/accounting":      "ledger mechanism pgerr policy",
	"ledger/ledgertest":      "ledger mechanism pgserver pgserver/pgservertest policy",
	"ledger/pagecheck":       "",
	"ledger/stores/accounts": "ledger ledger/accounting",
	"ledger/stores/answers":  "",
	"ledger/stores/gather":   "",
	"ledger/stores/bolt":     "ledger ledger/accounting ledger/pagecheck ledger/stores/accounts ledger/stores/answers ledger/stores/gather",
	"ledger/stores/postgres": "ledger ledger/accounting ledger/stores/accounts ledger/stores/answers ledger/stores/gather",
	"ledger/stores":          "ledger ledger/stores/bolt ledger/stores/postgres",
	"ledger/admin":           "ledger ledger/accounting ledger/stores policy",
	"provision":              "backend introspect ledger/stores/postgres lineage policy rewrite rewrite/catalog verifier",
	"tracing":                "policy session version",
	"tracing/tracingtest":    "",
	"ledger/stores/saved":    "ledger ledger/pagecheck pgerr",
	"console":                "ledger ledger/stores/saved memory metrics pgerr policy wire",
	"server":                 "backend console engine gate ledger ledger/accounting ledger/admin ledger/stores ledger/stores/saved memory metrics pgerr policy provision session tracing verifier wire",
	"server/ldaptest":        "",
	"ask":                    "backend engine ledger ledger/accounting mechanism policy session",
	"profile":                "ask backend ledger ledger/accounting lineage mechanism policy provision rewrite",
	"synthetic":              "ask backend ledger ledger/accounting mechanism policy provision rewrite synthetic/model",
	"synthetic/model":        "",
	"research/plot":          "",
	"research/optimum":       "",
	"research/study":         "mechanism research/plot research/optimum",
	"research/papers":        "mechanism research/plot research/study",
	"demo":                   "pgerr pgserver policy provision server",
}

// onlyIn maps a library to the package trees that may import it.
var onlyIn = map[string][]string{
	"github.com/jackc/pgproto3/v2":         {"wire"},
	"github.com/pganalyze/pg_query_go/v6":  {"rewrite", "command", "certify"},
	"github.com/jackc/pgx/v5/pgxpool":      {"backend", "ledger/stores", "server"},
	"go.etcd.io/bbolt":                     {"ledger"},
	"github.com/xdg-go/scram":              {"wire", "verifier"},
	"github.com/prometheus/client_golang/": {"metrics"},
	"go.opentelemetry.io/":                 {"tracing"},
}

func TestImportsRunDownwards(t *testing.T) {
	for pkg, imports := range listImports(t) {
		rules, listed := allowed[pkg]
		if !listed {
			t.Errorf("internal/%s is not in the list of this test", pkg)
			continue
		}
		for _, imp := range imports {
			if own, ok := strings.CutPrefix(imp, module); ok && !contains(strings.Fields(rules), own) {
				t.Errorf("internal/%s imports internal/%s; allowed: %q", pkg, own, rules)
			}
			for library, trees := range onlyIn {
				if strings.HasPrefix(imp, library) && !insideAny(pkg, trees) {
					t.Errorf("internal/%s imports %s, which belongs to %v", pkg, library, trees)
				}
			}
		}
	}
}

// listImports returns the direct imports of every non-test package below internal.
func listImports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	result := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		sort.Strings(fields[1:])
		result[strings.TrimPrefix(fields[0], module)] = fields[1:]
	}
	return result
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func insideAny(pkg string, trees []string) bool {
	for _, tree := range trees {
		if pkg == tree || strings.HasPrefix(pkg, tree+"/") {
			return true
		}
	}
	return false
}
