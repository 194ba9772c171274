package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/server"
)

type certifyCommand struct {
	policyFlag
	databaseFlag
	JSON    bool   `name:"json" help:"As a JSON array."`
	Measure string `placeholder:"FILE" type:"path" help:"Queries for main, as EXPLAIN (FORMAT JSON) of a statement gives them, in place of a statement."`
	SQL     string `arg:"" optional:"" name:"statement" help:"One SELECT of a client."`
}

// Help is shown by --help.
func (certifyCommand) Help() string {
	return "Prints every query that main would be asked, and what follows from its text alone: how far one unit can move each of its numbers, and that no row " +
		"makes it fail. It needs the shadow and main's catalogs, and reads no row. Something that is not certified: exit 1."
}

func (c *certifyCommand) Run(ctx context.Context, s *streams) error {
	if (c.SQL == "") == (c.Measure == "") {
		return errors.New("give a statement, or --measure FILE")
	}
	p, err := c.one(c.policyFlag)
	if err != nil {
		return err
	}
	var readings []gate.Reading
	if c.Measure == "" {
		readings, err = server.Certify(ctx, p, newLog(s.err), c.SQL)
	} else {
		var queries []gate.Query
		if queries, err = readQueries(c.Measure); err == nil {
			readings, err = server.CertifyQueries(ctx, p, newLog(s.err), queries)
		}
	}
	if err != nil {
		return explained(err)
	}
	if c.JSON {
		out := json.NewEncoder(s.out)
		out.SetIndent("", "  ")
		err = out.Encode(append([]gate.Reading{}, readings...))
	} else {
		writeReadings(s, readings)
	}
	for _, r := range readings {
		if !r.Certified {
			return errors.Join(err, errors.New("not everything is certified"))
		}
	}
	return err
}

// readQueries reads the queries of a file: EXPLAIN's whole answer, a list of queries, or one.
func readQueries(file string) ([]gate.Query, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var answer []struct {
		Blocks []struct{ Main []gate.Query }
	}
	var list []gate.Query
	var one gate.Query
	switch {
	case json.Unmarshal(content, &answer) == nil && len(answer) > 0 && answer[0].Blocks != nil:
		for _, b := range answer[0].Blocks {
			list = append(list, b.Main...)
		}
		return list, nil
	case json.Unmarshal(content, &list) == nil:
		return list, nil
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&one); err != nil {
		return nil,
			fmt.Errorf("%s: neither an answer of EXPLAIN (FORMAT JSON) nor queries with sql, parameters and claims: %w", file,
				err)
	}
	return []gate.Query{one}, nil
}

func writeReadings(s *streams, readings []gate.Reading) {
	if len(readings) == 0 {
		fmt.Fprintln(s.out, "no query reads private rows")
	}
	for i, r := range readings {
		fmt.Fprintf(s.out, "query %d: %s\n", i+1, r.SQL)
		if !r.Certified {
			fmt.Fprintf(s.out, "  certified: no: %s", r.Missing)
			if r.At > 0 {
				fmt.Fprintf(s.out, ", at byte %d", r.At)
			}
			fmt.Fprintln(s.out)
		} else {
			fmt.Fprintln(s.out, "  certified: yes")
			for j, o := range r.Outputs {
				fmt.Fprintf(s.out, "  output %d: %s\n", j+1, outputText(o))
			}
		}
		fmt.Fprintln(
			s.out, "  rules of docs/certify.md, behind what they rest on: byte, rule, what it is applied to → what it gives")
		for _, d := range r.Derivation {
			fmt.Fprintf(s.out, "  %s\n", d)
		}
	}
}

// outputText says what one unit does to an output.
func outputText(o certify.Output) string {
	if o.Kind == certify.Integer {
		return "integer, moves by " + o.Influence.String()
	}
	return o.Kind
}
