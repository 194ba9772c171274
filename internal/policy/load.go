package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// Load reads and validates a policy file. The error is always of type Errors and lists every problem of the file.
func Load(file string) (*Policy, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, Errors{{File: file, Message: "cannot be read: " + err.Error()}}
	}
	return Parse(file, data)
}

// Parse validates the contents of a policy file; file is its name in messages, and relative paths start in its folder.
func Parse(file string, data []byte) (*Policy, error) {
	return parse(file, data, os.LookupEnv)
}

func parse(file string, data []byte, getenv func(string) (string, bool)) (*Policy, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, Errors{{File: file, Message: "its folder cannot be resolved: " + err.Error()}}
	}
	d := &document{file: file, folder: folder, getenv: getenv, places: map[string]place{}}
	p := &Policy{File: file, missing: map[string]Problem{}, Databases: Databases{Unset: map[string]string{}}}
	if root := d.read(data, shape()); root != nil && root.Kind == yaml.MappingNode {
		d.policy(root, p)
	}
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	p.Notes = d.notes.sorted()
	p.Version = p.version()
	return p, nil
}
