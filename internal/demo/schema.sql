CREATE TABLE wards (ward text, name text NOT NULL, floor int NOT NULL, beds int NOT NULL);
CREATE TABLE patients (id bigint, name text NOT NULL, age int NOT NULL, income numeric(10,2), weight float8, diagnosis text NOT NULL, ward text NOT NULL, admitted date NOT NULL, smoker boolean);
CREATE TABLE visits (visit_id bigint, patient_id bigint NOT NULL, ward text NOT NULL, visited date NOT NULL, cost numeric(10,2) NOT NULL, minutes int NOT NULL);
CREATE TABLE lab_results (lab_id bigint, visit_id bigint NOT NULL, value float8 NOT NULL);
