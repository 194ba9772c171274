package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/policies"
)

// TestEditorSchema: what the loader reads is what any reader of JSON Schema makes of policy.schema.json, so that
// editors accept good files.
func TestEditorSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../policies/policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../../policies/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	for _, file := range append(examples, caseFiles(t, "good")...) {
		if err := schema.Validate(instance(t, file)); err != nil {
			t.Errorf("%s is refused: %v", file, err)
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

// TestEveryKeyIsDescribed: every key that may stand in a policy says in an editor what it is for, and docs/policy.md
// names it. Conditions (if, not) are no keys.
func TestEveryKeyIsDescribed(t *testing.T) {
	docs, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	var walk func(s *schema, path string)
	walk = func(s *schema, path string) {
		if s == nil {
			return
		}
		for key, of := range s.Properties {
			keys[path+"."+key] = true
			refused := of.Not != nil || of.Ref != "" && definition(of.Ref).Not != nil
			if len(of.Description) < 10 && !refused {
				t.Errorf("%s.%s has no description", path, key)
			}
			if !regexp.MustCompile("[`{ ,]" + key + "[`:,}]").Match(docs) {
				t.Errorf("docs/policy.md does not mention %s", key)
			}
			walk(of, path+"."+key)
		}
		for name, of := range s.Defs {
			walk(of, name)
		}
		for _, of := range append(s.AllOf, s.Then, s.Else, s.Items, s.AdditionalProperties) {
			walk(of, path)
		}
	}
	walk(shape(), "policy")
	if len(keys) < 120 {
		t.Errorf("%d keys were looked at", len(keys))
	}
}

// TestGrammars: every format has one, and every reference leads somewhere.
func TestGrammars(t *testing.T) {
	text := string(policies.Schema)
	for _, m := range regexp.MustCompile(`"format": "([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if grammars[m[1]] == nil {
			t.Errorf("the format %s has no grammar", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`"\$ref": "([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if definition(m[1]) == nil {
			t.Errorf("%s is not defined", m[1])
		}
	}
}
