package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsFromFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"password": "s3cret\r\n", "dsn": "host=db user=m password=a}b\n\n",
		"empty": "\n", "long": strings.Repeat("x", maxSecret+1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &document{folder: dir, getenv: func(name string) (string, bool) { return "u", name == "DP_USER" }}
	for text, want := range map[string]string{
		"postgres://${DP_USER}:${file:password}@db/x":      "postgres://u:s3cret@db/x",
		"${file:" + dir + "/dsn}":                          "host=db user=m password=a}b",
		"postgres://m@db/x?application_name=$1${}$DP_USER": "postgres://m@db/x?application_name=$1${}$DP_USER",
		"postgres://m:${file:none}@db/x": "the file " + dir +
			"/none cannot be read: no such file or directory",
		"postgres://m:${file:empty}@db/x": "the file " + dir + "/empty is empty",
		"postgres://m:${file:long}@db/x": "the file " + dir +
			"/long is longer than 65536 bytes, which no secret is",
		"postgres://m:${file:.}@db/x":                          "the file " + dir + " cannot be read: is a directory",
		"postgres://${DP_NONE}:${file:password}@db/${DP_ALSO}": "the environment variable DP_NONE is not set",
	} {
		got, err := w.expand(text)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestAVerifierFromAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte(verifierText+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := parse(filepath.Join(dir, "policy.yaml"), []byte(strings.Replace(small, verifierText, "${file:a}", 1)),
		os.LookupEnv)
	if err != nil || p.Analysts["a"].Verifier != verifierText {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = parse(filepath.Join(dir, "policy.yaml"), []byte(strings.Replace(small, verifierText, "${file:b}", 1)),
		os.LookupEnv)
	if err == nil || !strings.Contains(err.Error(), "analysts.a.password: the file "+dir+"/b cannot be read") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestADSNWithoutItsSecret(t *testing.T) {
	text := strings.Replace(small, "postgres://m@db/x,", "'postgres://m:${file:none}@db/x',", 1)
	p, err := parse("/etc/dp/policy.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Need("main"); err == nil ||
		err.Error() !=
			"/etc/dp/policy.yaml:2:13: databases.main: the file /etc/dp/none cannot be read: no such file or directory" {
		t.Errorf("Need: %v", err)
	}
	if err := p.MissingDSN("main"); err == nil ||
		err.Error() != "databases.main: the file /etc/dp/none cannot be read: no such file or directory" {
		t.Errorf("MissingDSN: %v", err)
	}
}
