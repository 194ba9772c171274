# Per-person behaviour

-- Average number of visits of those who come
SELECT avg(n) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t;

-- Average number of visits of everybody
SELECT avg(coalesce(v.n, 0)) FROM patients p LEFT JOIN (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) v ON v.patient_id = p.id;

-- Patients by number of visits
SELECT n, count(*) FROM (SELECT p.id, count(v.visit_id) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.id GROUP BY p.id) t GROUP BY n ORDER BY n;

-- Patients with three or more visits to the emergency ward
SELECT count(*) FROM (SELECT patient_id FROM visits WHERE ward = 'er' GROUP BY patient_id HAVING count(*) >= 3) t;

-- Average yearly cost of a patient by diagnosis
SELECT p.diagnosis, avg(t.cost) FROM patients p JOIN (SELECT patient_id, sum(cost) AS cost FROM visits WHERE visited >= '2024-01-01' GROUP BY patient_id) t ON t.patient_id = p.id GROUP BY p.diagnosis ORDER BY 2 DESC;

-- Days between two visits
SELECT avg(visited - before) AS days FROM (SELECT visited, lag(visited) OVER (PARTITION BY patient_id ORDER BY visited, visit_id) AS before FROM visits) t;

-- Readmissions within 30 days
SELECT count(*) FROM (SELECT started - lag(started) OVER (PARTITION BY patient_id ORDER BY started) AS gap FROM visits) t WHERE gap < interval '30 days';

-- Patients who saw more than one doctor
SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING count(DISTINCT doctor_id) > 1) t;

-- How many different drugs does a patient take?
SELECT drugs, count(*) AS patients FROM (SELECT patient_id, count(DISTINCT drug_id) AS drugs FROM prescriptions GROUP BY patient_id) t GROUP BY drugs ORDER BY drugs;

-- Ward of the first visit
SELECT ward, count(*) FROM (SELECT DISTINCT ON (patient_id) patient_id, ward FROM visits ORDER BY patient_id, started) f GROUP BY ward ORDER BY ward;

-- Urgency of the latest visit
SELECT v.urgency, count(*) FROM visits v
WHERE v.started = (SELECT max(x.started) FROM visits x WHERE x.patient_id = v.patient_id)
GROUP BY v.urgency ORDER BY v.urgency;

-- Patients with both flu and a follow-up
SELECT count(*) FROM patients p WHERE p.diagnosis = 'flu' AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.follow_up);

-- Patients on an antibiotic and a steroid at once
SELECT count(DISTINCT a.patient_id)
FROM prescriptions a JOIN prescriptions b ON b.patient_id = a.patient_id
JOIN drugs da ON da.drug_id = a.drug_id JOIN drugs db ON db.drug_id = b.drug_id
WHERE da.class = 'antibiotic' AND db.class = 'steroid' AND b.prescribed BETWEEN a.prescribed AND a.prescribed + a.days;

-- Glucose of the last test of each patient, averaged
SELECT avg(value) FROM (
  SELECT l.value, row_number() OVER (PARTITION BY v.patient_id ORDER BY l.taken DESC) AS rn
  FROM lab_results l JOIN visits v USING (visit_id) WHERE l.test = 'glucose' AND l.value IS NOT NULL) t
WHERE rn = 1;

-- Largest cost of a patient's visits, averaged over patients
SELECT avg(m) FROM (SELECT max(cost) AS m FROM visits GROUP BY patient_id) t;

-- Patients who get worse: the last glucose above the first
WITH g AS (
  SELECT v.patient_id, first_value(l.value) OVER w AS first, last_value(l.value) OVER w AS last
  FROM lab_results l JOIN visits v ON v.visit_id = l.visit_id WHERE l.test = 'glucose' AND l.value IS NOT NULL
  WINDOW w AS (PARTITION BY v.patient_id ORDER BY l.taken, l.lab_id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
SELECT count(DISTINCT patient_id) FROM g WHERE last > first;

-- Cost of a patient by number of visits
SELECT n, avg(cost) FROM (SELECT patient_id, count(*) AS n, sum(cost) AS cost FROM visits GROUP BY patient_id) t GROUP BY n HAVING count(*) > 50 ORDER BY n;

-- What does patient 12 have?
-- refused: it asks for one person's row
SELECT diagnosis FROM patients WHERE id = 12;

# Cohorts and retention

-- Patients by month of their first visit
SELECT date_trunc('month', first_visit)::date AS month, count(*) FROM (SELECT patient_id, min(visited) AS first_visit FROM visits GROUP BY patient_id) t GROUP BY 1 ORDER BY 1;

-- Who of the visitors of 2023 came again in 2024?
SELECT count(DISTINCT a.patient_id) AS in_2023, count(DISTINCT b.patient_id) AS again
FROM visits a LEFT JOIN visits b ON b.patient_id = a.patient_id AND b.visited >= '2024-01-01'
WHERE a.visited < '2024-01-01';

-- Return rate within 90 days of the first visit, by ward
WITH f AS (SELECT DISTINCT ON (patient_id) patient_id, ward, visited FROM visits ORDER BY patient_id, visited, visit_id)
SELECT f.ward, avg(CASE WHEN EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = f.patient_id AND v.visited > f.visited AND v.visited <= f.visited + 90) THEN 1.0 ELSE 0 END) AS returned
FROM f GROUP BY f.ward ORDER BY f.ward;

-- Admission cohorts and their visits per year
SELECT extract(year FROM p.admitted) AS cohort, extract(year FROM v.visited) AS year, count(*) AS visits, count(DISTINCT p.id) AS patients
FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY 1, 2 ORDER BY 1, 2;

# Never and missing

-- Patients who never came to a visit
SELECT count(*) FROM patients WHERE id NOT IN (SELECT patient_id FROM visits);

-- Drugs that were never prescribed
SELECT d.name FROM drugs d LEFT JOIN prescriptions p ON p.drug_id = d.drug_id WHERE p.drug_id IS NULL ORDER BY d.name;

-- Doctors without a visit
SELECT name FROM doctors d WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.doctor_id = d.doctor_id) ORDER BY name;

-- Wards without patients
SELECT ward FROM wards WHERE ward NOT IN (SELECT ward FROM patients) ORDER BY ward;

-- Number of prescriptions beside every drug
SELECT d.name, (SELECT count(*) FROM prescriptions p WHERE p.drug_id = d.drug_id) AS prescriptions FROM drugs d ORDER BY prescriptions DESC, d.name;

-- Visits without a laboratory result
SELECT count(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM lab_results l WHERE l.visit_id = v.visit_id);

-- The same with LEFT JOIN
SELECT count(*) FROM visits v LEFT JOIN lab_results l ON l.visit_id = v.visit_id WHERE l.lab_id IS NULL;

-- Diagnoses without a smoker under 18
SELECT d.diagnosis FROM (SELECT diagnosis, count(*) FILTER (WHERE smoker AND age < 18) AS n FROM patients GROUP BY diagnosis) d WHERE d.n = 0 ORDER BY 1;

-- Drugs of each class that were prescribed at least 380 times
SELECT class, count(*) FROM drugs WHERE drug_id IN (SELECT drug_id FROM prescriptions GROUP BY drug_id HAVING count(*) >= 380) GROUP BY class ORDER BY class;

# Comparisons with averages

-- Patients older than the average
SELECT count(*) FROM patients WHERE age > (SELECT avg(age) FROM patients);

-- Visits longer than the average of their ward
SELECT v.ward, count(*) FROM visits v JOIN (SELECT ward, avg(minutes) AS m FROM visits GROUP BY ward) a USING (ward) WHERE v.minutes > a.m GROUP BY v.ward ORDER BY v.ward;

-- Wards more expensive than the average ward
SELECT ward FROM (SELECT ward, avg(cost) AS c FROM visits GROUP BY ward) t WHERE c > (SELECT avg(cost) FROM visits) ORDER BY ward;

-- Difference of each diagnosis from the average age
SELECT diagnosis, avg(age) - avg(avg(age)) OVER () AS diff FROM patients GROUP BY diagnosis ORDER BY diagnosis;

-- Doctors with more visits than the average doctor
WITH n AS (SELECT doctor_id, count(*) AS n FROM visits GROUP BY doctor_id) SELECT d.name FROM n JOIN doctors d USING (doctor_id) WHERE n.n > (SELECT avg(n) FROM n) ORDER BY d.name;

-- Patients with more visits than the average patient
WITH n AS (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) SELECT count(*) FROM n WHERE n > (SELECT avg(n) FROM n);

-- Patients in wards with more beds than the average ward
SELECT count(*) FROM patients WHERE ward IN (SELECT ward FROM wards WHERE beds > (SELECT avg(beds) FROM wards));

# Distributions

-- Ages in tens
SELECT age / 10 * 10 AS decade, count(*) FROM patients GROUP BY 1 ORDER BY 1;

-- Incomes in ten buckets
SELECT width_bucket(income, 0, 100000, 10) AS bucket, count(*), round(avg(income)) FROM patients WHERE income IS NOT NULL GROUP BY bucket ORDER BY bucket;

-- Median and quartiles of the length of visits
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY minutes) AS q1, percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes) AS median, percentile_cont(0.75) WITHIN GROUP (ORDER BY minutes) AS q3 FROM visits;

-- Median income by diagnosis
SELECT diagnosis, percentile_disc(0.5) WITHIN GROUP (ORDER BY income) FROM patients GROUP BY diagnosis ORDER BY diagnosis;

-- Spread of laboratory values
-- near: 0.5
SELECT test, avg(value), stddev_samp(value), min(value), max(value) FROM lab_results GROUP BY test ORDER BY test;

-- Correlation of age and weight
SELECT corr(age, weight), regr_slope(weight, age), regr_intercept(weight, age) FROM patients;

-- Length of stay in days
SELECT discharged - admitted AS days, count(*) FROM patients WHERE discharged IS NOT NULL GROUP BY days ORDER BY days;

-- Weights rounded to fives
SELECT round(weight / 5) * 5 AS about, count(*) FROM patients WHERE weight IS NOT NULL GROUP BY about ORDER BY about;

-- Daily dose
SELECT ntile, min(dose_mg), max(dose_mg), count(*) FROM (SELECT dose_mg, ntile(4) OVER (ORDER BY dose_mg) FROM prescriptions) t GROUP BY ntile ORDER BY ntile;

-- Most common postcode
SELECT mode() WITHIN GROUP (ORDER BY postcode) FROM patients;

-- Distinct ages
SELECT count(DISTINCT age), sum(DISTINCT age) FROM patients;

# Pivots

-- Visits by ward and urgency
SELECT ward, count(*) FILTER (WHERE urgency = 'low') AS low, count(*) FILTER (WHERE urgency = 'medium') AS medium, count(*) FILTER (WHERE urgency = 'high') AS high FROM visits GROUP BY ward ORDER BY ward;

-- Diagnoses by age group
SELECT diagnosis, sum(CASE WHEN age < 18 THEN 1 ELSE 0 END) AS child, sum(CASE WHEN age BETWEEN 18 AND 64 THEN 1 ELSE 0 END) AS adult, sum(CASE WHEN age >= 65 THEN 1 ELSE 0 END) AS senior FROM patients GROUP BY diagnosis ORDER BY diagnosis;

-- Average result of each test by sex
SELECT p.sex, avg(l.value) FILTER (WHERE l.test = 'glucose') AS glucose, avg(l.value) FILTER (WHERE l.test = 'iron') AS iron, avg(l.value) FILTER (WHERE l.test = 'ldl') AS ldl
FROM lab_results l JOIN visits v ON v.visit_id = l.visit_id JOIN patients p ON p.id = v.patient_id GROUP BY p.sex ORDER BY p.sex;

-- Cost per year and ward
SELECT ward, sum(cost) FILTER (WHERE visited < '2024-01-01') AS y2023, sum(cost) FILTER (WHERE visited >= '2024-01-01') AS y2024 FROM visits GROUP BY ward ORDER BY ward;

# Running totals and moving averages

-- Cumulative visits by month
SELECT month, sum(n) OVER (ORDER BY month) FROM (SELECT date_trunc('month', visited) AS month, count(*) AS n FROM visits GROUP BY 1) m ORDER BY month;

-- Seven-day average of visits in January 2024
SELECT visited, avg(count(*)) OVER (ORDER BY visited ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS avg7 FROM visits WHERE visited >= '2024-01-01' AND visited < '2024-02-01' GROUP BY visited ORDER BY visited;

-- Share of the year reached by each month
SELECT m, sum(c) OVER (ORDER BY m) / sum(c) OVER () AS reached FROM (SELECT extract(month FROM visited) AS m, sum(cost) AS c FROM visits WHERE visited >= '2024-01-01' GROUP BY 1) t ORDER BY m;

# Year over year and month over month

-- Visits by month in both years
SELECT extract(month FROM visited) AS month, count(*) FILTER (WHERE extract(year FROM visited) = 2023) AS y2023, count(*) FILTER (WHERE extract(year FROM visited) = 2024) AS y2024 FROM visits GROUP BY 1 ORDER BY 1;

-- Change of admissions from year to year
SELECT year, n, n - lag(n) OVER (ORDER BY year) AS change FROM (SELECT extract(year FROM admitted)::int AS year, count(*) AS n FROM patients GROUP BY 1) y ORDER BY year;

-- Growth of prescriptions by class
SELECT class, y2024::numeric / y2023 - 1 AS growth FROM (
  SELECT d.class, count(*) FILTER (WHERE p.prescribed < '2024-01-01') AS y2023, count(*) FILTER (WHERE p.prescribed >= '2024-01-01') AS y2024
  FROM prescriptions p JOIN drugs d USING (drug_id) GROUP BY d.class) t ORDER BY class;

# Joins of several tables

-- Laboratory results by diagnosis
SELECT p.diagnosis, l.test, avg(l.value) FROM lab_results l JOIN visits v ON v.visit_id = l.visit_id JOIN patients p ON p.id = v.patient_id GROUP BY p.diagnosis, l.test ORDER BY 1, 2;

-- Patients treated outside their own ward
SELECT count(DISTINCT p.id) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE v.ward <> p.ward;

-- Doctors who treat in another ward than their own
SELECT d.name, count(*) FROM visits v JOIN doctors d ON d.doctor_id = v.doctor_id WHERE d.ward <> v.ward GROUP BY d.name ORDER BY d.name;

-- Seniority of doctors and length of visits
SELECT CASE WHEN d.hired < '2010-01-01' THEN 'senior' ELSE 'junior' END AS level, avg(v.minutes), count(*) FROM visits v JOIN doctors d USING (doctor_id) GROUP BY level ORDER BY level;

-- Years of service of the doctor at the visit
SELECT avg(extract(year FROM age(v.visited, d.hired))) FROM visits v JOIN doctors d USING (doctor_id);

-- Cost of drugs by diagnosis
SELECT p.diagnosis, sum(r.days * d.price) AS cost, avg(d.price) AS price FROM patients p JOIN prescriptions r ON r.patient_id = p.id JOIN drugs d ON d.drug_id = r.drug_id GROUP BY p.diagnosis ORDER BY cost DESC;

-- Share of a ward's visits by doctors of the ward
SELECT v.ward, avg((d.ward = v.ward)::int) FROM visits v JOIN doctors d ON d.doctor_id = v.doctor_id GROUP BY v.ward ORDER BY v.ward;

-- Visits and prescriptions per patient, side by side
SELECT p.diagnosis, avg(v.n) AS visits, avg(r.n) AS prescriptions
FROM patients p
LEFT JOIN LATERAL (SELECT count(*) AS n FROM visits x WHERE x.patient_id = p.id) v ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM prescriptions x WHERE x.patient_id = p.id) r ON true
GROUP BY p.diagnosis ORDER BY p.diagnosis;

-- Is there a doctor of each specialty in every ward?
SELECT ward, count(DISTINCT specialty) FROM doctors GROUP BY ward ORDER BY ward;

-- Visits by the size of the ward
SELECT w.place, count(*) FROM visits v JOIN (SELECT ward, rank() OVER (ORDER BY beds DESC) AS place FROM wards) w ON w.ward = v.ward GROUP BY w.place ORDER BY w.place;

-- Visits to the longest-serving doctor of each ward
SELECT d.ward, d.name, count(*) FROM visits v JOIN (SELECT DISTINCT ON (ward) ward, doctor_id, name FROM doctors ORDER BY ward, hired, doctor_id) d ON d.doctor_id = v.doctor_id GROUP BY d.ward, d.name ORDER BY d.ward;

-- Prescriptions of drugs that cost more than the median
SELECT count(*) FROM prescriptions WHERE drug_id IN (SELECT drug_id FROM drugs WHERE price > (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM drugs));

-- Days of treatment by price quartile of the drug
SELECT q.quartile, avg(r.days) FROM prescriptions r JOIN (SELECT drug_id, ntile(4) OVER (ORDER BY price) AS quartile FROM drugs) q USING (drug_id) GROUP BY q.quartile ORDER BY q.quartile;

# Text and search

-- Patients by first letter
SELECT upper(left(name, 1)) AS letter, count(*) FROM patients GROUP BY 1 ORDER BY 1;

-- Patients called Ann
SELECT count(*) FROM patients WHERE name LIKE 'Ann %';

-- Postcodes that match a pattern
SELECT count(*) FROM patients WHERE postcode SIMILAR TO '10[0-5]%';

-- Names of all patients with diabetes
-- refused: it names people
SELECT name FROM patients WHERE diagnosis = 'diabetes' ORDER BY name;

-- Postcodes with their diagnoses as a list
-- refused: values of people's rows as a list
SELECT postcode, array_agg(DISTINCT diagnosis) FROM patients GROUP BY postcode;

-- Which diagnoses are there?
SELECT DISTINCT diagnosis FROM patients ORDER BY diagnosis;

-- Diagnoses as one line
SELECT string_agg(diagnosis || ': ' || n, '; ' ORDER BY n DESC) FROM (SELECT diagnosis, count(*) AS n FROM patients GROUP BY diagnosis) t;
