package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// TestEditorSchema keeps policies/policy.schema.json in step with the loader: it must accept every good file, and refuse
// every bad one but those that say "# schema: accepts" (what a schema cannot see) or "# schema: unreadable" (what its
// readers do not even parse, or what they cannot tell apart).
func TestEditorSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../policies/policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	policies, err := filepath.Glob("../../policies/*.yaml")
	if err != nil || len(policies) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	for _, file := range append(policies, caseFiles(t, "good")...) {
		if err := schema.Validate(instance(t, file)); err != nil {
			t.Errorf("%s is refused: %v", file, err)
		}
	}
	for _, file := range caseFiles(t, "bad") {
		said := strings.Join(comments(t, file, "schema"), " ")
		if said == "unreadable" {
			continue
		}
		if err := schema.Validate(instance(t, file)); (err == nil) != (said == "accepts") {
			t.Errorf("%s: the schema's verdict is %v, the file says %q", file, err, said)
		}
	}
}

// instance is a file as editors give it to a schema: YAML's types, with dates left as text.
func instance(t *testing.T, file string) any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return plain(t, &node)
}

func plain(t *testing.T, n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(t, n.Content[0])
	case yaml.AliasNode:
		return plain(t, n.Alias)
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, plain(t, c))
		}
		return list
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(t, n.Content[i+1])
		}
		return m
	}
	if tag := n.ShortTag(); tag == "!!timestamp" || tag == "!!str" {
		return n.Value
	}
	var v any
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEveryKeyIsDocumented: docs/policy.md names every key that the schema knows.
func TestEveryKeyIsDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("../../policies/policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	collect(parsed, keys)
	if len(keys) < 40 {
		t.Fatalf("only %d keys in the schema", len(keys))
	}
	for key := range keys {
		if !regexp.MustCompile("[`{ ,]" + key + "[`:,}]").Match(docs) {
			t.Errorf("docs/policy.md does not mention %s", key)
		}
	}
}

// collect finds the names of properties anywhere in a schema.
func collect(v any, keys map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				keys[name] = true
			}
		}
		for _, child := range v {
			collect(child, keys)
		}
	case []any:
		for _, child := range v {
			collect(child, keys)
		}
	}
}

// TestEditorSchemaDescribes: every key that may stand in a policy says in an editor what it is for. Conditions (if, not) are no keys.
func TestEditorSchemaDescribes(t *testing.T) {
	file, err := os.Open("../../policies/policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	schema, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	var walk func(node any, path string)
	walk = func(node any, path string) {
		switch n := node.(type) {
		case []any:
			for _, v := range n {
				walk(v, path)
			}
		case map[string]any:
			properties, _ := n["properties"].(map[string]any)
			for key, v := range properties {
				of, _ := v.(map[string]any)
				if said, _ := of["description"].(string); len(said) < 10 {
					t.Errorf("%s.%s has no description", path, key)
				}
				keys++
				walk(v, path+"."+key)
			}
			for key, v := range n {
				if key != "properties" && key != "if" && key != "not" {
					walk(v, path)
				}
			}
		}
	}
	walk(schema, "policy")
	if keys < 90 {
		t.Errorf("%d keys were looked at", keys)
	}
}
