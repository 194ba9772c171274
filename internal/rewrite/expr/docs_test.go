package expr

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var rewriting = flag.Bool("rewrite", false, "write the tables of docs/functions.md anew")

// functionsPage has what rows may be computed with, below its marker.
const (
	functionsPage   = "../../../docs/functions.md"
	functionsMarker = "<!-- The rest of this page is generated from the rules of internal/rewrite/expr: go test ./internal/rewrite/expr -run TestFunctionsPage -rewrite -->\n"
)

// TestFunctionsPage holds docs/functions.md against the rules.
func TestFunctionsPage(t *testing.T) {
	page, err := os.ReadFile(functionsPage)
	at := strings.Index(string(page), functionsMarker)
	if err != nil || at < 0 {
		t.Fatalf("%s has no marker: %v", functionsPage, err)
	}
	want := string(page[:at]) + functionsMarker + functionTables()
	if *rewriting {
		err = os.WriteFile(functionsPage, []byte(want), 0o644)
	} else if want != string(page) {
		t.Errorf("%s is not what the rules say; run the command in its marker", functionsPage)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// functionTables lists functions by letter, and operators.
func functionTables() string {
	arguments := map[[2]string][]string{} // by name and condition
	for signature, r := range allRules.bySignature {
		name, args, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
		key := [2]string{name, r.total}
		arguments[key] = append(arguments[key], strings.ReplaceAll(args, ",", ", "))
	}
	for name, r := range allRules.builders {
		key := [2]string{name, r.total}
		arguments[key] = append(arguments[key], "…")
	}
	byName := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	var functions, operators strings.Builder
	letter := ""
	for _, key := range slices.SortedFunc(maps.Keys(arguments), byName) {
		b := &operators
		if first := []rune(key[0])[0]; unicode.IsLetter(first) {
			if b = &functions; letter != string(first) {
				letter = string(first)
				fmt.Fprintf(b, "\n### %s\n\n| function | of | answered where |\n|---|---|---|\n", strings.ToUpper(letter))
			}
		}
		slices.Sort(arguments[key])
		escape := strings.NewReplacer("|", `\|`).Replace
		fmt.Fprintf(b, "| `%s` | (%s) | %s |\n", escape(key[0]), strings.Join(arguments[key], "), ("), escape(key[1]))
	}
	return "\n## Functions\n" + functions.String() +
		"\n## Operators\n\n| operator | of | answered where |\n|---|---|---|\n" + operators.String()
}
