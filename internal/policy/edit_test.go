package policy

import (
	"strings"
	"testing"
)

// edited is a policy in all the forms of YAML that are edited.
const edited = `# head
version: 1
databases: {main: postgres://m@h/d, shadow: postgres://s@h/s}
analysts: {alice: {certificate: a, budget: {epsilon: 1, delta: 1e-6}}}
tls: {cert: c, key: k, client_ca: ca}
tables:
  # about visits
  visits: # the table
    privacy_unit:
      name: patient # whose
      column: patient_id
    max_rows_per_unit: 70 # rows
    # about columns
    columns:
      patient_id: {}
      cost: {bounds: [0, 20000]}   # money
      ärztin: { grid: 1, bounds: [ 0, "10" ] } # spelled 'so'
      minutes:
        # from to
        bounds: [0,
          600]
      note: {} # free
  "odd.name":
    privacy_unit: {name: patient, column: p}
    columns: {p: {}, v: {}}
`

func TestEditKeepsTheRest(t *testing.T) {
	text := strings.Replace(edited, `"10"`, "10", 1)
	text = strings.Replace(text, `  "odd.name":`, `  '"odd.name"':`, 1)
	if _, err := Parse("p.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	visits, odd := Name{"public", "visits"}, Name{"public", "odd.name"}
	keys := []Key{
		{Table: visits, Name: "max_rows_per_unit", Value: "47"},
		{Table: visits, Name: "left_out", Value: "0.024"},
		{Table: visits, Column: "cost", Name: "bounds", Value: "[22, 10000]"},
		{Table: visits, Column: "cost", Name: "per_unit", Value: "[0, 39000]"},
		{Table: visits, Column: "ärztin", Name: "bounds", Value: "[1, 9]"},
		{Table: visits, Column: "minutes", Name: "bounds", Value: "[5, 330]"},
		{Table: visits, Column: "minutes", Name: "per_unit", Value: "[0, 1800]"},
		{Table: visits, Column: "note", Name: "values", Value: List([]string{"a", `"b": #`, "no"})},
		{Table: odd, Name: "max_rows_per_unit", Value: "3"},
		{Table: odd, Column: "v", Name: "bounds", Value: "[0, 1]"},
	}
	got, err := Edit("p.yaml", []byte(text), "", keys)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"max_rows_per_unit: 70 # rows\n", "max_rows_per_unit: 47 # rows\n    left_out: 0.024\n",
		"cost: {bounds: [0, 20000]}", "cost: {bounds: [22, 10000], per_unit: [0, 39000]}",
		"bounds: [ 0, 10 ] }", "bounds: [1, 9] }",
		"bounds: [0,\n          600]\n", "bounds: [5, 330]\n        per_unit: [0, 1800]\n",
		"note: {}", `note: {values: ["a", "\"b\": #", "no"]}`,
		"column: p}\n", "column: p}\n    max_rows_per_unit: 3\n",
		"v: {}}", "v: {bounds: [0, 1]}}",
	).Replace(text)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p, err := Parse("p.yaml", got)
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Table(visits).Column("note").Values; len(v) != 3 || v[1] != `"b": #` || v[2] != "no" {
		t.Errorf("values are read as %q", v)
	}
}

func TestEditRefusesWhatItCannotWrite(t *testing.T) {
	text := strings.Replace(strings.Replace(edited, `"10"`, "10", 1), `"odd.name"`, "odd", 1)
	visits := Name{"public", "visits"}
	for name, c := range map[string]struct {
		text string
		key  Key
		want string
	}{
		"no such column": {text, Key{Table: visits, Column: "none", Name: "bounds", Value: "[0, 1]"}, "write it by hand"},
		"an anchor": {
			strings.Replace(text, "cost: {", "cost: &a {", 1),
			Key{Table: visits, Column: "cost", Name: "bounds", Value: "[0, 1]"},
			"write it by hand",
		},
		"a block list": {strings.Replace(text, "cost: {bounds: [0, 20000]}   # money",
			"cost:\n        bounds:\n        - 0\n        - 1", 1), Key{
			Table: visits, Column: "cost", Name: "bounds",
			Value: "[0, 1]",
		}, "write it by hand"},
		"an alias": {strings.Replace(text, "cost: {bounds: [0, 20000]}", "cost: {bounds: &b [0, 1]}", 1) +
			"    max_rows: 5\n", Key{Table: visits, Column: "cost", Name: "bounds", Value: "[0, 2]"}, "write it by hand"},
		"a wrong value": {
			text,
			Key{Table: visits, Column: "cost", Name: "bounds", Value: "[2, 1]"},
			"would not be a valid policy",
		},
	} {
		if _, err := Parse("p.yaml", []byte(c.text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := Edit("p.yaml", []byte(c.text), "", []Key{c.key}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func TestPrintedKeysAreYAML(t *testing.T) {
	visits := Name{"public", "visits"}
	text := Print("", []Key{
		{Table: visits, Name: "max_rows_per_unit", Value: "47", Comment: "rows"},
		{Table: visits, Column: "no", Name: "bounds", Value: "[22, 10000]", Comment: "x"},
		{Table: visits, Column: "no", Name: "per_unit", Value: "[0, 39000]", Comment: "y"},
		{Table: Name{"s", "a.b"}, Column: "c", Name: "values", Value: `["a"]`, Comment: "z"},
	})
	want := `tables:
  visits:
    max_rows_per_unit: 47 # rows
    columns:
      "no":
        bounds: [22, 10000] # x
        per_unit: [0, 39000] # y
  "s.\"a.b\"":
    columns:
      c:
        values: ["a"] # z
`
	if text != want {
		t.Errorf("got\n%s", text)
	}
}

func TestProfileBudget(t *testing.T) {
	head := strings.Replace(strings.Replace(edited, `"10"`, "10", 1), `"odd.name"`, "odd", 1)
	for name, c := range map[string]struct {
		more string
		want *Budget
	}{
		"none":   {"", nil},
		"of all": {"budget: {epsilon: 40, delta: 1e-6}\n", &Budget{Epsilon: 40, Delta: 1e-6}},
		"its own": {
			"profile: {epsilon: 2, delta: 1e-7, every: 1d}\n",
			&Budget{Epsilon: 2, Delta: 1e-7, Every: 24 * 3600e9},
		},
		"its own, and that too": {
			"budget: {epsilon: 40, delta: 1e-6}\nprofile: {epsilon: 2, delta: 1e-7}\n",
			&Budget{Epsilon: 2, Delta: 1e-7},
		},
	} {
		p, err := Parse("p.yaml", []byte(head+c.more))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := p.ProfileBudget(); (got == nil) != (c.want == nil) || c.want != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if _, err := Parse("p.yaml", []byte(strings.Replace(head, "alice", `"*profile"`, 1))); err == nil {
		t.Error("an analyst has the name of the account of profiles")
	}
}

// TestEditFindsWhereAValueEnds: brackets in texts and comments end nothing.
func TestEditFindsWhereAValueEnds(t *testing.T) {
	text := strings.Replace(strings.Replace(edited, `"10"`, "10", 1), `"odd.name"`, "odd", 1)
	visits := Name{"public", "visits"}
	for _, value := range []string{`['it''s]', "a\"]"]`, "[a, # ]\n        b]", `["]}", '{', x]`} {
		before := strings.Replace(text, "note: {}", "note: {values: "+value+"}", 1)
		got, err := Edit("p.yaml", []byte(before), "", []Key{{Table: visits, Column: "note", Name: "values", Value: "[c]"}})
		if want := strings.Replace(text, "note: {}", "note: {values: [c]}", 1); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", value, err, got)
		}
	}
}

// TestAddTable: a table goes behind the last one and its comments, indented as the others are.
func TestAddTable(t *testing.T) {
	const added = "\n  notes: # of visits\n    privacy_unit: {name: patient, column: p}\n    columns: {p: {}}\n"
	text := strings.Replace(strings.Replace(edited, `"10"`, "10", 1), `"odd.name"`, "odd", 1)
	head, tables, _ := strings.Cut(text, "tables:\n")
	deeper := strings.Replace(head, "databases: {main: postgres://m@h/d, shadow: postgres://s@h/s}\n", "", 1) +
		"databases:\n  clinic:\n    main: postgres://m@h/d\n    shadow: postgres://s@h/s\n    tables:\n      " +
		strings.TrimPrefix(strings.ReplaceAll(tables, "\n  ", "\n      "), "  ")
	for name, c := range map[string]struct{ text, database, want string }{
		"at the end":       {text, "", text + added},
		"without its end":  {strings.TrimSuffix(text, "\n"), "", text + added},
		"before a comment": {text + "    # v: {} # who\n\n  # others\n", "", text + "    # v: {} # who\n" + added + "\n  # others\n"},
		"of a database":    {deeper, "clinic", deeper + strings.ReplaceAll(added, "\n  ", "\n      ")},
		"a flow":           {head + "tables: {t: {public: true}}\n", "", ""},
		"twice":            {text + "  notes: {public: true}\n", "", ""},
	} {
		got, err := AddTable("p.yaml", []byte(c.text), c.database, added)
		if (err == nil) != (c.want != "") || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
}
