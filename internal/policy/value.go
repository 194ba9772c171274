package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// value is one value of the file with its path. Problems with it are reported at its key, or at itself in a list.
type value struct {
	w    *walker
	node *yaml.Node // aliases resolved; nil when the key is absent
	at   *yaml.Node
	path string
}

func (w *walker) value(node, at *yaml.Node, path string) value {
	w.visited++
	if w.visited > maxValues {
		if !w.flooded {
			w.flooded = true
			w.fail(at.Line, at.Column, path, "too many values: aliases of aliases multiply them")
		}
		return value{w: w, at: at, path: path}
	}
	if node.Kind == yaml.AliasNode { // points at a node of the document, never at another alias
		node = node.Alias
	}
	if node.Style&yaml.TaggedStyle != 0 {
		w.fail(at.Line, at.Column, path, fmt.Sprintf("the tag %s is not understood: write the plain value", node.Tag))
		return value{w: w, at: at, path: path}
	}
	w.places[path] = place{at.Line, at.Column}
	return value{w: w, node: node, at: at, path: path}
}

// given reports whether the key is in the file.
func (v value) given() bool { return v.node != nil }

// null reports whether the key has no value.
func (v value) null() bool {
	return v.node != nil && v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!null"
}

func (v value) fail(format string, args ...any) {
	v.w.fail(v.at.Line, v.at.Column, v.path, fmt.Sprintf(format, args...))
}

// note records something that is allowed but that the writer may not want.
func (v value) note(format string, args ...any) {
	v.w.notes = append(v.w.notes, Problem{v.w.file, v.at.Line, v.at.Column, v.path, fmt.Sprintf(format, args...)})
}

// problem returns the place where a later failure of this value would be reported.
func (v value) problem() Problem {
	return Problem{File: v.w.file, Line: v.at.Line, Column: v.at.Column, Path: v.path}
}

// empty reports whether the key is absent or has nothing in it.
func (v value) empty() bool {
	return !v.given() || v.null() || v.node.Kind != yaml.ScalarNode && len(v.node.Content) == 0
}

func (v value) isMapping() bool  { return v.node != nil && v.node.Kind == yaml.MappingNode }
func (v value) isSequence() bool { return v.node != nil && v.node.Kind == yaml.SequenceNode }

// kind names what the file has there, for messages.
func (v value) kind() string {
	switch {
	case v.node == nil:
		return "nothing"
	case v.null():
		return "nothing"
	case v.node.Kind == yaml.MappingNode:
		return "a mapping"
	case v.node.Kind == yaml.SequenceNode:
		return "a list"
	default:
		return quoted(v.node.Value)
	}
}

// object reads a mapping whose keys have been checked.
type object struct {
	value
	names  []string // in the order of the file
	fields map[string]value
}

// object reads a mapping with the given keys; none given: the keys are names. An absent or empty value has no keys.
func (v value) object(keys ...string) object {
	o := object{value: v, fields: map[string]value{}}
	if !v.given() || v.null() {
		return o
	}
	if !v.isMapping() {
		v.fail("must be a mapping, not %s", v.kind())
		return o
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			v.w.fail(key.Line, key.Column, v.path, "a key must be a name")
			continue
		}
		if key.ShortTag() == "!!merge" {
			v.w.fail(key.Line, key.Column, v.child("<<"), "merge keys are not supported: repeat the keys")
			continue
		}
		name := key.Value
		field := v.w.value(node, key, v.child(name))
		if v.w.flooded {
			return o
		}
		if first, twice := o.fields[name]; twice {
			field.fail("duplicate key, first defined on line %d", first.at.Line)
			continue
		}
		if len(keys) > 0 && !slices.Contains(keys, name) {
			// {main:postgres://…} without a blank is one long key, which may hold a password.
			if before, _, found := strings.Cut(name, ":"); found {
				field.path = v.child(before + ":…")
				field.fail("unknown key; a blank is missing after the colon")
				continue
			}
			if near := nearest(name, keys); near != "" {
				field.fail("unknown key; did you mean %q?", near)
			} else {
				field.fail("unknown key; known here: %s", list(keys))
			}
			continue
		}
		o.names = append(o.names, name)
		o.fields[name] = field
	}
	return o
}

func (v value) child(name string) string {
	name = shortened(name)
	if v.path == "" {
		return name
	}
	return v.path + "." + name
}

// get returns a key's value; when it is absent, problems with it are reported at the mapping.
func (o object) get(name string) value {
	if f, ok := o.fields[name]; ok {
		return f
	}
	return value{w: o.w, at: o.at, path: o.child(name)}
}

func (o object) has(name string) bool { return o.fields[name].given() }

// items reads a list.
func (v value) items() []value {
	if !v.given() {
		return nil
	}
	if !v.isSequence() {
		v.fail("must be a list, not %s", v.kind())
		return nil
	}
	items := make([]value, 0, len(v.node.Content))
	for i, n := range v.node.Content {
		items = append(items, v.w.value(n, n, v.path+"["+strconv.Itoa(i)+"]"))
		if v.w.flooded {
			return nil
		}
	}
	return items
}

// bound reads one bound.
func (v value) bound() (bound.Value, bool) {
	if v.node == nil || v.node.Kind != yaml.ScalarNode || v.null() {
		v.fail("must be a number, date, timestamp or interval, not %s", v.kind())
		return bound.Value{}, false
	}
	b, err := bound.Parse(v.node.Value)
	if err != nil {
		v.fail("%s %s", quoted(v.node.Value), err)
	}
	return b, err == nil
}
