package demo

import (
	"math"
	"math/rand/v2"
	"time"
)

// patient describes one made-up person.
type patient struct {
	id        int64
	name      string
	age       int
	income    float64 // a year, 0 for children
	weight    float64 // kg; NaN: not measured
	diagnosis int
	ward      int
	admitted  time.Time
	smoker    int // 1 yes, 0 no, -1 not asked
}

var (
	firstNames = []string{
		"Ada", "Amir", "Anna", "Ben", "Carla", "Chen", "Clara", "David", "Elif", "Emma", "Erik",
		"Fatima", "Felix", "Grace", "Hana", "Hugo", "Ines", "Ivan", "Jonas", "Julia", "Kofi", "Lara", "Leon", "Lina", "Lucia",
		"Marco", "Maria", "Mei", "Mila", "Nina", "Noah", "Nora", "Olga", "Omar", "Paul", "Pia", "Ravi", "Rosa", "Sara",
		"Sofia", "Tariq", "Theo", "Tom", "Uma", "Vera", "Yuki", "Yusuf", "Zoe",
	}
	lastNames = []string{
		"Ahmed", "Andersen", "Bauer", "Bianchi", "Brown", "Costa", "Diaz", "Dubois", "Eriksson",
		"Fischer", "Garcia", "Haas", "Hansen", "Ivanov", "Jansen", "Kaya", "Kim", "Klein", "Kowalski", "Kumar", "Larsen",
		"Lehmann", "Lopez", "Maier", "Martin", "Mensah", "Meyer", "Moreau", "Nguyen", "Novak", "Okafor", "Olsen", "Park",
		"Patel", "Petrov", "Popescu", "Rossi", "Ruiz", "Santos", "Sato", "Schmidt", "Schulz", "Silva", "Singh", "Smith",
		"Suzuki", "Tanaka", "Tran", "Vogel", "Wagner", "Weber", "Wolf", "Yilmaz", "Young", "Zhang", "Zimmer",
	}
)

// wards: key, name, floor, beds, the median cost of a visit.
var wards = []struct {
	key, name   string
	floor, beds int
	cost        float64
}{
	{"cardiology", "Cardiology", 3, 48, 640},
	{"emergency", "Emergency", 0, 30, 410},
	{"general", "General Medicine", 1, 120, 180},
	{"maternity", "Maternity", 2, 36, 720},
	{"neurology", "Neurology", 4, 40, 560},
	{"oncology", "Oncology", 5, 52, 1450},
	{"orthopaedics", "Orthopaedics", 2, 60, 820},
	{"paediatrics", "Paediatrics", 1, 44, 230},
	{"respiratory", "Respiratory Medicine", 3, 38, 310},
	{"surgery", "Surgery", 4, 70, 1980},
}

// diagnoses, in the policy's spelling, with weights in youth, middle age and old age, and the usual ward.
var diagnoses = []struct {
	name    string
	weights [3]float64
	ward    int
}{
	{"asthma", [3]float64{14, 6, 4}, 8},
	{"cold", [3]float64{26, 14, 8}, 2},
	{"diabetes", [3]float64{2, 9, 16}, 2},
	{"flu", [3]float64{18, 12, 10}, 2},
	{"fracture", [3]float64{14, 9, 13}, 6},
	{"hypertension", [3]float64{1, 15, 26}, 0},
	{"migraine", [3]float64{6, 12, 4}, 4},
	{"other", [3]float64{19, 23, 19}, 1},
}

// cohorts are the weights of ten-year age groups among a clinic's patients.
var cohorts = []float64{9, 6, 9, 12, 12, 14, 15, 13, 8, 2}

// firstDay and days span the clinic's records.
var firstDay = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)

const days = 4198 // to 2026-06-30

// pick draws an index with the given weights.
func pick(r *rand.Rand, weights []float64) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	x := r.Float64() * total
	for i, w := range weights {
		if x -= w; x < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// newPatient draws one person: age first, everything else depending on it.
func newPatient(r *rand.Rand, id int64) patient {
	p := patient{id: id, name: firstNames[r.IntN(len(firstNames))] + " " + lastNames[r.IntN(len(lastNames))]}
	p.age = 10*pick(r, cohorts) + r.IntN(10)
	stage := min(p.age/30, 2)
	weights := make([]float64, len(diagnoses))
	for i, d := range diagnoses {
		weights[i] = d.weights[stage]
	}
	p.diagnosis = pick(r, weights)
	p.ward = diagnoses[p.diagnosis].ward
	switch {
	case p.age < 16:
		p.ward = 7
	case r.Float64() < 0.15:
		p.ward = r.IntN(len(wards))
	}
	if p.age >= 18 {
		// Log-normal; pensions are lower and closer together.
		median, spread := 34000.0, 0.55
		if p.age >= 66 {
			median, spread = 22000, 0.4
		}
		p.income = math.Min(median*math.Exp(spread*r.NormFloat64()), 480000)
	}
	p.weight = math.NaN()
	if r.Float64() > 0.02 {
		p.weight = weightAt(r, p.age)
	}
	// More admissions in winter, and a practice that grows.
	for {
		day := int(days * math.Sqrt(r.Float64()))
		p.admitted = firstDay.AddDate(0, 0, day)
		if r.Float64() < 0.75+0.25*math.Cos(2*math.Pi*float64(p.admitted.YearDay())/365) {
			break
		}
	}
	p.smoker = -1
	if r.Float64() > 0.05 {
		p.smoker = 0
		if p.age >= 16 && r.Float64() < []float64{0.22, 0.26, 0.12}[stage] {
			p.smoker = 1
		}
	}
	return p
}

func weightAt(r *rand.Rand, age int) float64 {
	mean, sd := 78.0, 15.0
	if age < 18 {
		mean, sd = 4+3.4*float64(age), 0.8+0.5*float64(age)
	}
	return math.Round(10*math.Max(2.2, math.Min(mean+sd*r.NormFloat64(), 240))) / 10
}

// visitCount is how often a patient came: most once or a few times, the chronically ill much more often, and a few more
// often than the policy's max_rows_per_unit.
func visitCount(r *rand.Rand, p patient) int {
	mean := 3.2
	if d := diagnoses[p.diagnosis].name; d == "diabetes" || d == "hypertension" || d == "asthma" {
		mean = 7.5
	}
	// A gamma-mixed Poisson: 1 + geometric with one mean for each patient.
	mean *= r.ExpFloat64()
	return min(1+int(r.ExpFloat64()*(0.4+mean)), 80)
}
