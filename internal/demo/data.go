package demo

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Patients is the size of the demo's clinic; it gives some 600,000 visits and 300,000 laboratory results.
const Patients = 120_000

//go:embed schema.sql
var schemaSQL string

//go:embed keys.sql
var keysSQL string

// seed makes the clinic the same everywhere.
const seed = 20260101

// LoadOnce loads the clinic, unless the database holds it already.
func LoadOnce(ctx context.Context, dsn string, patients int) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("loading the clinic: %w", err)
	}
	defer conn.Close(ctx)
	var loaded bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('public.lab_results') IS NOT NULL").Scan(&loaded); err != nil ||
		loaded {
		return err
	}
	return Load(ctx, dsn, patients)
}

// Load creates the clinic's tables in an empty database and fills them with the given number of patients, and what
// belongs to them; 0 is Patients. The same number gives the same rows.
func Load(ctx context.Context, dsn string, patients int) error {
	if patients <= 0 {
		patients = Patients
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("loading the clinic: %w", err)
	}
	defer conn.Close(ctx)
	// One transaction: COPY into a table that it created itself writes no log under wal_level = minimal.
	for _, step := range []func() error{
		func() error { return exec(ctx, conn, "BEGIN;"+schemaSQL) },
		func() error { return copyIn(ctx, conn, "wards", writeWards) },
		func() error { return copyIn(ctx, conn, "patients", func(w *rows) { writePatients(w, patients) }) },
		func() error { return copyIn(ctx, conn, "visits", func(w *rows) { writeVisits(w, patients) }) },
		func() error { return copyIn(ctx, conn, "lab_results", func(w *rows) { writeResults(w, patients) }) },
		func() error { return exec(ctx, conn, keysSQL+"COMMIT") },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("loading the clinic: %w", err)
		}
	}
	return nil
}

func exec(ctx context.Context, conn *pgx.Conn, sql string) error {
	_, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// copyIn streams rows into a table while they are made.
func copyIn(ctx context.Context, conn *pgx.Conn, table string, write func(*rows)) error {
	reader, writer := io.Pipe()
	go func() {
		w := &rows{out: writer, buffer: make([]byte, 0, flushAt+4096)}
		write(w)
		w.flush()
		writer.CloseWithError(w.err) // nil is EOF
	}()
	_, err := conn.PgConn().CopyFrom(ctx, reader, "COPY "+table+" FROM STDIN")
	_ = reader.CloseWithError(io.ErrClosedPipe) // ends the writer if COPY failed
	return err
}

func writeWards(w *rows) {
	for _, ward := range wards {
		w.text(ward.key).text(ward.name).int(int64(ward.floor)).int(int64(ward.beds)).end()
	}
}

// people calls f for every patient, in order of id, with a generator that only this patient uses: visits can be made
// again without keeping them.
func people(n int, f func(patient, *rand.Rand)) {
	for id := int64(1); id <= int64(n); id++ {
		r := rand.New(rand.NewPCG(seed, uint64(id)))
		p := newPatient(r, id)
		f(p, r)
	}
}

func writePatients(w *rows, n int) {
	people(n, func(p patient, _ *rand.Rand) {
		w.int(p.id).text(p.name).int(int64(p.age))
		if p.age < 18 {
			w.null()
		} else {
			w.cents(p.income)
		}
		if math.IsNaN(p.weight) {
			w.null()
		} else {
			w.text(strconv.FormatFloat(p.weight, 'g', -1, 64))
		}
		w.text(diagnoses[p.diagnosis].name).text(wards[p.ward].key).text(p.admitted.Format("2006-01-02"))
		switch p.smoker {
		case -1:
			w.null()
		case 0:
			w.text("f")
		default:
			w.text("t")
		}
		w.end()
	})
}

// visit is one row of visits, with how many laboratory results it led to.
type visit struct {
	id, patient int64
	ward        int
	day         int // after admission
	cost        float64
	minutes     int
	results     int
}

// visits calls f for every visit, in order of visit_id.
func visits(n int, f func(patient, visit, *rand.Rand)) {
	id := int64(0)
	people(n, func(p patient, r *rand.Rand) {
		left := int(firstDay.AddDate(0, 0, days).Sub(p.admitted).Hours() / 24)
		for range visitCount(r, p) {
			id++
			v := visit{id: id, patient: p.id, ward: p.ward, day: r.IntN(left + 1)}
			if r.Float64() < 0.2 {
				v.ward = r.IntN(len(wards))
			}
			v.cost = math.Min(wards[v.ward].cost*math.Exp(0.8*r.NormFloat64()), 60000)
			v.minutes = int(math.Min(5+25*r.ExpFloat64()*math.Sqrt(v.cost/300), 590))
			if r.Float64() < 0.3 {
				v.results = 1 + r.IntN(3)
			}
			f(p, v, r)
		}
	})
}

func writeVisits(w *rows, n int) {
	visits(n, func(p patient, v visit, r *rand.Rand) {
		for range v.results {
			r.NormFloat64() // as writeResults draws, so that the patient's next visit is the same there
		}
		w.int(v.id).int(v.patient).text(wards[v.ward].key).text(p.admitted.AddDate(0, 0, v.day).Format("2006-01-02")).cents(
			v.cost).int(int64(v.minutes)).end()
	})
}

func writeResults(w *rows, n int) {
	id := int64(0)
	visits(n, func(_ patient, v visit, r *rand.Rand) {
		for range v.results {
			id++
			w.int(id).int(v.id).text(strconv.FormatFloat(math.Round(1000*math.Min(90*math.Exp(0.5*r.NormFloat64()), 1000))/1000,
				'g', -1, 64)).end()
		}
	})
}
