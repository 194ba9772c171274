package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/synthetic"
)

// twinBudget is what a twin is made for.
var twinBudget = policy.Budget{Epsilon: 3, Delta: budgetDelta}

// twinData is a database that a twin is made of.
type twinData struct {
	proxy, title string
	tables       []twinTable
	rows         string // of a person, and SQL for a number n of each
	people       string
	averages     []twinAverage
}

// twinTable is a table with what it hangs on, and their columns that have a domain; a unit has up to so many rows.
type twinTable struct {
	from    string
	columns []string
	rows    float64
}

type twinAverage struct{ what, sql string }

var twins = []twinData{
	{
		proxy: clinic, title: "twin of the demo at (3, 1e-6)", rows: "visits of a patient",
		tables: []twinTable{
			{"patients t", []string{"t.age", "t.income", "t.weight", "t.diagnosis", "t.ward", "t.admitted", "t.smoker"}, 1},
			{
				"visits t JOIN patients p ON p.id = t.patient_id",
				[]string{"t.ward", "t.visited", "t.cost", "t.minutes", "p.age", "p.diagnosis", "p.ward", "p.admitted"},
				70,
			},
			{"lab_results t JOIN visits p USING (visit_id)", []string{"t.value", "p.ward", "p.cost"}, 100},
		},
		people: "(SELECT count(visit_id) AS n FROM patients LEFT JOIN visits ON id = patient_id GROUP BY id) x",
		averages: []twinAverage{
			{"avg(cost) by ward", "SELECT ward, '', avg(cost)::float8 FROM visits GROUP BY 1"},
			{"avg(minutes) by ward", "SELECT ward, '', avg(minutes)::float8 FROM visits GROUP BY 1"},
		},
	},
	{
		proxy: staff, title: "twin of a firm's staff at (3, 1e-6)", rows: "salaries of an employee",
		tables: []twinTable{
			{"employee t", []string{"t.birth_date", "t.gender", "t.hire_date", "t.dept_no"}, 1},
			{
				"salary t JOIN employee p USING (emp_no)",
				[]string{"t.amount", "t.from_date", "t.to_date", "p.gender", "p.hire_date", "p.dept_no"},
				20,
			},
			{"title t JOIN employee p USING (emp_no)", []string{"t.title", "t.from_date", "t.to_date", "p.dept_no", "p.hire_date"}, 3},
		},
		people: "(SELECT count(s.emp_no) AS n FROM employee e LEFT JOIN salary s USING (emp_no) GROUP BY e.emp_no) x",
		averages: []twinAverage{
			{"avg(amount) by department", "SELECT dept_no, '', avg(amount)::float8 FROM salary JOIN employee USING (emp_no) GROUP BY 1"},
			{"avg(amount) by gender", "SELECT gender, '', avg(amount)::float8 FROM salary JOIN employee USING (emp_no) GROUP BY 1"},
		},
	},
}

// base is where the twin is.
func (d twinData) base() string { return database(d.proxy) + "_twin" }

// nearness is how far columns of tables are off.
type nearness struct {
	one, chosen furthest
	all         []float64 // pairs
}

func (n *nearness) take(x float64, t twinTable, i, j int, chosen bool) {
	if n.all = append(n.all, x); chosen {
		n.chosen.take(x, t.columns[i]+", "+t.columns[j], t.from)
	}
}

// singleBins and pairBins are how many quantiles numbers and dates are compared between.
const singleBins, pairBins = 16, 8

// twinRow makes twins, once each, and compares their marginals with the data's.
func twinRow(ctx context.Context, w *world, n int) (figures []figure, err error) {
	for _, d := range twins {
		more, err := w.twin(ctx, d, max(1, n/20))
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
	}
	return figures, nil
}

func (w *world) twin(ctx context.Context, d twinData, runs int) ([]figure, error) {
	made, err := w.makeTwin(ctx, d)
	if err != nil {
		return nil, err
	}
	var near nearness
	var flats []*flat
	db := database(d.proxy)
	for i, t := range d.tables {
		cuts := make([]cut, len(t.columns))
		for j, column := range t.columns {
			if cuts[j], err = w.cut(ctx, db, t.from, column, pairBins); err != nil {
				return nil, err
			}
		}
		truth, err := w.pairCounts(ctx, db, t.from, cuts)
		if err != nil {
			return nil, err
		}
		twin, err := w.pairCounts(ctx, d.base(), t.from, cuts)
		if err != nil {
			return nil, err
		}
		for pair, counts := range truth {
			near.take(apart(counts, twin[pair]), t, pair[0], pair[1],
				isChosen(made.Tables[i], t.columns[pair[0]], t.columns[pair[1]]))
		}
		if err := w.marginals(ctx, d, t, &near.one); err != nil {
			return nil, err
		}
		f, err := w.flatten(ctx, db, t, truth, cuts)
		if err != nil {
			return nil, err
		}
		flats = append(flats, f)
	}
	figures := []figure{
		twinFigure(d.title, "one column: the furthest off, "+near.one.name, near.one.off, 0.02),
		twinFigure(d.title, "pairs of columns that were chosen: the furthest off, "+near.chosen.name, near.chosen.off, 0.05),
		twinFigure(d.title, "all pairs of columns: the median", median(near.all), 0.12),
	}
	more, err := w.twinSums(ctx, d)
	return slices.Concat(figures, more, otherTwins(d.title, flats, runs)), err
}

func twinFigure(title, what string, x, most float64) figure {
	f := newFigure(title, what, estimate{x, 0})
	f.percent, f.most = true, most
	return f
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// makeTwin makes it in a database of its own.
func (w *world) makeTwin(ctx context.Context, d twinData) (*synthetic.Result, error) {
	if _, err := w.proxy(ctx, d.proxy); err != nil {
		return nil, err
	}
	p := *w.policies[d.proxy]
	p.Synthetic = &twinBudget
	p.Databases.Synthetic = w.postgres.DSN(d.base(), "accuracy_shadow")
	p.Databases.Synthesize = w.postgres.DSN(d.base(), pgserver.Superuser)
	if err := provision.Setup(ctx, &p, io.Discard); err != nil {
		return nil, err
	}
	l, err := admin.OpenAccount(ctx, "file:"+filepath.Join(w.postgres.Folder(), d.base()+".ledger"), policy.SyntheticAccount,
		ledger.ConfigOf(&p))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return synthetic.Run(ctx, &p, l, synthetic.Options{Budget: twinBudget},
		synthetic.Database{DSN: p.Databases.Synthesize}, slog.New(slog.DiscardHandler))
}

// isChosen reports whether one of two columns was drawn by the other.
func isChosen(made synthetic.Made, a, b string) bool {
	return slices.ContainsFunc(made.Pairs, func(p synthetic.Pair) bool {
		from, to := "t."+p.From, "t."+p.To
		if p.OfParent {
			from = "p." + p.From
		}
		return from == a && to == b || from == b && to == a
	})
}

// pairCounts are numbers of rows by the bins of two columns, for each two of a list.
type pairCounts map[[2]int]map[[2]string]float64

// apart is the total variation between counts.
func apart[K comparable](a, b map[K]float64) float64 {
	n, m, off := 0.0, 0.0, 0.0
	for _, x := range a {
		n += x
	}
	for key, x := range b {
		if m += x; a[key] == 0 {
			off += x
		}
	}
	off /= m
	for key, x := range a {
		off += math.Abs(x/n - b[key]/m)
	}
	return off / 2
}

// cut divides a column: by its values, or between as many quantiles of the data. NULL is the last bin.
type cut struct {
	sql   string    // for the bin of a row
	keys  []string  // of listed values; nil: numbers from 0 on
	edges []float64 // of numbers: where each bin begins, and the last one ends
}

func (c cut) size() int { return max(len(c.keys), len(c.edges)-1) + 1 }

func (c cut) index(key string) int {
	if key == "" {
		return c.size() - 1
	}
	if c.keys != nil {
		return slices.Index(c.keys, key)
	}
	i, _ := strconv.Atoi(key)
	return i
}

func (w *world) cut(ctx context.Context, db, from, column string, n int) (c cut, err error) {
	kind, number := "numeric", "q::float8"
	err = w.admin(ctx, db, func(conn *pgx.Conn) error {
		switch column[2:] {
		case "ward", "diagnosis", "smoker", "gender", "dept_no", "title":
			c.sql = fmt.Sprintf("coalesce(%s::text, '')", column)
			return conn.QueryRow(ctx, fmt.Sprintf("SELECT array_agg(DISTINCT %[1]s::text) FILTER (WHERE %[1]s IS NOT NULL) FROM %[2]s", column, from)).Scan(&c.keys)
		case "admitted", "visited", "birth_date", "hire_date", "from_date", "to_date":
			kind, number = "date", "(q - date '2000-01-01')::float8"
		}
		var edges string
		var low, high float64
		if err := conn.QueryRow(ctx, fmt.Sprintf(`SELECT (array_agg(DISTINCT q) FILTER (WHERE at < 1))::text, array_agg(DISTINCT %[5]s)
			FILTER (WHERE at < 1), (SELECT min(%[5]s) FROM (SELECT %[3]s AS q FROM %[4]s) x), max(%[5]s) FROM unnest((SELECT array_agg(i / %[1]d.0)
			FROM generate_series(1, %[1]d) i), (SELECT percentile_disc((SELECT array_agg(i / %[1]d.0) FROM generate_series(1, %[1]d) i))
			WITHIN GROUP (ORDER BY %[3]s::%[2]s) FROM %[4]s)) y(at, q)`, n, kind, column, from, number)).Scan(&edges, &c.edges, &low,
			&high); err != nil {
			return err
		}
		c.edges = append(append([]float64{low}, c.edges...), high)
		c.sql = fmt.Sprintf("coalesce(width_bucket(%s::%s, '%s'::%s[])::text, '')", column, kind, edges, kind)
		return nil
	})
	return c, err
}

// counted reads counts by two keys.
func (w *world) counted(ctx context.Context, db, a, b, from string) (map[[2]string]float64, error) {
	return w.numbers(ctx, db, fmt.Sprintf("SELECT %s, %s, count(*)::float8 FROM %s GROUP BY 1, 2", a, b, from))
}

// numbers reads a number for each two keys.
func (w *world) numbers(ctx context.Context, db, sql string) (map[[2]string]float64, error) {
	out := map[[2]string]float64{}
	err := w.admin(ctx, db, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sql)
		if err != nil {
			return err
		}
		var key [2]string
		var n float64
		_, err = pgx.ForEachRow(rows, []any{&key[0], &key[1], &n}, func() error {
			out[key] = n
			return nil
		})
		return err
	})
	return out, err
}

func (w *world) pairCounts(ctx context.Context, db, from string, cuts []cut) (pairCounts, error) {
	out := pairCounts{}
	for j := range cuts {
		for i := range j {
			var err error
			if out[[2]int{i, j}], err = w.counted(ctx, db, cuts[i].sql, cuts[j].sql, from); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// furthest is what is furthest off of several.
type furthest struct {
	off  float64
	name string
}

func (f *furthest) take(off float64, columns, from string) {
	if off > f.off {
		table, _, _ := strings.Cut(from, " ")
		*f = furthest{off, strings.ReplaceAll(strings.ReplaceAll(columns, "t.", table+"."), "p.", "its parent's ")}
	}
}

// marginals looks how far single columns of the twin are off.
func (w *world) marginals(ctx context.Context, d twinData, t twinTable, worst *furthest) error {
	for _, column := range t.columns {
		bins, err := w.cut(ctx, database(d.proxy), t.from, column, singleBins)
		if err != nil {
			return err
		}
		x, err := w.apart(ctx, d, bins.sql, t.from)
		if err != nil {
			return err
		}
		worst.take(x, column, t.from)
	}
	return nil
}

// apart compares counts by a key.
func (w *world) apart(ctx context.Context, d twinData, key, from string) (float64, error) {
	truth, err := w.counted(ctx, database(d.proxy), key, "''", from)
	if err != nil {
		return 0, err
	}
	made, err := w.counted(ctx, d.base(), key, "''", from)
	return apart(truth, made), err
}

// twinSums compares rows of a person, and averages by group.
func (w *world) twinSums(ctx context.Context, d twinData) ([]figure, error) {
	x, err := w.apart(ctx, d, "n::text", d.people)
	if err != nil {
		return nil, err
	}
	figures := []figure{twinFigure(d.title, d.rows, x, 0.03)}
	for _, average := range d.averages {
		var off []float64
		truth, err := w.numbers(ctx, database(d.proxy), average.sql)
		if err != nil {
			return nil, err
		}
		made, err := w.numbers(ctx, d.base(), average.sql)
		if err != nil {
			return nil, err
		}
		for group, x := range truth {
			off = append(off, math.Abs(made[group]/x-1))
		}
		figures = append(figures, twinFigure(d.title, average.what+": the median of groups", median(off), 0.05),
			twinFigure(d.title, average.what+": the furthest off", slices.Max(off), math.Inf(1)))
	}
	return figures, nil
}
