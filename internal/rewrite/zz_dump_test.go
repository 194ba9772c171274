package rewrite_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestDump writes what certify is asked.
func TestDump(t *testing.T) {
	out, err := os.Create(os.Getenv("DUMP"))
	if err != nil {
		t.Skip(err)
	}
	defer out.Close()
	seen := map[string]bool{}
	n := 0
	for _, q := range corpus(t) {
		asked, err := theWorld.then().ask(q.sql, parameters(q.params))
		if err != nil || asked.plan == nil {
			continue
		}
		facts := gate.Facts(theWorld.schema, asked.plan.Proofs)
		for i := range asked.plan.Blocks {
			for v, stages := range stageAnswers(asked.plan, i) {
				k := given(&asked.plan.Blocks[i], stages)
				for _, m := range gate.Measures(k) {
					values, types := bound(m.SQL)
					params, err := gate.Parameters(m.SQL)
					if err != nil {
						t.Fatal(err)
					}
					key := fmt.Sprintf("%s %q", m.SQL.Text, values)
					if seen[key] {
						continue
					}
					seen[key] = true
					n++
					line := map[string]any{"query": q.file, "client": q.sql, "variant": v, "text": m.SQL.Text, "types": types, "n": n, "facts": facts, "claims": m.Claims, "releases": k.Releases}
					line["values"] = params
					b, err := json.Marshal(line)
					if err != nil {
						t.Fatal(err)
					}
					out.Write(append(b, '\n'))
				}
			}
		}
	}
	t.Log(n)
}

var _ = certify.Public
var _ rewrite.Block
