package rewritetest

import (
	"fmt"
	"math/rand/v2"
)

// SamplesSchema adds tables of the types that mislead: values that are equal and look different, that look equal and differ, or
// that are read differently in another session.
const SamplesSchema = `
CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION accents (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE DOMAIN code AS text CHECK (length(VALUE) < 400);
CREATE DOMAIN moment AS timestamptz;
CREATE DOMAIN amount AS float8;
CREATE TABLE moments (at timestamptz PRIMARY KEY, f float8 UNIQUE NOT NULL, day date NOT NULL, label text COLLATE ci NOT NULL);
INSERT INTO moments VALUES ('2020-03-08 07:30:00+00', 0, '2020-03-08', 'spring'), ('2020-11-01 05:30:00+00', 0.1, '2020-11-01', 'first'),
  ('2020-11-01 06:30:00+00', 0.30000000000000004, '2020-11-01', 'again'), ('2020-06-15 18:30:00+00', 0.3, '2020-06-16', 'India'),
  ('2020-04-04 15:15:00+00', 'NaN', '2020-04-05', 'Lord Howe'), ('infinity', 'Infinity', 'infinity', 'never');
CREATE TABLE samples (sample_id bigint PRIMARY KEY, patient_id bigint, ci text COLLATE ci, plain text COLLATE accents, code code, f amount, r real,
  n numeric, d date, ts timestamp, tz moment, tk timestamptz, iv interval, mood mood, raw bytea, big bigint, b boolean);
CREATE INDEX ON samples (patient_id);
CREATE TABLE faces (patient_id bigint PRIMARY KEY, ci text COLLATE ci, plain text COLLATE accents NOT NULL, f amount, tk timestamptz, tz moment, lefty boolean);
`

// SamplesPolicy is the policy of these tables.
const SamplesPolicy = `
  samples:
    privacy_unit: {name: patient, column: patient_id}
    max_rows_per_unit: 3
    columns:
      sample_id:  {}
      patient_id: {}
      ci:    {}
      plain: {}
      code:  {values: [a, A, b]}
      f:     {bounds: [-1, 1]}
      r:     {bounds: [-1, 1]}
      n:     {bounds: [-5, 5]}
      d:     {bounds: [2020-01-01, 2021-12-31]}
      ts:    {bounds: ["2020-01-01", "2022-01-01"]}
      tz:    {bounds: ["2020-01-01", "2022-01-01"]}
      tk:    {values_from: moments.at}
      iv:    {bounds: ["0 s", "30 days"]}
      mood:  {}
      raw:   {}
      big:   {}
      b:     {}
  faces:
    privacy_unit: {name: patient, column: patient_id}
    max_rows_per_unit: 1
    columns:
      patient_id: {}
      ci:    {}
      plain: {}
      f:     {bounds: [0, 1]}
      tk:    {values_from: moments.at}
      tz:    {bounds: ["2020-01-01", "2022-01-01"]}
      lefty: {}
  moments: {public: true}
`

// WithoutSamples is what Without is for these tables.
func WithoutSamples(unit int) string {
	return fmt.Sprintf("DELETE FROM samples WHERE patient_id = %[1]d; DELETE FROM faces WHERE patient_id = %[1]d;\n", Units[unit])
}

// Samples is the SQL of their rows.
func Samples(random *rand.Rand) string {
	h := hostile{random: random}
	h.b.WriteString("TRUNCATE samples, faces;\n")
	row := 0
	for _, id := range Units {
		for range h.choose(0, 1, 3, 8) {
			row++
			h.insert("samples", row, h.unit(id), h.spelling(), h.spelling(), h.pick("NULL", "'a'", "'A'", "'b'", "''"),
				h.float(), h.real(), h.pick("NULL", "'NaN'", "'Infinity'", "0", "0.0", "1.000", "1", "-7", "0.1", "4.99999999999999999999"), h.date(), h.stamp(), h.stamp(),
				h.moment(), h.interval(), h.pick("NULL", "'bad'", "'so-so'"), h.pick("NULL", `'\x'`, `'\x5c00'`, `'\x0f'`), h.pick("NULL", "0", "9007199254740993", "9007199254740992", "-9223372036854775808", "9223372036854775807"),
				h.pick("NULL", "true", "false"))
		}
	}
	for _, id := range Units[:h.choose(len(Units), len(Units)-1)] {
		h.insert("faces", id, h.spelling(), "coalesce("+h.spelling()+", 'e')", h.float(), h.moment(), h.stamp(), h.pick("NULL", "true", "false"))
	}
	return h.b.String()
}

// moment is one of table moments, or NULL.
func (h *hostile) moment() string {
	return h.pick("NULL", "'2020-03-08 07:30:00+00'", "'2020-11-01 05:30:00+00'", "'2020-11-01 06:30:00+00'", "'2020-06-15 18:30:00+00'", "'2020-04-04 15:15:00+00'", "'infinity'")
}

// spelling is one of some texts of which many are equal if case or accents do not matter.
func (h *hostile) spelling() string {
	return h.pick("NULL", "'ann'", "'ANN'", "'Ann'", "'bob'", "'BOB'", "'é'", "'É'", "U&'e\\0301'", "'e'", "''")
}
