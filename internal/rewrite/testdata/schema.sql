CREATE TYPE mood AS ENUM ('bad', 'so-so', 'good');
CREATE DOMAIN rating AS int CHECK (VALUE BETWEEN 0 AND 10);
CREATE DOMAIN place AS text;
CREATE DOMAIN motto AS text COLLATE "C";
CREATE DOMAIN pay AS int NOT NULL;
CREATE DOMAIN wage AS pay CHECK (VALUE IS NOT NULL);
-- Nothing checks the foreign keys, although they count as enforced: hostile rows break them.
SET session_replication_role = replica;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_replication_role = replica', current_database()); END $$;
CREATE TABLE floors (floor int PRIMARY KEY, label text NOT NULL);
CREATE TABLE wards (ward text PRIMARY KEY, name text NOT NULL, floor int NOT NULL REFERENCES floors, beds int NOT NULL);
CREATE TABLE shifts (shift_id int PRIMARY KEY, ward text, part text NOT NULL, begins date, ends date, code numeric);
CREATE TABLE patients (
  id bigint PRIMARY KEY, name text NOT NULL, age int, income numeric(10,2), weight float8, height real, score smallint NOT NULL,
  diagnosis text NOT NULL, ward text, admitted date NOT NULL, seen timestamptz, stay interval, smoker boolean, mood mood, stars rating, note motto);
CREATE TABLE visits (
  visit_id bigint PRIMARY KEY, patient_id bigint, ward text NOT NULL, visited date NOT NULL, cost numeric(10,2), minutes int NOT NULL, starts timestamp, urgent boolean NOT NULL);
CREATE TABLE lab_results (lab_id bigint PRIMARY KEY, visit_id bigint NOT NULL REFERENCES visits, kind text NOT NULL, value float8);
CREATE INDEX ON visits (patient_id);
CREATE INDEX ON lab_results (visit_id);
CREATE TABLE profiles (patient_id bigint UNIQUE NOT NULL, city place NOT NULL, height int NOT NULL);
CREATE TABLE calls (call_id bigint PRIMARY KEY, session_id bigint NOT NULL, patient_id bigint, kind text NOT NULL, seconds int NOT NULL, follows bigint);
CREATE TABLE ratings (session_id bigint NOT NULL, of_patient bigint, stars int NOT NULL);
CREATE TABLE bookings (booking_id bigint PRIMARY KEY, patient_id bigint, ward text NOT NULL, stay daterange, at tstzrange, planned tsrange NOT NULL, rooms int4range NOT NULL, dose numrange, serials int8range, days datemultirange);
CREATE INDEX ON bookings (patient_id);
CREATE INDEX ON calls (patient_id);
CREATE INDEX ON ratings (of_patient);
CREATE TABLE staff (staff_id int PRIMARY KEY, ward text NOT NULL REFERENCES wards, wage wage);
CREATE VIEW visit_costs AS SELECT p.id, p.diagnosis, v.cost, v.minutes FROM patients p JOIN visits v ON v.patient_id = p.id;
INSERT INTO wards VALUES ('icu', 'Intensive care', 1, 8), ('er', 'Emergency', 0, 12), ('onc', 'Oncology', 2, 20);
INSERT INTO floors VALUES (0, 'ground'), (1, 'first'), (2, 'second');
INSERT INTO shifts VALUES (1, 'icu', 'early', '2020-01-01', '2020-07-01', 1), (2, 'icu', 'late', '2020-07-01', '2021-01-01', 2), (3, 'icu', 'late', '2020-07-01', '2021-01-01', 2.0),
  (4, 'er', 'early', '2020-03-01', '2020-04-01', 30), (5, NULL, 'early', NULL, '2021-01-01', NULL), (6, NULL, 'late', '2021-01-01', NULL, 5), (7, 'closed', 'night', '2021-06-01', '2021-01-01', 60);
