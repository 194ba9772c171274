// Package version says which dpproxy this is: what the Go toolchain wrote into the binary when it was built.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Info names a build.
type Info struct {
	// of the release, or a pseudo-version that says which commit is ahead of one; "(devel)" where git was not there
	Version  string
	Revision string // commit; empty where git was not there
	Modified bool   // built from a tree with changes that are not committed
	Go       string // go1.26.8
}

// Of reads what the toolchain wrote.
func Of() Info {
	i := Info{Version: "(devel)", Go: runtime.Version()}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return i
	}
	if build.Main.Version != "" {
		i.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}

// String is one line: dpproxy v0.1.0 (revision 7243f836, go1.26.8).
func (i Info) String() string {
	revision := "no revision"
	if i.Revision != "" {
		revision = "revision " + i.Revision[:min(8, len(i.Revision))]
	}
	if i.Modified {
		revision += " with changes"
	}
	return fmt.Sprintf("dpproxy %s (%s, %s)", i.Version, revision, i.Go)
}
