ALTER TABLE wards ADD PRIMARY KEY (ward);
ALTER TABLE patients ADD PRIMARY KEY (id), ADD FOREIGN KEY (ward) REFERENCES wards;
ALTER TABLE visits ADD PRIMARY KEY (visit_id), ADD FOREIGN KEY (patient_id) REFERENCES patients, ADD FOREIGN KEY (ward) REFERENCES wards;
ALTER TABLE lab_results ADD PRIMARY KEY (lab_id), ADD FOREIGN KEY (visit_id) REFERENCES visits;
CREATE INDEX ON visits (patient_id);
CREATE INDEX ON lab_results (visit_id);
ANALYZE;
