package version

import (
	"runtime"
	"strings"
	"testing"
)

func TestString(t *testing.T) {
	for want, i := range map[string]Info{
		"dpproxy v0.1.0 (revision 7243f836, go1.26.8)": {
			Version: "v0.1.0", Revision: "7243f8366bb2534e01b1f1d3a67a3d3ef6cbe0c1", Go: "go1.26.8",
		},
		"dpproxy v0.1.0 (revision 7243 with changes, go1.26.8)": {
			Version: "v0.1.0", Revision: "7243", Modified: true,
			Go: "go1.26.8",
		},
		"dpproxy (devel) (no revision, go1.26.8)": {Version: "(devel)", Go: "go1.26.8"},
	} {
		if got := i.String(); got != want {
			t.Errorf("%+v: %s, want %s", i, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	i := Of()
	if i.Go != runtime.Version() || i.Version == "" || strings.ContainsAny(i.Version, " \n") {
		t.Errorf("Of() = %+v", i)
	}
}
