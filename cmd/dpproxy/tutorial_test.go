package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

var update = flag.Bool("update", false, "write the outputs of docs/tutorial.md anew")

const tutorialPage = "../../docs/tutorial.md"

// mostEdits is how many lines of a first policy may have to be written by hand.
const mostEdits = 6

// reader follows the tutorial: a folder, a PostgreSQL with a password, and what was exported.
type reader struct {
	t           *testing.T
	folder      string
	environment []string
	port        string // in place of the tutorial's 6432
}

// TestTutorial runs the commands of docs/tutorial.md as they are written, in order, and compares what they print but for the numbers, which have
// noise. Blocks marked sh are for the reader's machine alone; blocks marked diff are edits of the policy.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile(tutorialPage)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t)
	var written strings.Builder
	commands, edits := 0, 0
	for i, part := range strings.Split(string(page), "```") {
		kind, body, _ := strings.Cut(part, "\n")
		switch {
		case i%2 == 1 && kind == "console":
			part = "console\n" + r.follow(body)
			if got, want := shape(part), shape(kind+"\n"+body); got != want && !*update {
				t.Errorf("the tutorial has\n%s\nand it is\n%s", want, got)
			}
			commands += strings.Count(body, "$ ")
		case i%2 == 1 && kind == "diff":
			edits += r.edit(body)
		}
		if i > 0 {
			written.WriteString("```")
		}
		written.WriteString(part)
	}
	if commands < 8 || edits == 0 || edits > mostEdits {
		t.Errorf("%d commands and %d edits, wanted at least 8, and at most %d edits", commands, edits, mostEdits)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(tutorialPage, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func newReader(t *testing.T) *reader {
	t.Helper()
	server, err := pgserver.Start(t.Context(), pgserver.Options{Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	_, port, _ := net.SplitHostPort(free.Addr().String())
	r := &reader{t: t, folder: t.TempDir(), port: port}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here+"/../../docs", r.folder+"/docs"); err != nil {
		t.Fatal(err)
	}
	r.environment = append(os.Environ(), "PGHOST=127.0.0.1", fmt.Sprintf("PGPORT=%d", server.Port), "PGUSER="+pgserver.Superuser, "PGPASSWORD=secret", "PGTZ=UTC")
	return r
}

// follow runs the commands of a block, and returns it with what they print.
func (r *reader) follow(block string) string {
	var out strings.Builder
	shell, questions := "", []string(nil)
	flush := func() {
		switch name, value, exported := strings.Cut(strings.TrimPrefix(shell, "export "), "="); {
		case shell == "":
		case exported && strings.HasPrefix(shell, "export "):
			r.environment = append(r.environment, name+"="+value)
		case strings.HasSuffix(shell, " &"):
			r.start(strings.TrimSuffix(shell, " &"), &out)
		case questions != nil:
			for _, q := range questions {
				fmt.Fprintf(&out, "rental=> %s\n%s\n", q, r.run(shell+" -X", q))
			}
		default:
			out.WriteString(r.run(shell, ""))
		}
		questions = nil
	}
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			flush()
			shell = command
			fmt.Fprintln(&out, line)
		} else if q, ok := strings.CutPrefix(line, "rental=> "); ok {
			questions = append(questions, q)
		}
	}
	flush()
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// command is one of the shell.
func (r *reader) command(line string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), "bash", "-c", strings.ReplaceAll(line, "6432", r.port))
	cmd.Dir, cmd.Env = r.folder, r.environment
	return cmd
}

// run returns what a command prints, both streams as they come.
func (r *reader) run(line, input string) string {
	cmd := r.command("{ " + line + "; } 2>&1")
	cmd.Stdin = strings.NewReader(input)
	printed, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && bytes.Contains(printed, []byte("ERROR: "))) {
		r.t.Fatalf("%s: %v\n%s", line, err, printed)
	}
	if strings.Contains(line, "> policy.yaml") {
		r.rewrite(func(text string) string { return strings.Replace(text, "127.0.0.1:6432", "127.0.0.1:"+r.port, 1) })
	}
	lines := strings.Split(strings.ReplaceAll(string(printed), r.port, "6432"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// start runs a command until the test ends, and waits until it listens. Notes before that are those of check.
func (r *reader) start(line string, out *strings.Builder) {
	cmd := r.command("exec " + line)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening") {
			out.WriteString(strings.ReplaceAll(lines.Text(), r.port, "6432") + "\n")
			return
		}
	}
	r.t.Fatalf("%s: it does not listen: %v", line, lines.Err())
}

// edit replaces the lines of the policy that a block marks with -, by their keys, by those that it marks with +. It returns how many.
func (r *reader) edit(block string) (edits int) {
	r.rewrite(func(text string) string {
		for line := range strings.Lines(block) {
			added, ok := strings.CutPrefix(line, "+")
			if !ok {
				continue
			}
			key, _, _ := strings.Cut(added, ":")
			old := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(key) + `:.*\n`)
			if len(old.FindAllString(text, -1)) != 1 || !strings.Contains(block, "-"+key+":") {
				r.t.Fatalf("no line, or several, to edit: %s in\n%s", key, text)
			}
			text = old.ReplaceAllLiteralString(text, added)
			edits++
		}
		return text
	})
	return edits
}

func (r *reader) rewrite(change func(string) string) {
	file := r.folder + "/policy.yaml"
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(change(string(text))), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

var (
	anyNumber = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)
	anyRule   = regexp.MustCompile(`[-+]{3,}| +`)
	notShown  = regexp.MustCompile(` # of # groups (is|are) not shown: [a-z ]+\. SET dpproxy\.empty_groups = keep shows all\.`)
)

// shape is a text without what noise and the width of columns change; noise may hide the smallest group of a statement that shows the largest.
func shape(text string) string {
	return anyRule.ReplaceAllString(notShown.ReplaceAllString(anyNumber.ReplaceAllString(text, "#"), ""), " ")
}
