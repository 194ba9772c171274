package rewritetest

import (
	"fmt"
	"math/rand/v2"
)

// SamplesSchema adds tables of the types that mislead: values that are equal and look different, that look equal and
// differ, or that are read differently in another session. The rows of entries have no key, and many are alike in some
// columns; many rows of slots meet one of theirs.
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
CREATE TABLE entries (patient_id bigint, ci text COLLATE ci, padded char(6), note text, f float8, r real, n numeric, iv interval, tz timestamptz, ts timestamp, d date, i int, mood mood, b boolean, place serial);
CREATE TABLE slots (slot_id int PRIMARY KEY, ci text COLLATE ci, padded char(6), note text, f float8, n numeric, iv interval, tz timestamptz, until timestamptz, ts timestamp, d date, last date, i int, j int, mood mood, b boolean);
INSERT INTO slots SELECT g, (ARRAY['a', 'A', 'b', 'B', NULL])[g % 5 + 1], (ARRAY['a', 'a ', 'b', 'A', NULL, ''])[g % 6 + 1], (ARRAY['a', 'a ', 'A', NULL, 'b', ''])[g % 6 + 1], (ARRAY[0, '-0', 'NaN', 1, 0.1, NULL])[g % 6 + 1]::float8,
  (ARRAY['0', '0.0', 'NaN', '1', '1.00', '2', NULL])[g % 7 + 1]::numeric, (ARRAY['1 mon', '30 days', '720 hours', '0', NULL])[g % 5 + 1]::interval,
  (ARRAY['2020-11-01 05:30Z', '2020-11-01 06:30Z', '2020-03-08 07:30Z', '-infinity', NULL])[g % 5 + 1]::timestamptz, (ARRAY['2020-11-01 07:30Z', '2020-11-01 06:30Z', '2021-03-08 07:30Z', 'infinity', NULL])[g % 5 + 1]::timestamptz,
  (ARRAY['2020-11-01 01:30', '2020-11-01 01:00', '2020-03-08 02:30', '2020-03-08 03:30', NULL])[g % 5 + 1]::timestamp, (ARRAY['2020-01-01', '2020-03-08', '2020-11-01', '2020-06-16', NULL])[g % 5 + 1]::date, (ARRAY['2020-01-02', '2021-03-08', '2020-11-01', '2020-06-16', NULL])[g % 5 + 1]::date,
  (ARRAY[0, 1, 2, 3, NULL, -1])[g % 6 + 1], (ARRAY[3, 1, NULL, 9, 5, 0])[g % 6 + 1], (ARRAY['bad', 'so-so', NULL])[g % 3 + 1]::mood, g % 3 = 1 FROM generate_series(1, 20) g;
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
  entries:
    privacy_unit: {name: patient, column: patient_id}
    max_rows_per_unit: 3
    columns:
      patient_id: {}
      ci:     {}
      padded: {}
      note:   {}
      f:      {bounds: [-1, 1]}
      r:      {bounds: [-1, 1]}
      n:      {bounds: [-5, 5]}
      iv:     {bounds: ["0 s", "30 days"]}
      tz:     {bounds: ["2020-01-01", "2022-01-01"]}
      ts:     {bounds: ["2020-01-01", "2022-01-01"]}
      d:      {bounds: [2020-01-01, 2021-12-31]}
      i:      {bounds: [-5, 5]}
      mood:   {}
      b:      {}
  moments: {public: true}
  slots:   {public: true}
`

// WithoutSamples is what Without is for these tables.
func WithoutSamples(unit int) string {
	return fmt.Sprintf(
		"DELETE FROM samples WHERE patient_id = %[1]d; DELETE FROM faces WHERE patient_id = %[1]d; DELETE FROM entries WHERE patient_id = %[1]d;\n", Units[unit])
}

// Samples is the SQL of their rows.
func Samples(random *rand.Rand) string {
	h := hostile{random: random}
	h.b.WriteString("TRUNCATE samples, faces, entries;\n")
	row := 0
	for _, id := range Units {
		for range h.choose(0, 1, 3, 8) {
			row++
			h.insert("samples", row, h.unit(id), h.spelling(), h.spelling(), h.pick("NULL", "'a'", "'A'", "'b'", "''"),
				h.float(), h.real(), h.pick("NULL", "'NaN'", "'Infinity'", "0", "0.0", "1.000", "1", "-7", "0.1",
					"4.99999999999999999999"), h.date(), h.stamp(), h.stamp(),
				h.moment(), h.interval(), h.pick("NULL", "'bad'", "'so-so'"), h.pick("NULL", `'\x'`, `'\x5c00'`, `'\x0f'`),
				h.pick("NULL", "0", "9007199254740993", "9007199254740992", "-9223372036854775808", "9223372036854775807"),
				h.pick("NULL", "true", "false"))
		}
	}
	for _, id := range Units[:h.choose(len(Units), len(Units)-1)] {
		h.insert("faces", id, h.spelling(), "coalesce("+h.spelling()+", 'e')", h.float(), h.moment(), h.stamp(),
			h.pick("NULL", "true", "false"))
	}
	for _, id := range Units {
		for range h.choose(0, 1, 3, 5, 9) {
			h.insert("entries", h.unit(id), h.pick("NULL", "'a'", "'A'", "'b'"), h.pick("NULL", "'a'", "'a '", "'b'", "'A'"),
				h.pick("NULL", "'a'", "'a '", "'A'"), h.pick("NULL", "'-0'", "0", "'NaN'", "1", "0.1"),
				h.pick("NULL", "'-0'", "0", "'NaN'", "1", "0.1"), h.pick("NULL", "0", "0.0", "'NaN'", "1", "1.00"),
				h.pick("NULL", "'1 mon'", "'30 days'", "'720 hours'", "'0'"), h.moment(), h.stamp(), h.date(),
				h.pick("NULL", "0", "1", "2", "-1", "7"), h.pick("NULL", "'bad'", "'so-so'"), h.pick("NULL", "true", "false"))
		}
	}
	return h.b.String()
}

// moment is one of table moments, or NULL.
func (h *hostile) moment() string {
	return h.pick("NULL", "'2020-03-08 07:30:00+00'", "'2020-11-01 05:30:00+00'", "'2020-11-01 06:30:00+00'",
		"'2020-06-15 18:30:00+00'", "'2020-04-04 15:15:00+00'", "'infinity'")
}

// spelling is one of some texts of which many are equal if case or accents do not matter.
func (h *hostile) spelling() string {
	return h.pick("NULL", "'ann'", "'ANN'", "'Ann'", "'bob'", "'BOB'", "'é'", "'É'", "U&'e\\0301'", "'e'", "''")
}
