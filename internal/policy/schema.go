package policy

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/policy/bound"
	"github.com/dpproxy/dpproxy/policies"
)

// schema is the part of JSON Schema (draft 2020-12) that policy.schema.json uses. ErrorMessage is that of editors: it
// is said in place of what a keyword would say. Format names one of grammars. A keyword that is not listed here is an
// error of policy.schema.json.
type schema struct {
	ID                 string `json:"$id"`
	Dialect            string `json:"$schema"`
	Title, Description string
	Examples           []json.RawMessage
	Default            json.RawMessage
	Defs               map[string]*schema `json:"$defs"`
	Ref                string             `json:"$ref"`
	ErrorMessage       string

	Type                               oneOrMore
	Const                              json.RawMessage
	Enum                               []string
	Pattern                            string
	MinLength                          int
	Format                             string
	Minimum, Maximum                   json.Number
	ExclusiveMinimum, ExclusiveMaximum json.Number

	Properties           map[string]*schema
	Required             []string
	AdditionalProperties *schema
	PropertyNames        *schema
	MinProperties        int
	Items                *schema
	MinItems             int
	MaxItems             int
	UniqueItems          bool

	If, Then, Else, Not *schema
	AllOf, AnyOf        []*schema

	never bool // false, which nothing fits
}

type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*o = make(oneOrMore, 1)
		return json.Unmarshal(data, &(*o)[0])
	}
	return json.Unmarshal(data, (*[]string)(o))
}

// UnmarshalJSON also reads true, which is what everything fits, and false, which nothing fits.
func (s *schema) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true":
		return nil
	case "false":
		s.never = true
		return nil
	}
	type plain schema
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode((*plain)(s))
}

// shape is policy.schema.json.
var shape = sync.OnceValue(func() *schema {
	s := &schema{}
	if err := json.Unmarshal(policies.Schema, s); err != nil {
		panic(err) // it is part of the program
	}
	return s
})

// definition finds one of $defs.
func definition(name string) *schema { return shape().Defs[strings.TrimPrefix(name, "#/$defs/")] }

// report takes what is wrong with a value.
type report func(n *yaml.Node, path, format string, args ...any)

// check reports what is wrong with a value. One that has been reported is empty, and nothing is wrong with it.
func (s *schema) check(n *yaml.Node, path string, wrong report) {
	if n.IsZero() {
		return
	}
	if s.ErrorMessage != "" {
		silent := *s
		if silent.ErrorMessage = ""; !silent.fits(n) {
			wrong(n, path, "%s", s.ErrorMessage)
		}
		return
	}
	kind := kindOf(n)
	if s.Type != nil && !slices.ContainsFunc(s.Type, func(t string) bool { return takes(t, kind) }) {
		got := shown(n)
		if kind == "string" && (s.Type[0] == "object" || s.Type[0] == "array") {
			got = nouns[kind] // it is not quoted: it may hold a password
		}
		wrong(n, path, "must be %s, not %s", s.Type.nouns(), got)
		return
	}
	switch kind {
	case "object":
		s.checkObject(n, path, wrong)
	case "array":
		s.checkArray(n, path, wrong)
	}
	s.checkText(n, path, kind, wrong)
	if s.Format != "" {
		if err := grammars[s.Format](n); err != nil {
			wrong(n, path, "%s", err)
		}
	}
	parts := slices.Clone(s.AllOf)
	if s.Ref != "" {
		parts = append(parts, definition(s.Ref))
	}
	switch {
	case s.If == nil:
	case s.If.fits(n):
		parts = append(parts, s.Then)
	default:
		parts = append(parts, s.Else)
	}
	for _, part := range parts {
		if part != nil {
			part.check(n, path, wrong)
		}
	}
	fits := func(s *schema) bool { return s.fits(n) }
	if s.never || s.Not != nil && fits(s.Not) || s.AnyOf != nil && !slices.ContainsFunc(s.AnyOf, fits) {
		wrong(n, path, "is not as described: %s", s.clause())
	}
}

// fits reports whether nothing is wrong with a value.
func (s *schema) fits(n *yaml.Node) bool {
	fits := true
	s.check(n, "", func(*yaml.Node, string, string, ...any) { fits = false })
	return fits
}

// checkText checks the text of a scalar; that of a mapping or a list is empty.
func (s *schema) checkText(n *yaml.Node, path, kind string, wrong report) {
	switch {
	case s.Enum != nil && n.Style&blockStyles != 0:
		wrong(n, path, "must be one of %s on the key's line, not a block", list(s.Enum))
	case s.Const != nil && !s.constant(n, kind):
		wrong(n, path, "must be %s, not %s: %s", s.Const, shown(n), s.clause())
	case s.Enum != nil && !slices.Contains(s.Enum, n.Value):
		wrong(n, path, "%s is not one of %s%s", shown(n), list(s.Enum), Suggestion(n.Value, s.Enum))
	case len(n.Value) < s.MinLength:
		wrong(n, path, "must not be empty")
	case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(n.Value):
		wrong(n, path, "is not as described: %s", s.clause()) // it is not quoted: it may hold a password
	case kind == "number" || kind == "integer":
		if message := s.limits(n.Value, kind == "integer"); message != "" {
			wrong(n, path, "%s", message)
		}
	}
}

// constant reports whether a value is const. YAML spells true in three ways.
func (s *schema) constant(n *yaml.Node, kind string) bool {
	if s.Const[0] == '"' {
		return kind == "string" && n.Style&blockStyles == 0 && n.Value == strings.Trim(string(s.Const), `"`)
	}
	return kind != "string" && strings.EqualFold(n.Value, string(s.Const))
}

func (s *schema) checkObject(n *yaml.Node, path string, wrong report) {
	given := map[string]bool{}
	for name, value := range entries(n) {
		given[name] = true
		property, known := s.Properties[name]
		if !known {
			property = s.AdditionalProperties
		}
		switch {
		case property == nil:
		case property.never:
			at, message := s.unknown(name)
			wrong(&yaml.Node{}, child(path, at), "%s", message)
		default:
			property.check(value, child(path, name), wrong)
		}
		if s.PropertyNames != nil {
			s.PropertyNames.check(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, child(path, name), wrong)
		}
	}
	for _, name := range s.Required {
		if !given[name] {
			wrong(&yaml.Node{}, child(path, name), "missing: %s", s.Properties[name].advice(name))
		}
	}
	if len(given) < s.MinProperties {
		wrong(n, path, "must not be empty")
	}
}

func (s *schema) checkArray(n *yaml.Node, path string, wrong report) {
	switch items := len(n.Content); {
	case items < s.MinItems:
		wrong(n, path, "must not be empty")
	case s.MaxItems > 0 && items > s.MaxItems:
		wrong(n, path, "has more than %d items", s.MaxItems)
	}
	seen := map[string]bool{}
	for i, item := range n.Content {
		if s.Items != nil {
			s.Items.check(item, element(path, i), wrong)
		}
		if s.UniqueItems && seen[item.Value] {
			wrong(item, element(path, i), "%s is listed twice", quoted(item.Value))
		}
		seen[item.Value] = true
	}
}

// takes reports whether a type takes a value of a kind. A text that looks like a number needs no quotes.
func takes(t, kind string) bool {
	switch kind {
	case t:
		return true
	case "integer":
		return t == "number" || t == "string"
	case "number", "boolean":
		return t == "string"
	}
	return false
}

// advice says what a key is for, and how it may be written.
func (s *schema) advice(name string) string {
	switch {
	case s == nil:
		return ""
	case len(s.Examples) == 0:
		return s.clause()
	}
	return s.clause() + "; write " + name + ": " + strings.ReplaceAll(string(s.Examples[0]), `"`, "")
}

// clause is the description's first sentence as a part of another: only a word in capitals stays one.
func (s *schema) clause() string {
	text, _, _ := strings.Cut(strings.TrimSuffix(s.Description, "."), ". ")
	if second := strings.TrimLeft(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"); len(second) == len(text)-1 {
		return strings.ToLower(text[:1]) + second
	}
	return text
}

// unknown says how a key is called that is not one of the properties, and what is.
func (s *schema) unknown(name string) (called, message string) {
	// {main:postgres://…} without a blank is one long key, which may hold a password.
	if before, _, found := strings.Cut(name, ":"); found {
		return before + ":…", "unknown key; a blank is missing after the colon"
	}
	var known []string
	for key, property := range s.Properties {
		if property.Description != "" {
			known = append(known, key)
		}
	}
	slices.Sort(known)
	if near := Suggestion(name, known); near != "" {
		return name, "unknown key" + near
	}
	return name, "unknown key; known here: " + list(known)
}

// limits says which of a number's limits is broken. What counts is the number that is read: a float64, or a whole
// number.
func (s *schema) limits(text string, whole bool) string {
	v, _ := new(big.Rat).SetString(text)
	f, err := strconv.ParseFloat(text, 64)
	if !whole && err == nil {
		v.SetFloat64(f)
	}
	var limits []string
	broken := false
	limit := func(l json.Number, name string, holds func(int) bool) {
		if at, ok := new(big.Rat).SetString(l.String()); ok {
			limits, broken = append(limits, name+" "+l.String()), broken || err != nil || !holds(v.Cmp(at))
		}
	}
	limit(s.Minimum, "at least", func(c int) bool { return c >= 0 })
	limit(s.ExclusiveMinimum, "above", func(c int) bool { return c > 0 })
	limit(s.Maximum, "at most", func(c int) bool { return c <= 0 })
	limit(s.ExclusiveMaximum, "below", func(c int) bool { return c < 0 })
	if !broken {
		return ""
	}
	return strings.TrimSuffix("must be "+strings.Join(limits, " and ")+", not "+text+": "+s.clause(), ": ")
}

var wholeNumber = regexp.MustCompile(`^[-+]?\d+$`)

// blockStyles are those of texts on lines of their own, quotedStyles those of texts in quotes.
const (
	blockStyles  = yaml.LiteralStyle | yaml.FoldedStyle
	quotedStyles = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
)

// kindOf is the type that JSON Schema gives a value. NaN, infinities, octal, hexadecimal, quoted numbers and blocks are
// texts: what YAML's readers make of them differs, and a budget must not depend on that.
func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "object"
	case n.Kind == yaml.SequenceNode:
		return "array"
	case n.Style&(blockStyles|quotedStyles) != 0:
		return "string"
	case wholeNumber.MatchString(n.Value) && bound.IsNumber(n.Value):
		return "integer"
	case bound.IsNumber(n.Value):
		return "number"
	case n.ShortTag() == "!!null":
		return "null"
	case n.ShortTag() == "!!bool":
		return "boolean"
	}
	return "string"
}

var nouns = map[string]string{
	"object": "a mapping", "array": "a list", "boolean": "true or false", "integer": "a whole number",
	"number": "a decimal number", "string": "a text", "null": "empty",
}

func (o oneOrMore) nouns() string {
	said := make([]string, len(o))
	for i, t := range o {
		said[i] = nouns[t]
	}
	return strings.Join(said, " or ")
}

// shown is what the file has there, for messages.
func shown(n *yaml.Node) string {
	switch kind := kindOf(n); kind {
	case "null":
		return "nothing"
	case "object", "array":
		return nouns[kind]
	case "number", "integer":
		return shortened(n.Value)
	}
	return quoted(n.Value)
}
