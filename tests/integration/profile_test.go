package integration_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// profile runs `dpproxy profile` and returns what it printed, and its exit code.
func (p *proxy) profile(args ...string) (out, problems string, code int) {
	p.t.Helper()
	cmd := p.command("profile", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return string(text), stderr.String(), cmd.ProcessState.ExitCode()
}

// spent is what the accounts of a ledger have spent.
func (p *proxy) spent() map[string]float64 {
	p.t.Helper()
	out, err := p.command("budget", "show", "--json").Output()
	if err != nil {
		p.t.Fatal(err)
	}
	var accounts []struct {
		Analyst string
		Spent   float64 `json:"epsilon_spent"`
	}
	if err := json.Unmarshal(out, &accounts); err != nil {
		p.t.Fatal(err)
	}
	all := map[string]float64{}
	for _, a := range accounts {
		all[a.Analyst] = a.Spent
	}
	return all
}

// TestProfileIsChargedAndWritten profiles beside a running proxy, and then without one, until the budget is used up. At
// so large an ε no noise chooses bounds for which nothing more can be said.
func TestProfileIsChargedAndWritten(t *testing.T) {
	text := strings.NewReplacer(
		"  visits:\n", "  # what happened\n  visits: # one row a visit\n",
		"    max_rows_per_unit: 10\n", "    max_rows_per_unit: 10 # guessed\n",
	).Replace(purePolicy("budget: {epsilon: 1200}"))
	p := start(t, text, clinic)
	if all := p.spent(); len(all) != 3 || all["*"] != 0 {
		t.Fatalf("spent before: %v", all)
	}
	out, problems, code := p.profile("--table", "visits", "--epsilon", "1000", "--dry-run")
	if code != 0 || out != "" ||
		!strings.Contains(
			problems, "of which the whole budget holds 1.2; it takes about 83.3% of the budget, and leaves 16%") ||
		p.spent()["*"] != 0 {
		t.Errorf("a dry run: exit %d, printed %q, spent %v\n%s", code, out, p.spent(), problems)
	}
	out, problems, code = p.profile("--table", "visits", "--epsilon", "1000", "--write")
	if code != 0 {
		t.Fatalf("profile: exit %d\n%s", code, problems)
	}
	all := p.spent()
	if s := all[policy.ProfileAccount]; s <= 980 || s > 1000+1e-9 || all["*"] != s || all["alice"] != 0 {
		t.Errorf("spent after: %v", all)
	}
	for _, want := range []string{
		"tables:\n  visits:\n    max_rows_per_unit: ", "    left_out: ",
		"      cost:\n        bounds: [", "        per_unit: [0, ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("printed without %q:\n%s\n%s", want, out, problems)
		}
	}
	p.wantWritten(text, out)
	if checked, err := p.command("check", "--live").CombinedOutput(); err != nil ||
		!strings.Contains(string(checked), "ok\n") {
		t.Errorf("check --live: %v\n%s", err, checked)
	}
	// The proxy takes the new policy, and answers under it.
	p.stop()
	p.serve()
	if _, code := p.ask("alice", "SELECT ward, sum(cost) FROM visits GROUP BY ward"); code != "" {
		t.Errorf("a question under the new policy: %s", code)
	}
	p.stop()
	spent := p.spent()

	before := p.read()
	out, problems, code = p.profile("--epsilon", "400", "--write")
	if code != 1 || out != "" || !strings.Contains(problems, "53400") {
		t.Errorf("over the budget: exit %d, printed %q\n%s", code, out, problems)
	}
	if p.read() != before {
		t.Error("a refused profile has changed the policy")
	}
	if now := p.spent(); now["*"] != spent["*"] || now[policy.ProfileAccount] != spent[policy.ProfileAccount] {
		t.Errorf("a refused profile was charged: %v, %v", now, spent)
	}
	if out, err := p.command("budget", "verify").CombinedOutput(); err != nil {
		t.Errorf("budget verify: %v\n%s", err, out)
	}
}

// TestProfileOfEveryType: with noise that is nil, the printed bounds are the true quantiles on their grids.
func TestProfileOfEveryType(t *testing.T) {
	p := start(t, townPolicy+"profile: {epsilon: 1000000}\n", town)
	out, problems, code := p.profile("--table", "people", "--epsilon", "100000", "--quantile", "0.9855", "--write")
	if code != 0 {
		t.Fatalf("profile: exit %d\n%s", code, problems)
	}
	for _, want := range []string{
		"age:\n        bounds: [0, 100]", "weight:\n        bounds: [47, 150]", "height:\n        bounds: [1, 8.2]",
		"price:\n        bounds: [0, 100]",
		"seen:\n        bounds: [\"2024-06-01\", \"2024-06-30 23:59:59.999999\"]",
		"met:\n        bounds: [\"2024-06-01\", \"2024-06-30 23:59:59.999999\"]",
		"day:\n        bounds: [2024-06-01, 2024-09-30]",
		"hour:\n        bounds: [\"00:00\", \"19:00\"]", "stay:\n        bounds: [-2 days, 3 days]",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("printed without %q:\n%s\n%s", want, out, problems)
		}
	}
	if checked, err := p.command("check").CombinedOutput(); err != nil {
		t.Errorf("check: %v\n%s", err, checked)
	}
}

func (p *proxy) read() string {
	p.t.Helper()
	text, err := os.ReadFile(p.policy)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// wantWritten says that the policy has the printed keys and all that it had beside them.
func (p *proxy) wantWritten(before, printed string) {
	p.t.Helper()
	after := p.read()
	for _, comment := range []string{"# what happened\n", "visits: # one row a visit\n", " # guessed\n"} {
		if !strings.Contains(after, comment) {
			p.t.Errorf("the comment %q is gone", comment)
		}
	}
	for line := range strings.Lines(printed) {
		key, _, isKey := strings.Cut(strings.TrimSpace(line), " # ")
		if isKey && !strings.Contains(after, key) {
			p.t.Errorf("%q is not in the policy:\n%s", key, after)
		}
	}
	if strings.Count(after, "\n") != strings.Count(before, "\n")+1 { // left_out
		p.t.Errorf("lines were lost:\n%s", after)
	}
	if files, err := filepath.Glob(filepath.Join(p.dir, ".policy-*")); err != nil || len(files) > 0 {
		p.t.Errorf("%v is left behind, %v", files, err)
	}
}

// TestProfileOfItsOwnBudget: `profile:` bounds it where analysts have no budget together, and nothing does without
// either.
func TestProfileOfItsOwnBudget(t *testing.T) {
	// Columns that the policy adds to analysts' answers are not in a profile's.
	p := start(t, strings.Replace(clinicPolicy("profile: {epsilon: 10, delta: 1e-6}"), "epsilon_max: 5}",
		"epsilon_max: 5, intervals: on}", 1), clinic)
	_, problems, code := p.profile("--table", "public.patients", "--epsilon", "2", "--quantile", "0.9")
	if all := p.spent(); code != 0 || all[policy.ProfileAccount] <= 0 || len(all) != 3 {
		t.Errorf("exit %d, spent %v\n%s", code, all, problems)
	}
	before := p.read()
	out, problems, code := p.profile("--epsilon", "0.01", "--write")
	if code != 1 || out != "" || !strings.Contains(problems, "would do. A twentieth of the price is spent") ||
		p.read() != before {
		t.Errorf("too few for bounds: exit %d, printed %q\n%s", code, out, problems)
	}
	for _, c := range []struct {
		policy string
		args   []string
		code   int
		want   string
	}{
		{clinicPolicy(), []string{"--epsilon", "1"}, 2, "no budget to profile with"},
		{clinicPolicy("budget: {epsilon: 9, delta: 1e-6}"), []string{"--epsilon", "-1"}, 2, "--epsilon"},
		{clinicPolicy("budget: {epsilon: 9, delta: 1e-6}"), []string{"--epsilon", "1", "--quantile", "1"}, 2, "--quantile"},
		{
			clinicPolicy("budget: {epsilon: 9, delta: 1e-6}"),
			[]string{"--epsilon", "1", "--table", "wards"},
			1,
			"not a private table",
		},
		{clinicPolicy("budget: {epsilon: 9, delta: 1e-6}"), []string{}, 2, "epsilon"},
	} {
		p.write(c.policy)
		if _, problems, code := p.profile(c.args...); code != c.code || !strings.Contains(problems, c.want) {
			t.Errorf("%q: exit %d, want %d\n%s", c.args, code, c.code, problems)
		}
	}
	p.write(clinicPolicy("profile: {epsilon: 10, delta: 1e-6}"))
}
