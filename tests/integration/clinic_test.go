package integration_test

import "strings"

// clinic is a small deterministic data set of the demo's shape.
const clinic = `
CREATE TABLE wards (ward text PRIMARY KEY, name text NOT NULL, floor int NOT NULL, beds int NOT NULL);
INSERT INTO wards VALUES ('A', 'Cardiology', 1, 30), ('B', 'Surgery', 2, 24), ('C', 'Paediatrics', 3, 18);
CREATE TABLE patients (id bigint PRIMARY KEY, name text NOT NULL, age int, income numeric(10,2), weight float8, diagnosis text NOT NULL, ward text REFERENCES wards, admitted date, smoker boolean);
INSERT INTO patients SELECT i, 'Patient ' || i, CASE WHEN i % 50 = 0 THEN NULL ELSE (i * 7) % 100 END, (i * 7919) % 90000 + 0.25, 40 + (i * 13) % 80,
  (ARRAY['asthma','cold','flu'])[1 + i % 3], (ARRAY['A','B'])[1 + i % 2], date '2020-01-01' + (i % 700)::int, i % 4 = 0
FROM generate_series(1, 1000) i;
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients, ward text REFERENCES wards, visited date NOT NULL, cost numeric(10,2) NOT NULL, minutes int NOT NULL);
INSERT INTO visits SELECT i, 1 + i % 1000, (ARRAY['A','B'])[1 + i % 2], date '2021-01-01' + (i % 365)::int, (i * 37) % 2000 + 0.5, i % 90 FROM generate_series(1, 4000) i;
CREATE TABLE lab_results (lab_id bigint PRIMARY KEY, visit_id bigint NOT NULL REFERENCES visits, value float8);
INSERT INTO lab_results SELECT i, 1 + i % 4000, (i % 500) / 10.0 FROM generate_series(1, 6000) i;
CREATE TABLE secrets (id int PRIMARY KEY, note text); -- not in the policy
`

// policyHead opens a policy; what follows overrides nothing of it.
const policyHead = `version: 1
listen: 127.0.0.1:0
@DATABASES@
ledger: file:test.ledger
analysts:
  alice: {password: "@VERIFIER@", budget: {epsilon: 100000, delta: 1e-6}}
  bob:   {password: "@VERIFIER@", budget: {epsilon: 1, delta: 1e-6}}
tables:
  patients:
    privacy_unit: {name: patient, column: id}
    max_rows_per_unit: 1
    max_rows: 100000
    columns:
      id:        {}
      name:      {}
      age:       {bounds: [0, 120]}
      income:    {bounds: [0, 100000]}
      weight:    {bounds: [0, 250]}
      diagnosis: {values: [asthma, cold, flu, gout]}
      ward:      {values_from: wards.ward}
      admitted:  {bounds: [2015-01-01, 2026-12-31]}
      smoker:    {}
  visits:
    privacy_unit: {name: patient, column: patient_id}
    max_rows_per_unit: 10
    columns:
      visit_id:   {}
      patient_id: {}
      ward:       {values_from: wards.ward}
      visited:    {bounds: [2021-01-01, 2021-12-31]}
      cost:       {bounds: [0, 2000]}
      minutes:    {bounds: [0, 600]}
  lab_results:
    privacy_unit: {name: patient, via: {column: visit_id, references: visits.visit_id}}
    max_rows_per_unit: 20
    columns:
      visit_id: {}
      value:    {bounds: [0, 100]}
  wards: {public: true}
`

// clinicPolicy is the policy of most tests; each line of more is a top-level key.
func clinicPolicy(more ...string) string {
	return policyHead + strings.Join(append([]string{
		"accounting: {method: rdp, delta: 1e-6}",
		"defaults: {epsilon: 0.5, epsilon_max: 5}",
	}, more...), "\n") + "\n"
}

// everyKey has a policy show every declared key, so that noise does not decide which rows there are.
func everyKey(policy string) string {
	return strings.Replace(policy, "epsilon_max: 5}", "epsilon_max: 5, empty_groups: keep}", 1)
}

// purePolicy adds up ε.
func purePolicy(more ...string) string {
	return policyHead + strings.Join(
		append([]string{"accounting: {method: pure}", "defaults: {epsilon: 0.5, epsilon_max: 5}"}, more...), "\n") + "\n"
}
