package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// reader follows pages: a folder, what was exported, and whom psql talks to.
type reader struct {
	t           *testing.T
	folder      string
	environment []string
	here, there *strings.Replacer // puts free ports in place of the pages' 6432 and 6480, and does the reverse
	analyst     *psql
	owner       *psql  // of the database itself
	dsn         string // the analyst's
	ownerDSN    string
	tolerance   float64 // of numbers: costs, or the policy itself, follow from what was released
	edits       int
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, folder: t.TempDir()}
	var here, there []string
	for _, usual := range []string{"127.0.0.1:6432", "127.0.0.1:6480"} {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer free.Close()
		here, there = append(here, usual, free.Addr().String()), append(there, free.Addr().String(), usual)
	}
	r.here, r.there = strings.NewReplacer(here...), strings.NewReplacer(there...)
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder+"/../../docs", r.folder+"/docs"); err != nil {
		t.Fatal(err)
	}
	r.environment = append(os.Environ(), "PGTZ=UTC", "TMPDIR=/tmp") // where a server of another account can write
	return r
}

// newShop is a reader with a PostgreSQL of their own, which has a password.
func newShop(t *testing.T) *reader {
	t.Helper()
	r := newReader(t)
	server, err := pgserver.Start(t.Context(), pgserver.Options{Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	r.environment = append(r.environment, "PGHOST=127.0.0.1", fmt.Sprintf("PGPORT=%d", server.Port), "PGUSER="+
		pgserver.Superuser, "PGPASSWORD=secret")
	r.ownerDSN = "dbname=rental"
	return r
}

// follow types what a block has, and returns the block with what is printed.
func (r *reader) follow(p *page, block []transcript) string {
	var written []string
	for i, x := range block {
		if x.typed == "make demo" && x.prompt == "$ " {
			return r.demo(p, block)
		}
		now := x
		switch name, value, exported := strings.Cut(strings.TrimPrefix(x.typed, "export "), "="); {
		case x.prompt != "$ ":
			r.ask(p, x, &now)
		case exported && strings.HasPrefix(x.typed, "export "):
			r.environment = append(r.environment, name+"="+value)
		case strings.HasSuffix(x.typed, " &"):
			now.output = r.start(strings.TrimSuffix(x.typed, " &"), "listening")
		case i+1 < len(block) && block[i+1].prompt != "$ ":
			r.analyst = r.connect(x.typed)
		default:
			now.output = r.run(x.typed)
		}
		if x.prompt == "$ " && strings.Contains(x.typed, " profile ") {
			p.compare(x, now, "", math.Inf(1))
			r.tolerance = math.Inf(1) // of all under the policy that it writes
		} else if x.prompt == "$ " {
			p.compare(x, now, "", 0)
		}
		written = append(written, now.String())
	}
	return strings.Join(written, "\n")
}

// ask puts a question, to dpproxy or to the database itself, and compares the answer with the page's. What EXPLAIN says
// of it is free.
func (r *reader) ask(p *page, x transcript, now *transcript) {
	if strings.HasSuffix(x.prompt, "=# ") {
		now.output = r.truth(x.typed)
		p.compare(x, *now, "", 0)
		return
	}
	foretold := ""
	if strings.HasPrefix(x.typed, "SELECT") {
		foretold = r.analyst.ask("EXPLAIN " + x.typed)
	}
	now.output = r.there.Replace(r.analyst.ask(x.typed))
	r.compare(p, x, *now, foretold)
}

// compare compares an answer with the page's. Where a price follows from released values, so does all that is left from
// then on.
func (r *reader) compare(p *page, old, now transcript, foretold string) {
	if strings.Contains(foretold, "share: at most") {
		r.tolerance = max(r.tolerance, loose)
	}
	p.compare(old, now, foretold, r.tolerance)
}

// demo starts one, and compares what it prints with a block.
func (r *reader) demo(p *page, block []transcript) string {
	printed := r.start("dpproxy demo --listen 127.0.0.1:6432 --console 127.0.0.1:6480 2> demo.err", "Or in a browser")
	progress, err := os.ReadFile(r.folder + "/demo.err")
	if err != nil {
		r.t.Fatal(err)
	}
	_, file, _ := strings.Cut(string(progress), "the policy is ")
	file, _, _ = strings.Cut(file, "\n")
	clinic, err := policy.Load(file)
	if err != nil {
		r.t.Fatal(err)
	}
	r.ownerDSN = clinic.Databases.AdminMain
	_, line, _ := strings.Cut(printed, `psql "`)
	line, _, _ = strings.Cut(line, `"`)
	r.dsn = r.here.Replace(line)
	r.analyst = r.connect(`psql "` + line + `"`)
	all := transcripts("$ make demo\n" + printed)
	var written []string
	for i, now := range all {
		if i < len(block) && block[i].typed == now.typed {
			foretold := ""
			if now.private() { // psql would only hear that the answer is known
				foretold = r.run("dpproxy explain --policy " + file + " --analyst alice '" + now.typed + "'")
			}
			r.compare(p, block[i], now, foretold)
		} else {
			p.unlike = append(p.unlike, fmt.Errorf("the demo asks %s", now.typed))
		}
		written = append(written, now.String())
	}
	return strings.Join(written, "\n")
}

// truth is what PostgreSQL says of the rows itself. It has the functions of dpproxy in pg_temp, and one that does not
// round.
func (r *reader) truth(statement string) string {
	if r.owner == nil {
		r.owner = r.connect(`psql "` + r.ownerDSN + `"`)
		for _, same := range []string{
			"interval_low(anyelement)", "interval_high(anyelement)", "round(anyelement)",
			"round(anyelement, integer)",
		} {
			r.owner.ask("CREATE FUNCTION pg_temp." + same + " RETURNS anyelement LANGUAGE sql AS 'SELECT $1';")
		}
	}
	return r.owner.ask(statement)
}

// command is one of the shell.
func (r *reader) command(line string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), "bash", "-c", r.here.Replace(line))
	cmd.Dir, cmd.Env = r.folder, r.environment
	return cmd
}

// run returns what a command prints, both streams as they come.
func (r *reader) run(line string) string {
	printed, err := r.command("{ " + line + "; } 2>&1").Output()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) &&
		bytes.Contains(printed, []byte("ERROR: "))) {
		r.t.Fatalf("%s: %v\n%s", line, err, printed)
	}
	if strings.Contains(line, "> policy.yaml") {
		r.rewrite(r.here.Replace)
	}
	return tidy(r.there.Replace(string(printed)))
}

// start runs a command until the test ends, and returns what it prints on either stream up to a line with the given
// words. What check says before that is left out.
func (r *reader) start(line, words string) string {
	reading, writing, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := r.command("exec " + line)
	cmd.Stdout, cmd.Stderr = writing, writing
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	_ = writing.Close() // the command has its own
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, reading)
		_ = cmd.Wait()
	})
	var printed []string
	lines := bufio.NewScanner(reading)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "note: ") {
			printed = append(printed, lines.Text())
		}
		if strings.Contains(lines.Text(), words) {
			return tidy(r.there.Replace(strings.Join(printed, "\n")))
		}
	}
	r.t.Fatalf("%s: it ended: %v\n%s", line, lines.Err(), strings.Join(printed, "\n"))
	return ""
}

var limits = regexp.MustCompile(`bounds: \[.*?\]`)

// edit changes the lines of the policy whose keys a block marks with + as the block says: their bounds, and leaves what
// is behind them. It returns the block with the lines that there were, marked with -, and those that there are.
func (r *reader) edit(block string) string {
	var written strings.Builder
	r.rewrite(func(text string) string {
		for line := range strings.Lines(block) {
			added, ok := strings.CutPrefix(line, "+")
			if !ok {
				continue
			}
			key, _, _ := strings.Cut(added, ":")
			olds := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(key)+`:.*\n`).FindAllString(text, -1)
			if len(olds) != 1 || !limits.MatchString(added) {
				r.t.Fatalf("no line, or several, to edit, or no bounds: %s in\n%s", key, text)
			}
			now := strings.Replace(olds[0], limits.FindString(olds[0]), limits.FindString(added), 1)
			text = strings.Replace(text, olds[0], now, 1)
			old, _, _ := strings.Cut(olds[0], " #")
			now, _, _ = strings.Cut(now, " #")
			fmt.Fprintf(&written, "-%s\n+%s\n", strings.TrimRight(old, " \n"), strings.TrimRight(now, " \n"))
			r.edits++
		}
		return text
	})
	return written.String()
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

// tidy leaves out blanks at the ends of lines, and empty lines at the ends of a text.
func tidy(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// psql is one that runs.
type psql struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

// connect starts a psql that runs until the test ends.
func (r *reader) connect(line string) *psql {
	cmd := r.command("{ " + line + " -X; } 2>&1")
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &psql{t: r.t, in: in, out: bufio.NewScanner(out)}
}

// ask returns what psql prints of a statement.
func (p *psql) ask(statement string) string {
	const end = "that was all"
	if _, err := fmt.Fprintf(p.in, "%s\n\\echo '%s'\n", statement, end); err != nil {
		p.t.Fatal(err)
	}
	var printed []string
	for p.out.Scan() && p.out.Text() != end {
		printed = append(printed, p.out.Text())
	}
	if p.out.Text() != end {
		p.t.Fatalf("%s: psql ended: %s", statement, strings.Join(printed, "\n"))
	}
	return tidy(strings.Join(printed, "\n"))
}
