package policy

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// grammars are the formats of policy.schema.json: what else is wrong with a value of the right shape.
var grammars = map[string]func(*yaml.Node) error{
	"address":    address,
	"bounds":     decodes[boundsLiteral],
	"step":       decodes[gridLiteral],
	"margin":     decodes[margin],
	"memory":     decodes[memory],
	"period":     between(time.Second, maxDuration),
	"lifetime":   between(0, maxDuration),
	"quantum":    between(0, time.Minute),
	"wait":       between(time.Millisecond, time.Hour),
	"column-of":  decodes[ColumnOf],
	"relation":   decodes[Name],
	"identifier": identifier,
	"login":      loginName,
	"directory":  directory,
	"collector":  collector,
}

// decodes tries to read a value as a T.
func decodes[T any](n *yaml.Node) error {
	var v T
	return n.Decode(&v)
}

// address is host:port; port 0 asks for a free one.
func address(n *yaml.Node) error {
	_, port, err := net.SplitHostPort(n.Value)
	if err != nil {
		return fmt.Errorf("%s is not host:port", quoted(n.Value))
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("the port of %s is not a number from 0 to 65535", quoted(n.Value))
	}
	return nil
}

// loopback reports whether only this machine can reach an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// directory is where LDAP proves passwords.
func directory(n *yaml.Node) error {
	u, err := url.Parse(n.Value)
	if err != nil || u.Scheme != "ldaps" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return errors.New("must be ldaps://HOST or ldaps://HOST:PORT")
	}
	return nil
}

// collector is where traces go. It is not quoted: it may hold a password.
func collector(n *yaml.Node) error {
	u, err := url.Parse(n.Value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be http://HOST:PORT or https://HOST:PORT; what proves who sends goes into headers")
	}
	return nil
}

func identifier(n *yaml.Node) error {
	if n.Value == "" || len(n.Value) > maxName {
		return fmt.Errorf("a column's name is 1 to %d bytes", maxName)
	}
	return nil
}

func loginName(n *yaml.Node) error {
	if !validName(n.Value) {
		return fmt.Errorf("a name is 1 to %d bytes without control characters", maxName)
	}
	return nil
}

func (n *Name) UnmarshalYAML(node *yaml.Node) (err error) {
	*n, err = relation(node.Value)
	return err
}

func (c *ColumnOf) UnmarshalYAML(node *yaml.Node) (err error) {
	*c, err = columnOf(node.Value)
	return err
}

// margin is a part of an answer: 10%.
type margin float64

func (m *margin) UnmarshalYAML(n *yaml.Node) error {
	number, percent := strings.CutSuffix(n.Value, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !percent || err != nil || !(f > 0) || math.IsInf(f, 0) {
		return fmt.Errorf("must be a part of the answer, such as 10%%, not %s", shown(n))
	}
	*m = margin(f / 100)
	return nil
}

// memory is a number of bytes, with PostgreSQL's units, of which each is 1024 of the one before.
type memory int64

var (
	memoryForm = regexp.MustCompile(`^([0-9]{1,15}) ?(?i:(k|m|g|t)?i?b)?$`)
	memoryUnit = map[string]int64{"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
)

const (
	// A connection may have a quarter of the memory of all: the longest statement that a client may send fits into that.
	leastMemory = 16 << 20
	mostMemory  = 1 << 40
)

func (m *memory) UnmarshalYAML(n *yaml.Node) error {
	parts := memoryForm.FindStringSubmatch(n.Value)
	if parts == nil {
		return fmt.Errorf("must be an amount of memory such as 256MB or 2GB, not %s", shown(n))
	}
	amount, err := strconv.ParseInt(parts[1], 10, 64)
	unit := memoryUnit[strings.ToLower(parts[2])]
	if err != nil || amount < (leastMemory+unit-1)/unit || amount > mostMemory/unit {
		return fmt.Errorf("must be between %dMB and %dGB, not %s", leastMemory>>20, mostMemory>>30, n.Value)
	}
	*m = memory(amount * unit)
	return nil
}

// maxDuration is the longest duration: a century.
const maxDuration = 36525 * 24 * time.Hour

// duration is 30d, 1h30m, 50ms or 0.
type duration time.Duration

var (
	durationPart = regexp.MustCompile(`^(\d{1,12}(?:\.\d{1,9})?)(ms|d|h|m|s)`)
	durationUnit = map[string]time.Duration{
		"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond,
	}
)

func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	total, rest := 0.0, n.Value
	for rest != "" && n.Value != "0" {
		m := durationPart.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		f, _ := strconv.ParseFloat(m[1], 64) // the form of which is checked
		total += f * float64(durationUnit[m[2]])
		rest = rest[len(m[0]):]
	}
	if n.Value != "0" && (n.Value == "" || rest != "") || total > float64(2*maxDuration) {
		return fmt.Errorf("must be a duration such as 30d, 12h, 5m, 10s or 50ms, not %s", shown(n))
	}
	*d = duration(math.Round(total))
	return nil
}

func between(lo, hi time.Duration) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var d duration
		switch err := n.Decode(&d); {
		case err != nil:
			return err
		case time.Duration(d) < lo:
			return fmt.Errorf("must be at least %s, not %s", lo, n.Value)
		case time.Duration(d) > hi:
			return fmt.Errorf("must be at most %s, not %s", strings.Replace(hi.String(), "876600h0m0s", "36525d", 1), n.Value)
		}
		return nil
	}
}

// choice is auto, or {noise, bounding, calibration}, each of which may be auto.
type choice mechanism.Choice

func (c *choice) UnmarshalYAML(n *yaml.Node) error {
	*c = choice{}
	if n.Kind == yaml.ScalarNode {
		return nil
	}
	err := n.Decode((*mechanism.Choice)(c))
	if c.Noise == "auto" {
		c.Noise = ""
	}
	if c.Bounding == "auto" {
		c.Bounding = ""
	}
	if c.Calibration == "auto" {
		c.Calibration = ""
	}
	return err
}

// literal reads a number, a date, a time or an interval. Only a number is written without quotes.
func literal(n *yaml.Node) (bound.Value, error) {
	v, err := bound.Parse(n.Value)
	switch {
	case err != nil:
		return v, fmt.Errorf("%s %w", quoted(n.Value), err)
	case v.Kind == bound.Number && kindOf(n) == "string":
		return v, fmt.Errorf("%s is a text: write the number without quotes", quoted(n.Value))
	}
	return v, nil
}

// boundsLiteral holds a pair of bounds of one kind.
type boundsLiteral struct{ lo, hi bound.Value }

func (b *boundsLiteral) UnmarshalYAML(n *yaml.Node) (err error) {
	if len(n.Content) != 2 {
		return errors.New("must be [lower, upper]")
	}
	for i, end := range []*bound.Value{&b.lo, &b.hi} {
		if *end, err = literal(n.Content[i]); err != nil {
			return err
		}
	}
	if _, ok := bound.Comparable(b.lo.Kind, b.hi.Kind); !ok {
		return fmt.Errorf("lower %s is %s and upper %s is %s", b.lo.Text, b.lo.Kind.Noun(), b.hi.Text, b.hi.Kind.Noun())
	}
	if b.lo.At.Cmp(b.hi.At) > 0 {
		return fmt.Errorf("lower %s is above upper %s", b.lo.Text, b.hi.Text)
	}
	return nil
}

func (b *boundsLiteral) kind() bound.Kind {
	k, _ := bound.Comparable(b.lo.Kind, b.hi.Kind)
	return k
}

func (b *boundsLiteral) comparable(o *boundsLiteral) bool {
	_, ok := bound.Comparable(b.kind(), o.kind())
	return ok
}

func (b *boundsLiteral) text() *Bounds { return &Bounds{b.lo.Text, b.hi.Text} }

// gridLiteral is a step: a number, or an interval for times. It adds a grid's exact value: a number, or microseconds.
type gridLiteral struct {
	Grid
	at *big.Rat
}

func (g *gridLiteral) UnmarshalYAML(n *yaml.Node) error {
	step, err := literal(n)
	switch {
	case err != nil:
		return err
	case step.At.Sign() <= 0:
		return fmt.Errorf("must be above 0, not %s", step.Text)
	case step.Kind == bound.Number:
		*g = gridLiteral{Grid{Number: step.Text}, step.At}
	case step.Kind != bound.Interval && step.Kind != bound.Clock:
		return fmt.Errorf("must be a number or an interval, not %s", step.Kind.Noun())
	case step.At.Cmp(new(big.Rat).SetInt64(maxDuration.Microseconds())) > 0:
		return fmt.Errorf("%s is longer than a century", step.Text)
	default:
		*g = gridLiteral{Grid{Duration: time.Duration(step.At.Num().Int64()) * time.Microsecond}, step.At}
	}
	return nil
}

// fits reports whether a grid can be the step of a column whose bounds are of that kind. Dates may bound a column of
// timestamps, which has a finer grid than days; a column of dates takes whole days of it.
func (g *gridLiteral) fits(kind bound.Kind) bool { return (g.Number != "") == (kind == bound.Number) }
