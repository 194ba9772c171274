package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/clientencoding"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Limits on placeholders such as myapp.user, which PostgreSQL lets anyone set and which mean nothing here.
const (
	maxPlaceholders = 64
	// of all names and values; there may be some copies, of savepoints and of what RESET goes back to
	maxPlaceholderBytes = 16 << 10
	maxTextBytes        = 1024 // of a setting that any text is good for
	// maxApplicationName is PostgreSQL's NAMEDATALEN - 1, in bytes.
	maxApplicationName = 63
)

// checked validates a value and returns its canonical form, with the lower-case name under which it is kept.
func (s *Session) checked(ctx context.Context, st *state, name, value string) (key, canonical string, err error) {
	if !utf8.ValidString(name) || !utf8.ValidString(value) {
		return "", "", pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8"`)
	}
	key = strings.ToLower(name)
	p := parameters[key]
	if p == nil {
		if e := checkPlaceholder(st, key, name, value); e != nil {
			return "", "", e
		}
		return key, value, nil
	}
	canonical, err = s.check(ctx, st, p, name, value)
	return key, canonical, err
}

// check does what PostgreSQL's parse_and_validate_value does. Its errors name the parameter as the client wrote it;
// those of check hooks name it as PostgreSQL spells it.
func (s *Session) check(ctx context.Context, st *state, p *parameter, name, value string) (string, error) {
	switch p.kind {
	case boolean:
		v, ok := parseBool(value)
		if !ok {
			return "", pgerr.New(pgerr.InvalidParameterValue, `parameter "`+name+`" requires a Boolean value`)
		}
		return onOff(v), nil
	case integer:
		v, err := p.number(name, value)
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(v, 10), nil
	case number:
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsNaN(v) {
			return "", invalidValue(name, value)
		}
		if v < p.min || v > p.max {
			return "", pgerr.New(pgerr.InvalidParameterValue, sixDigits(v)+` is outside the valid range for parameter "`+name+
				`" (`+
				sixDigits(p.min)+" .. "+sixDigits(p.max)+")")
		}
		return sixDigits(v), nil
	case enum:
		return checkEnum(p, name, value)
	case fixed:
		return checkFixed(p, st.layers.current.Get(strings.ToLower(p.name)), value)
	case preset:
		return "", pgerr.New("55P02", `parameter "`+p.name+`" cannot be changed`)
	case special:
		return s.checkSpecial(ctx, st, p, value)
	}
	return checkText(p, value)
}

// sixDigits prints a number as C's %g does.
func sixDigits(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func checkEnum(p *parameter, name, value string) (string, error) {
	for _, v := range p.values {
		if strings.EqualFold(v, value) {
			return v, nil
		}
	}
	if b, ok := parseBool(value); ok { // on and off of an enum have Boolean synonyms
		for _, v := range p.values {
			if v == onOff(b) {
				return v, nil
			}
		}
	}
	e := invalidValue(name, value)
	e.Hint = "Available values: " + strings.Join(p.values, ", ") + "."
	return "", e
}

func checkFixed(p *parameter, current, value string) (string, error) {
	if strings.EqualFold(current, value) {
		return current, nil
	}
	if b, ok := parseBool(value); ok && onOff(b) == current {
		return current, nil
	}
	e := invalidValue(p.name, value)
	e.Hint = `dpproxy keeps it at "` + current + `".`
	return "", e
}

func checkText(p *parameter, value string) (string, error) {
	if p.name == "application_name" {
		return applicationName(value), nil
	}
	if len(value) > maxTextBytes {
		return "", invalidValue(p.name, value[:32]+"…")
	}
	return value, nil
}

// applicationName replaces what is not printable ASCII and cuts, as PostgreSQL 15 does.
func applicationName(s string) string {
	if len(s) > maxApplicationName {
		s = s[:maxApplicationName]
	}
	b := []byte(s)
	for i, c := range b {
		if c < 32 || c > 126 {
			b[i] = '?'
		}
	}
	return string(b)
}

func (s *Session) checkSpecial(ctx context.Context, st *state, p *parameter, value string) (string, error) {
	switch p.name {
	case "client_encoding":
		return checkEncoding(p, value)
	case "DateStyle":
		return checkDateStyle(st.layers.current.DateStyle(), st.layers.reset.DateStyle(), value)
	case "TimeZone":
		canonical, err := s.handler.timeZone(ctx, value)
		if err != nil {
			return "", err
		}
		return canonical, nil
	case "dpproxy.epsilon":
		info, err := s.engine.Info(ctx) // the policy may have been reloaded since the session began
		if err != nil {
			return "", err
		}
		return checkEpsilon(value, info.EpsilonMax)
	case workload:
		return s.checkWorkload(value)
	case "dpproxy.rows", "dpproxy.source":
		return s.checkSynthetic(ctx, p, value)
	}
	return checkMargin(value)
}

// maxWorkloadBytes bounds the text of dpproxy.workload.
const maxWorkloadBytes = 16 << 10

// checkWorkload accepts statements whose syntax is right.
func (s *Session) checkWorkload(value string) (string, error) {
	e := pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "`+workload+`"`)
	if len(value) > maxWorkloadBytes {
		e.Detail = fmt.Sprintf("It has %d bytes; at most %d are allowed.", len(value), maxWorkloadBytes)
		return "", e
	}
	list, err := s.engine.Parse(value)
	var wrong *pgconn.PgError
	switch {
	case errors.As(err, &wrong):
		e.Detail = wrong.Message + "."
		return "", e
	case err != nil:
		return "", err
	case len(list) > MostTogether:
		e.Detail = fmt.Sprintf("It has %d statements; at most %d are planned together.", len(list), MostTogether)
		return "", e
	}
	return value, nil
}

// checkEncoding accepts the encodings that text can be converted from and to.
func checkEncoding(p *parameter, value string) (string, error) {
	if canonical, ok := clientencoding.Name(value); ok {
		return canonical, nil
	}
	e := invalidValue(p.name, value)
	e.Hint = "dpproxy converts no text of this encoding: SET client_encoding = 'UTF8'."
	return "", e
}

// checkSynthetic accepts the twin from those alone to whom the policy shows it.
func (s *Session) checkSynthetic(ctx context.Context, p *parameter, value string) (string, error) {
	canonical, err := checkEnum(p, p.name, value)
	if err != nil || canonical != Synthetic {
		return canonical, err
	}
	info, err := s.engine.Info(ctx)
	if err == nil && info.Rows(s.startup.Analyst) != Synthetic {
		err = pgerr.New(pgerr.InsufficientPrivilege, `permission denied to set parameter "`+p.name+`" to "`+value+`"`,
			pgerr.Hint("The policy shows synthetic rows to those alone who have rows: synthetic."))
	}
	return canonical, err
}

// checkEpsilon accepts what one statement may cost. Only RESET goes back to the policy's.
func checkEpsilon(value string, most float64) (string, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(v) {
		return "", invalidValue("dpproxy.epsilon", value)
	}
	if v <= 0 || v > most {
		return "", pgerr.New(pgerr.InvalidParameterValue, value+` is outside the valid range for parameter "dpproxy.epsilon"`,
			pgerr.Hint("It must be above 0 and at most %s.", strconv.FormatFloat(most, 'g', -1, 64)))
	}
	return strconv.FormatFloat(v, 'g', -1, 64), nil
}

// checkMargin accepts a positive number, or one with a percent sign; empty turns it off.
func checkMargin(value string) (string, error) {
	value = strings.TrimSpace(value)
	number, percent := strings.CutSuffix(value, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case value == "":
		return "", nil
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v <= 0:
		e := invalidValue("dpproxy.margin", value)
		e.Hint = "Write a margin in the unit of the result, '20', or as a share of its valid range, '2%'."
		return "", e
	case percent:
		return strconv.FormatFloat(v, 'g', -1, 64) + "%", nil
	}
	return strconv.FormatFloat(v, 'g', -1, 64), nil
}

// checkPlaceholder lets through names with a dot that are not ours, as PostgreSQL does for extensions that are not
// loaded.
func checkPlaceholder(st *state, key, name, value string) *pgconn.PgError {
	if !strings.Contains(key, ".") || strings.HasPrefix(key, "dpproxy.") {
		return pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "`+name+`"`)
	}
	count, bytes := 0, len(key)+len(value)
	for k, v := range st.layers.current.values {
		if parameters[k] == nil && k != key {
			count++
			bytes += len(k) + len(v)
		}
	}
	if count >= maxPlaceholders || bytes > maxPlaceholderBytes {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many or too large custom parameters",
			pgerr.Hint("A session holds %d of at most %d bytes together; DISCARD ALL frees them.", maxPlaceholders,
				maxPlaceholderBytes))
	}
	return nil
}
