CREATE TYPE severity AS ENUM ('low', 'high');
CREATE TYPE pair AS (a int, b int);
CREATE TABLE wards (ward text PRIMARY KEY, floor int);
CREATE TABLE patients (
	id bigint PRIMARY KEY, name text, age int CHECK (age BETWEEN 0 AND 120), ward text REFERENCES wards,
	kind text CHECK (kind IN ('in', 'out''side')), admitted date CHECK (admitted >= '2015-01-01' AND admitted <= '2026-12-31'),
	weight float8 CHECK (weight > 0 OR weight IS NULL), floor int CHECK (floor > 0.5 AND floor < 9.5), how severity, odd pair);
COMMENT ON TABLE patients IS 'One row per patient.';
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint REFERENCES patients, "Cost" numeric(10,2), during tstzrange, pauses tstzmultirange);
CREATE TABLE results (visit_id bigint REFERENCES visits, value float8, reviewer bigint REFERENCES patients(id));
CREATE TABLE notes (visit_id bigint UNIQUE REFERENCES visits, note text);
CREATE SCHEMA misc;
CREATE TABLE misc."Odd.Name" (x int);
INSERT INTO patients (id, name, age) VALUES (1, 'Canary', 77);
ANALYZE;
