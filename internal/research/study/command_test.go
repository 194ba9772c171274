package study

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// run is `dpproxy mechanism ARGS…` as kong runs it.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	k, err := kong.New(&Command{}, kong.BindTo(&out, (*io.Writer)(nil)), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := k.Parse(args)
	if err != nil {
		return "", err
	}
	err = ctx.Run()
	return out.String(), err
}

type row struct {
	Noise, Bounding, Guarantee, Calibration string
	Scale, Loss                             float64
	RMSEAverage                             float64 `json:"rmse_average"`
	RMSEWorst                               float64 `json:"rmse_worst"`
	Chosen                                  bool
}

func tableRows(t *testing.T, args ...string) map[string]row {
	t.Helper()
	text, err := run(t, append([]string{"table", "--json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var list []row
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	rows := map[string]row{}
	chosen := 0
	for _, r := range list {
		rows[strings.Join([]string{r.Noise, r.Bounding, r.Guarantee, r.Calibration}, " ")] = r
		if r.Chosen {
			chosen++
		}
	}
	if chosen != 1 {
		t.Errorf("%v: %d rows are chosen, want 1", args, chosen)
	}
	return rows
}

func TestTableNumbers(t *testing.T) {
	for _, c := range []struct {
		args       []string
		row        string
		scale      float64
		scaleDigit float64
	}{
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1"}, "gaussian truncate pure tight", 2.758, 5e-4},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1"}, "gaussian truncate pure paper", 3.607, 5e-4},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1"}, "laplace fold pure tight", 1, 1e-6},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1"}, "laplace truncate pure paper", 2, 1e-3},
		{[]string{"--range=1000", "--sensitivity=1", "--epsilon=1"}, "gaussian truncate pure tight", 31.22, 5e-4},
		{
			[]string{"--box=10,8", "--sensitivity=4.47213595499958", "--epsilon=0.5"},
			"gaussian truncate pure paper",
			math.Sqrt(170.27), 1e-4,
		},
		{
			[]string{"--box=10,8", "--sensitivity=4.47213595499958", "--epsilon=0.5"},
			"gaussian truncate pure tight",
			math.Sqrt(61.39), 1e-4,
		},
		// True values may lie in the gap.
		{[]string{"--range=0:1,20:21", "--sensitivity=2", "--epsilon=1"}, "laplace truncate pure tight", 3.9449, 1e-4},
		{[]string{"--range=0:1,20:21", "--sensitivity=2", "--epsilon=1"}, "laplace truncate pure paper", 4, 1e-4},
		{[]string{"--range=-5:5", "--sensitivity=1", "--epsilon=1"}, "gaussian truncate pure tight", 2.758, 5e-4},
		// σ 8.06 at ε = .5, δ = 1e-6 on the exact profile (docs/mechanisms.md, section 5).
		{
			[]string{"--range=10000", "--sensitivity=1", "--epsilon=0.5", "--delta=1e-6"},
			"gaussian fold rdp tight", 8.06,
			1e-3,
		},
	} {
		got := tableRows(t, c.args...)[c.row]
		if math.Abs(got.Scale/c.scale-1) > c.scaleDigit {
			t.Errorf("%v, %s: scale %g, want %g", c.args, c.row, got.Scale, c.scale)
		}
	}
}

// What a given scale costs: the loss of Chen and Hale's σ, a plain Laplace, and the profile that calibration inverts.
func TestTableAtScale(t *testing.T) {
	for _, c := range []struct {
		args []string
		row  string
		loss float64
	}{
		{[]string{"--range=10", "--sensitivity=1", "--scale=3.6072"}, "gaussian truncate pure given", .5374},
		{[]string{"--range=10", "--sensitivity=1", "--scale=2"}, "laplace fold pure given", .5},
		{[]string{"--range=10000", "--sensitivity=1", "--scale=8.0597", "--delta=1e-6"}, "gaussian fold rdp given", .5},
		{[]string{"--range=0:1,20:21", "--sensitivity=2", "--scale=3.9449"}, "laplace truncate pure given", 1},
		{[]string{"--box=10,8", "--sensitivity=4.47213595499958", "--scale=5.6868"}, "gaussian truncate pure given", 1},
	} {
		near(t, c.row, tableLoss(t, c.args...)[c.row], c.loss, 1e-3)
	}
}

func tableLoss(t *testing.T, args ...string) map[string]float64 {
	t.Helper()
	text, err := run(t, append([]string{"table", "--json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var list []row
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	losses := map[string]float64{}
	for _, r := range list {
		if r.Chosen {
			t.Errorf("%v: a row of a given scale is chosen", args)
		}
		losses[strings.Join([]string{r.Noise, r.Bounding, r.Guarantee, r.Calibration}, " ")] = r.Loss
	}
	return losses
}

func TestTableChoice(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--range=1", "--sensitivity=1", "--epsilon=1"}, "staircase denoise pure tight"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1"}, "staircase denoise pure tight"},
		{[]string{"--range=100", "--sensitivity=1", "--epsilon=0.5", "--delta=1e-6"}, "laplace clamp rdp tight"},
		{[]string{"--range=100", "--sensitivity=1", "--epsilon=0.5", "--grid=1"}, "laplace clamp pure tight"},
	} {
		if !tableRows(t, c.args...)[c.want].Chosen {
			t.Errorf("%v: %s is not chosen", c.args, c.want)
		}
	}
}

func TestTableBadInput(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=0"}, "--epsilon is 0"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=-1"}, "--epsilon is -1"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=NaN"}, "--epsilon is NaN"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=Inf"}, "--epsilon is +Inf"},
		{[]string{"--range=10", "--sensitivity=0", "--epsilon=1"}, "--sensitivity is 0"},
		{[]string{"--range=0", "--sensitivity=1", "--epsilon=1"}, "length 0"},
		{[]string{"--range=-3", "--sensitivity=1", "--epsilon=1"}, "length -3"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1", "--delta=2"}, "--delta is 2"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1", "--grid=-1"}, "--grid is -1"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1", "--grid=1e-300"}, "2^59 steps"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1e-9"}, "the least that can be calibrated"},
		{[]string{"--range=10", "--box=1,2", "--sensitivity=1", "--epsilon=1"}, "can't be used together"},
		{[]string{"--sensitivity=1", "--epsilon=1"}, "missing flags"},
		{[]string{"--range=10", "--sensitivity=1"}, "missing flags"},
		{[]string{"--range=10", "--sensitivity=1", "--epsilon=1", "--scale=1"}, "can't be used together"},
		{[]string{"--range=10", "--sensitivity=1", "--scale=-1"}, "--scale is -1"},
		{[]string{"--range=0:1,x", "--sensitivity=1", "--epsilon=1"}, `"x" is no interval`},
		{[]string{"--range=0:1,1:2", "--sensitivity=1", "--epsilon=1"}, `"1:2" begins before`},
		{[]string{"--range=1:0", "--sensitivity=1", "--epsilon=1"}, "is no interval"},
		{[]string{"--range=0:NaN", "--sensitivity=1", "--epsilon=1"}, "is no interval"},
		{[]string{"--range=0:0.1,0.2:0.4", "--sensitivity=1", "--epsilon=1", "--grid=1"}, "shorter than one step"},
	} {
		_, err := run(t, append([]string{"table"}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.args, err, c.want)
		}
	}
	// Absurdly large, but defined: there is hardly any noise left.
	if r := tableRows(t, "--range=10", "--sensitivity=1", "--epsilon=1e6", "--grid=1")["laplace fold pure tight"]; r.RMSEWorst > 1e-6 {
		t.Errorf("epsilon 1e6: error %g", r.RMSEWorst)
	}
	// A sensitivity beyond the range is the range.
	a := tableRows(t, "--range=10", "--sensitivity=10", "--epsilon=1")["laplace truncate pure tight"]
	b := tableRows(t, "--range=10", "--sensitivity=25", "--epsilon=1")["laplace truncate pure tight"]
	if math.Abs(a.Scale/b.Scale-1) > 1e-6 {
		t.Errorf("sensitivity above the range: scale %g, want %g", b.Scale, a.Scale)
	}
}
