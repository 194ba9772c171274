-- A clinic: patients with their visits, laboratory results and prescriptions; wards, doctors and drugs are public.
CREATE FUNCTION h(n bigint, seed bigint, modulus bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT ((hashint8extended(n, seed) & 9223372036854775807) % modulus) $$;
CREATE TYPE triage AS ENUM ('low', 'medium', 'high');
CREATE TABLE wards (ward text PRIMARY KEY, name text NOT NULL, floor int NOT NULL, beds int NOT NULL);
INSERT INTO wards VALUES ('icu', 'Intensive care', 1, 8), ('er', 'Emergency', 0, 12), ('onc', 'Oncology', 2, 20), ('ped', 'Paediatrics', 3, 16), ('der', 'Dermatology', 3, 6), ('new', 'New wing', 4, 30);
CREATE TABLE doctors (doctor_id int PRIMARY KEY, name text NOT NULL, specialty text NOT NULL, ward text NOT NULL REFERENCES wards, hired date NOT NULL);
INSERT INTO doctors SELECT i, 'Dr. ' || (ARRAY['Abel', 'Braun', 'Chen', 'Diaz', 'Egger', 'Fuchs'])[1 + i % 6] || ' ' || i, (ARRAY['surgery', 'internal', 'oncology', 'paediatrics'])[1 + i % 4], (ARRAY['icu', 'er', 'onc', 'ped', 'der'])[1 + i % 5], date '2005-01-01' + (i * 211)
FROM generate_series(1, 24) i;
CREATE TABLE drugs (drug_id int PRIMARY KEY, name text NOT NULL UNIQUE, class text NOT NULL, price numeric(8,2) NOT NULL, controlled boolean NOT NULL);
INSERT INTO drugs SELECT i, (ARRAY['Amoxil', 'Brufen', 'Cortin', 'Dolo', 'Ery', 'Fentan', 'Glipi', 'Hepar', 'Insul', 'Jardia', 'Keppra', 'Lasix', 'Metfor', 'Nexium', 'Oxy'])[i], (ARRAY['antibiotic', 'painkiller', 'steroid'])[1 + i % 3], 4 + i * 3.5, i % 5 = 0 FROM generate_series(1, 15) i;
CREATE TABLE patients (
  id bigint PRIMARY KEY, name text NOT NULL, sex text NOT NULL, born date NOT NULL, age int NOT NULL, income numeric(10,2), weight float8, height float8, diagnosis text NOT NULL,
  ward text NOT NULL REFERENCES wards, admitted date NOT NULL, discharged date, smoker boolean, insurance text, postcode text NOT NULL);
INSERT INTO patients
SELECT i, (ARRAY['Ann', 'Bob', 'Cid', 'Dora', 'Eve', 'Finn'])[1 + h(i, 1, 6)] || ' ' || i, (ARRAY['female', 'male'])[1 + h(i, 2, 2)], date '2024-12-31' - (h(i, 3, 95) * 365 + h(i, 4, 365))::int, h(i, 3, 95),
       CASE WHEN h(i, 5, 10) > 0 THEN 10000 + h(i, 6, 9000000) / 100.0 END, CASE WHEN h(i, 7, 15) > 0 THEN 40 + h(i, 8, 8000) / 100.0 END, 1.4 + h(i, 9, 60) / 100.0,
       (ARRAY['asthma', 'cold', 'diabetes', 'flu', 'fracture', 'hypertension', 'migraine', 'other'])[1 + h(i, 10, 8)], (ARRAY['icu', 'er', 'er', 'onc', 'ped', 'der'])[1 + h(i, 11, 6)],
       date '2021-01-01' + h(i, 12, 1430)::int, CASE WHEN h(i, 13, 4) > 0 THEN date '2021-01-01' + h(i, 12, 1430)::int + 1 + h(i, 14, 30)::int END,
       CASE WHEN h(i, 15, 12) > 0 THEN h(i, 16, 4) = 0 END, CASE WHEN h(i, 17, 6) > 0 THEN (ARRAY['public', 'public', 'private'])[1 + h(i, 18, 3)] END, (10000 + h(i, 19, 12) * 100)::text
FROM generate_series(1, 2000) i;
CREATE TABLE visits (
  visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients, doctor_id int NOT NULL REFERENCES doctors, ward text NOT NULL REFERENCES wards, started timestamp NOT NULL,
  visited date NOT NULL, minutes int NOT NULL, cost numeric(10,2) NOT NULL, urgency triage NOT NULL, follow_up boolean NOT NULL);
INSERT INTO visits
SELECT i, 1 + h(i, 30, 1700), 1 + h(i, 31, 22), (ARRAY['icu', 'er', 'er', 'onc', 'ped', 'der'])[1 + h(i, 32, 6)], t, t::date, 5 + h(i, 33, 120), 20 + h(i, 34, 90000) / 100.0, (ARRAY['low', 'low', 'medium', 'high'])[1 + h(i, 35, 4)]::triage, h(i, 36, 3) = 0
FROM generate_series(1, 8000) i CROSS JOIN LATERAL (SELECT timestamp '2023-01-01 00:00' + h(i, 37, 731 * 86400) * interval '1 second' AS t) x;
CREATE INDEX ON visits (patient_id);
CREATE TABLE lab_results (lab_id bigint PRIMARY KEY, visit_id bigint NOT NULL REFERENCES visits, test text NOT NULL, value float8, taken timestamp NOT NULL);
INSERT INTO lab_results
SELECT i, v, (ARRAY['glucose', 'iron', 'crp', 'ldl'])[1 + h(i, 40, 4)], CASE WHEN h(i, 41, 20) > 0 THEN h(i, 42, 30000) / 100.0 END, started + interval '20 minutes'
FROM generate_series(1, 9000) i CROSS JOIN LATERAL (SELECT 1 + h(i, 43, 8000) AS v) x JOIN visits ON visit_id = v;
CREATE INDEX ON lab_results (visit_id);
CREATE TABLE prescriptions (prescription_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients, doctor_id int NOT NULL REFERENCES doctors, drug_id int NOT NULL REFERENCES drugs, prescribed date NOT NULL, days int NOT NULL, dose_mg numeric(8,2) NOT NULL);
INSERT INTO prescriptions
SELECT i, 1 + h(i, 50, 1800), 1 + h(i, 51, 22), 1 + h(i, 52, 13), date '2023-01-01' + h(i, 53, 731)::int, 3 + h(i, 54, 60), 5 + h(i, 55, 100) * 5 FROM generate_series(1, 5000) i;
CREATE INDEX ON prescriptions (patient_id);
