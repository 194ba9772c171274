package integration_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// composeFile is what the test reads of docker-compose.yml.
type composeFile struct {
	Services map[string]struct {
		Image     string
		Build     string
		Volumes   []string
		Ports     []string
		Command   []string
		Health    struct{ Test []string }               `yaml:"healthcheck"`
		DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
	}
	Volumes map[string]any
}

// pinned names a version down to its minor number, or a digest.
var pinned = regexp.MustCompile(`:[0-9]+\.[0-9]+(\.[0-9]+)?[a-z-]*$|@sha256:[0-9a-f]{64}$`)

func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c composeFile
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres", "data", "setup", "dpproxy"} {
		if _, ok := c.Services[name]; !ok {
			t.Errorf("no service %s", name)
		}
	}
	ledger := false
	for name, s := range c.Services {
		if s.Build == "" && !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %q is not pinned", name, s.Image)
		}
		for other, d := range s.DependsOn {
			if _, ok := c.Services[other]; !ok || d.Condition == "" {
				t.Errorf("%s depends on %s %q", name, other, d.Condition)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[source]; !ok && !strings.HasPrefix(source, "./") {
				t.Errorf("%s: no volume %s", name, source)
			}
			ledger = ledger || name == "dpproxy" && v == "ledger:/var/lib/dpproxy"
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s publishes %s beyond loopback", name, p)
			}
		}
	}
	if !slices.Contains(c.Services["postgres"].Health.Test, "--host=127.0.0.1") {
		t.Error("the server that initdb runs, which listens on a socket alone, is healthy")
	}
	p := composedPolicy(t, c.Services["setup"].Command[0])
	for _, listen := range []string{p.Listen, p.Console.Listen} {
		_, port, _ := strings.Cut(listen, ":")
		if want := "127.0.0.1:" + port + ":" + port; !slices.Contains(c.Services["dpproxy"].Ports, want) {
			t.Errorf("%s is not published", listen)
		}
	}
	if !ledger {
		t.Error("the ledger is in no volume")
	}
}

// composedPolicy is what the first command of the service setup makes of the demo's policy.
func composedPolicy(t *testing.T, script string) *policy.Policy {
	t.Helper()
	edit, _, _ := strings.Cut(script, " >")
	out, err := exec.Command("sh", "-c", strings.Replace(edit, "/policies/", "../../policies/", 1)).Output()
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("policy.yaml", out)
	if err != nil {
		t.Fatal(err)
	}
	if p.Console == nil {
		t.Fatal("it has no console")
	}
	return p
}

func TestComposeDockerfileIsPinnedAndUnprivileged(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	user := ""
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "FROM" && !pinned.MatchString(f[1]):
			t.Errorf("%s is not pinned", f[1])
		case len(f) > 1 && f[0] == "USER":
			user = f[1]
		}
	}
	if user == "" || user == "root" {
		t.Errorf("the image runs as %q", user)
	}
}
