package study

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlot(t *testing.T) {
	dir := t.TempDir()
	text, err := run(t, "plot", "--out", dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"densities", "rmse-epsilon", "rmse-range", "figure1"} {
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil || !bytes.Contains(svg, []byte("<svg")) {
			t.Errorf("%s.svg: %v", name, err)
		}
		if !strings.Contains(text, name+".svg") {
			t.Errorf("%s.svg is not named in the output", name)
		}
	}
	for _, want := range []string{
		"bounded Gaussian, tight", "laplace fold", "gaussian truncate", "laplace denoise",
		"laplace clamp",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("text figures lack %q", want)
		}
	}
}

// The paper's two curves and the tight one below them.
func TestFigure1(t *testing.T) {
	f := Figure1()
	for i := range f.Lines[0].X {
		if !(f.Lines[2].Y[i] < f.Lines[1].Y[i] && f.Lines[1].Y[i] < f.Lines[0].Y[i]) {
			t.Errorf("epsilon %g: %g, %g, %g are not in order", f.Lines[0].X[i], f.Lines[0].Y[i], f.Lines[1].Y[i],
				f.Lines[2].Y[i])
		}
	}
}
