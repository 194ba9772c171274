package rewrite_test

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// stageVariants is how many answers of its stages a block is tried with.
const stageVariants = 3

// stageAnswers are answers that the stages before a block might give, whatever their noise: rows that are equal, NULL,
// or beyond all bounds. A block that has no stage before it is tried once.
func stageAnswers(p *rewrite.Plan, block int) [][][][]*rewrite.Canonical {
	if len(p.Stages) == 0 || p.Stages[0].Blocks > block {
		return [][][][]*rewrite.Canonical{nil}
	}
	var all [][][][]*rewrite.Canonical
	for variant := range stageVariants {
		var stages [][][]*rewrite.Canonical
		for _, s := range p.Stages {
			var rows [][]*rewrite.Canonical
			for i := range stageRows {
				var row []*rewrite.Canonical
				for c, oid := range s.List.Types {
					value := hostileValue(oid, i/2+variant*(c+1))
					if variant == 0 {
						value = ordinaryValue(oid, i/2)
					}
					row = append(row, value)
				}
				rows = append(rows, row)
			}
			stages = append(stages, rows)
		}
		all = append(all, stages)
	}
	return append(all, make([][][]*rewrite.Canonical, len(p.Stages))) // no rows
}

// stageRows is how many rows a stage answers, each twice.
const stageRows = 8

// hostileValue gives one of the worst values of a type; NULL among them.
func hostileValue(oid uint32, i int) *rewrite.Canonical {
	var list []rewrite.Canonical
	switch oid {
	case pgtype.BoolOID:
		list = []rewrite.Canonical{"t", "f"}
	case pgtype.Int2OID:
		list = []rewrite.Canonical{"30", "-32768", "32767", "0"}
	case pgtype.Int4OID:
		list = []rewrite.Canonical{"30", "-2147483648", "2147483647", "0"}
	case pgtype.Int8OID:
		list = []rewrite.Canonical{"1", "-9223372036854775808", "9223372036854775807", "0"}
	case pgtype.NumericOID:
		list = []rewrite.Canonical{"30.5", "NaN", "-Infinity", "1e400", "-0.00000001"}
	case pgtype.Float4OID, pgtype.Float8OID:
		list = []rewrite.Canonical{"30.5", "NaN", "Infinity", "-Infinity", "-0", "1e-30"}
	case pgtype.DateOID:
		list = []rewrite.Canonical{"2020-06-01", "infinity", "-infinity", "5874897-12-31", "4713-01-01 BC"}
	case pgtype.TimestampOID:
		list = []rewrite.Canonical{"2020-06-01 00:00:00", "infinity", "-infinity", "294276-12-31 00:00:00"}
	case pgtype.TimestamptzOID:
		list = []rewrite.Canonical{"2020-06-01 00:00:00+00", "infinity", "-infinity", "294276-12-31 00:00:00+00"}
	case pgtype.IntervalOID:
		list = []rewrite.Canonical{"+0 mons +1 days +00:00:00.000000", "+178000000 years", "-178000000 years"}
	case pgtype.UUIDOID:
		list = []rewrite.Canonical{"00000000-0000-0000-0000-000000000000"}
	default:
		list = []rewrite.Canonical{"icu", "er", "", "flu", "a\"\\{},NULL", "asthma"}
	}
	if i %= len(list) + 1; i < len(list) {
		return &list[i]
	}
	return nil
}

// ordinaryValue returns a value that is in many rows, or that many rows are above or below.
func ordinaryValue(oid uint32, i int) *rewrite.Canonical {
	var list []rewrite.Canonical
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID, pgtype.Float4OID, pgtype.Float8OID:
		list = []rewrite.Canonical{"30", "5", "1", "0"}
	case pgtype.DateOID:
		list = []rewrite.Canonical{"2020-01-01", "2020-02-10", "2020-01-03", "2021-12-05"}
	case pgtype.TimestampOID:
		list = []rewrite.Canonical{"2020-01-01 00:00:00", "2021-01-15 00:00:00"}
	case pgtype.TimestamptzOID:
		list = []rewrite.Canonical{"2020-01-01 00:00:00+00", "2021-01-15 00:00:00+00"}
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID:
		list = []rewrite.Canonical{"icu", "er", "asthma", "flu"}
	default:
		return hostileValue(oid, i)
	}
	return &list[i%len(list)]
}
