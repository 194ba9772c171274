// Package deploy_test holds what lies in deploy against the product: every metric that a dashboard or an alert names is
// served, Prometheus reads every expression, alerts fire where they should and nowhere else, and the manifests run
// commands and policies that exist.
package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/metrics"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// served are the names of all metrics that a proxy serves, and the paths that it answers.
func served(t *testing.T) (names map[string]bool, answers func(path string) int) {
	t.Helper()
	m := metrics.New()
	m.ConnectionRefused("limit")
	m.Message("Query", time.Millisecond)
	m.ErrorSent("42501")
	m.Statement("private")
	m.Stage("charge", time.Millisecond)
	m.Ledger("spend", time.Millisecond, 1, errors.New("gone"))
	m.Reloaded(true)
	m.AnalystStatement("alice", "private")
	m.Budgets([]metrics.Budget{{Analyst: "alice", Spent: 1, Left: 9}})
	m.Pools(func() map[string]metrics.Pool { return map[string]metrics.Pool{"main": {}} })
	h := m.Handler(func(context.Context) error { return nil }, slog.New(slog.DiscardHandler))
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w
	}
	names = map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(
		get("/metrics").Body.String(), -1) {
		names[found[1]] = true
		if found[2] == "histogram" {
			names[found[1]+"_bucket"], names[found[1]+"_count"], names[found[1]+"_sum"] = true, true, true
		}
	}
	return names, func(path string) int { return get(path).Code }
}

// named finds metrics in an expression: of dpproxy, and of what every Go process serves.
var named = regexp.MustCompile(`\b(?:dpproxy|process|go)_\w+`)

func TestDashboard(t *testing.T) {
	names, _ := served(t)
	expressions := dashboard(t)
	used := map[string]bool{}
	rules := "groups: [{name: dashboard, rules: [\n"
	for i, e := range expressions {
		for _, name := range named.FindAllString(e, -1) {
			if used[name] = true; !names[name] {
				t.Errorf("%s: no proxy serves %s", e, name)
			}
		}
		filled := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$instance", ".*").Replace(e)
		rules += fmt.Sprintf("  {record: expression_%d, expr: %q},\n", i, filled)
	}
	for name := range names {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
		if strings.HasPrefix(name, "dpproxy_") && !used[name] && !used[base+"_bucket"] &&
			name != "dpproxy_connections_total" && name != "dpproxy_pool_acquired_total" {
			t.Errorf("no panel shows %s", name)
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules+"]}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

// dashboard returns the expressions of all panels.
func dashboard(t *testing.T) (all []string) {
	t.Helper()
	var d struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	text, err := os.ReadFile("../../deploy/grafana/dpproxy.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

func TestAlerts(t *testing.T) {
	names, _ := served(t)
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	text, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, rule := range file.Groups[0].Rules {
		for _, name := range named.FindAllString(rule.Expr, -1) {
			if !names[name] {
				t.Errorf("%s: no proxy serves %s", rule.Alert, name)
			}
		}
	}
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range file.Groups[0].Rules {
		if !strings.Contains(string(page), "| `"+rule.Alert+"` |") {
			t.Errorf("docs/monitoring.md does not say what to do about %s", rule.Alert)
		}
	}
	for _, name := range regexp.MustCompile(`\bdpproxy_\w+[\[{]`).FindAllString(string(page), -1) {
		if name = name[:len(name)-1]; !names[name] {
			t.Errorf("docs/monitoring.md: no proxy serves %s", name)
		}
	}
	promtool(t, "test", "rules", "../../deploy/prometheus/alerts_test.yaml")
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// manifest is what the test reads of a Kubernetes object.
type manifest struct {
	Kind       string
	Data       map[string]string
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Args  []string
					Ports []struct {
						ContainerPort int `yaml:"containerPort"`
					}
					Startup   probe `yaml:"startupProbe"`
					Liveness  probe `yaml:"livenessProbe"`
					Readiness probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// TestSchemas holds the manifests against Kubernetes' own schemas, docker-compose.yml against Compose's, both
// read by what their projects publish for this. tests/packages has systemd read the unit.
func TestSchemas(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all builds the programs that read them")
	}
	for _, c := range []struct{ tool, program, file string }{
		{"sigs.k8s.io/kubectl-validate@v0.0.4", "kubectl-validate", "../../deploy/kubernetes/dpproxy.yaml"},
		{"github.com/compose-spec/compose-go/v2/cmd@v2.16.2", "cmd", "../../docker-compose.yml"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			install := exec.Command("go", "install", c.tool)
			install.Env = append(os.Environ(), "GOBIN="+folder, "GOFLAGS=")
			if out, err := install.CombinedOutput(); err != nil {
				t.Skipf("it cannot be had: %s", out)
			}
			if out, err := exec.Command(filepath.Join(folder, c.program), c.file).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestManifests(t *testing.T) {
	_, answers := served(t)
	text, err := os.ReadFile("../../deploy/kubernetes/dpproxy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]manifest{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kinds[m.Kind] = m
	}
	for name, value := range kinds["Secret"].StringData {
		t.Setenv(name, value)
	}
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(kinds["ConfigMap"].Data["policy.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Load(path)
	if err != nil {
		t.Fatalf("the policy: %v", err)
	}
	if err := p.Need("main", "shadow", "ledger"); err != nil {
		t.Error(err)
	}
	c := kinds["Deployment"].Spec.Template.Spec.Containers[0]
	if got := strings.Join(c.Args, " "); got != "serve --policy /etc/dpproxy/policy.yaml" {
		t.Errorf("it runs %s", got)
	}
	for _, port := range c.Ports {
		if suffix := fmt.Sprintf(":%d", port.ContainerPort); !strings.HasSuffix(p.Listen, suffix) &&
			!strings.HasSuffix(p.Metrics, suffix) {
			t.Errorf("nothing listens on %s", suffix)
		}
	}
	for _, probe := range []probe{c.Startup, c.Liveness, c.Readiness} {
		if code := answers(probe.HTTPGet.Path); code != 200 || probe.HTTPGet.Port != "metrics" {
			t.Errorf("probe %+v: %d", probe, code)
		}
	}
}
