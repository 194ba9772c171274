package main

import (
	"math"
	"strings"
	"testing"
)

// TestQuestionsAreRead holds the files to the numbers of questions, and every question to its columns.
func TestQuestionsAreRead(t *testing.T) {
	for world, want := range map[string]int{"pagila": 33, "chinook": 21, "employee": 18} {
		list, err := readQuestions(world)
		if err != nil || len(list) != want {
			t.Errorf("%s: %d questions, want %d: %v", world, len(list), want, err)
		}
		for _, q := range list {
			if q.keys() == len(q.columns) || q.cut != strings.Contains(q.sql, "LIMIT") || strings.Contains(q.among, "LIMIT") {
				t.Errorf("%s: %+v", world, q)
			}
		}
	}
}

// TestRowsAreThoseOfTheSeed: databases have the published sizes, and the same rows every time.
func TestRowsAreThoseOfTheSeed(t *testing.T) {
	sizes := map[string]map[string]int{
		"pagila":   {"customer": 599, "rental": 16044, "payment": 16049, "inventory": 4581, "film": 1000, "category": 16},
		"chinook":  {"customer": 59, "invoice": 412, "track": 3503, "genre": 25},
		"employee": {"employee": 10000, "department": 9},
	}
	for _, w := range worlds {
		first, second := w.rows(), w.rows()
		for columns, text := range first.texts {
			if text.String() != second.texts[columns].String() {
				t.Errorf("%s: %s is made otherwise the second time", w.name, columns)
			}
			name, _, _ := strings.Cut(columns, " ")
			if want := sizes[w.name][name]; want > 0 && strings.Count(text.String(), "\n") != want {
				t.Errorf("%s: %s has %d rows, want %d", w.name, name, strings.Count(text.String(), "\n"), want)
			}
		}
	}
}

// TestJudge: what an answer is worth.
func TestJudge(t *testing.T) {
	nan := math.NaN()
	table := func(columns string, rows map[string][]float64) answer {
		a := answer{columns: strings.Fields(columns), rows: rows, times: make([]bool, 8)}
		for _, id := range []string{"", "a", "b", "c"} {
			if rows[id] != nil {
				a.order = append(a.order, id)
			}
		}
		return a
	}
	truth := table("k n", map[string][]float64{"a": {nan, 100}, "b": {nan, 50}})
	backwards := truth
	backwards.order = []string{"b", "a"}
	noticed := func(a answer, margin float64, hint string) answer {
		a.margins, a.hint = map[string]float64{"n": margin}, hint
		return a
	}
	said := func(a answer, hint string) answer {
		a.hint = hint
		return a
	}
	for name, c := range map[string]struct {
		got                              answer
		invented, missing, held, printed int
		silent                           bool
	}{
		"right": {
			noticed(table("k n", map[string][]float64{"a": {nan, 103}, "b": {nan, 49}}), 4, ""), 0, 0, 2, 2,
			false,
		},
		"invented": {
			noticed(table("k n", map[string][]float64{"a": {nan, 103}, "b": {nan, 49}, "c": {nan, 9}}), 4, ""),
			1, 0, 2, 3, false,
		},
		"missing": {noticed(table("k n", map[string][]float64{"a": {nan, 103}}), 4, ""), 0, 1, 1, 1, true},
		"missing, said": {
			noticed(table("k n", map[string][]float64{"a": {nan, 103}}), 4, "1 of 2 groups is not shown"), 0,
			1, 1, 1, false,
		},
		"far off": {
			noticed(table("k n", map[string][]float64{"a": {nan, 140}, "b": {nan, 49}}), 4, ""), 0, 0, 1, 2,
			true,
		},
		"no margin": {table("k n", map[string][]float64{"a": {nan, 140}, "b": {nan, 49}}), 0, 0, 0, 0, true},
		"none, said": {said(table("k n", map[string][]float64{"a": {nan, 140}, "b": {nan, 49}}),
			"Rows. No margin is known of m, n."), 0, 0, 0, 0, false},
		"of another": {said(table("k n", map[string][]float64{"a": {nan, 140}, "b": {nan, 49}}),
			"No margin is known of m. n."), 0, 0, 0, 0, true},
		"of some groups": {said(table("k n", map[string][]float64{"a": {nan, 140}, "b": {nan, 49}}),
			"No margin is known of n in 1 of 2 groups."), 0, 0, 0, 0, true},
		"none, far off": {noticed(table("k n", map[string][]float64{"a": {nan, 140}, "b": {nan, 49}}), 4,
			"No margin is known of n."), 0, 0, 1, 2, true},
		"ends": {
			table("k n n_low n_high", map[string][]float64{"a": {nan, 103, 90, 110}, "b": {nan, 53, 51, 60}}),
			0, 0, 1, 2, false,
		},
		"an open end": {table("k n n_low n_high", map[string][]float64{
			"a": {nan, 103, 90, nan},
			"b": {nan, 53, nan, nan},
		}), 0, 0, 1, 1, false},
		"certain, wrong": {noticed(backwards, 4, "the first 2 places are certain"), 0, 0, 2, 2, true},
	} {
		q := question{columns: []string{key, "count"}}
		v := q.judge(expected{truth, truth}, c.got)
		h := v.intervals["count"]
		if v.invented != c.invented || v.missing != c.missing || h.held != c.held || h.printed != c.printed ||
			(v.silent != "") != c.silent {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
