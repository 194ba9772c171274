# Totals

-- How many patients are there?
SELECT count(*) AS patients FROM patients;

-- How many visits in 2024, and what did they cost?
SELECT count(*), sum(cost) FROM visits WHERE visited >= '2024-01-01' AND visited <= '2024-12-31';

-- Average age, weight and income
SELECT avg(age), avg(weight), avg(income) FROM patients;

-- Body mass index on average
SELECT avg(weight / (height * height)) AS bmi FROM patients WHERE weight IS NOT NULL;

-- How many patients are overweight?
SELECT count(*) FROM patients WHERE weight / power(height, 2) >= 25;

-- How many are still in the clinic?
SELECT count(*) FROM patients WHERE discharged IS NULL;

-- Average length of stay in days
SELECT avg(discharged - admitted) AS days FROM patients;

-- How many patients were ever seen in intensive care?
SELECT count(DISTINCT patient_id) FROM visits WHERE ward = 'icu';

-- How many prescriptions of antibiotics?
SELECT count(*) FROM prescriptions p JOIN drugs d ON d.drug_id = p.drug_id WHERE d.class = 'antibiotic';

-- What did all prescriptions cost?
SELECT sum(p.days * d.price) AS cost FROM prescriptions p JOIN drugs d USING (drug_id);

-- Oldest and youngest patient
SELECT max(age), min(age) FROM patients;

-- Is there a child with diabetes?
SELECT 1 AS one FROM patients WHERE age < 10 AND diagnosis = 'diabetes' LIMIT 1;

-- Urgent visits of each ward, as Django writes a subquery
SELECT w.name, (SELECT COUNT(*) AS "n" FROM visits U0 WHERE (U0.urgency = 'high' AND U0.ward = (w.ward)) GROUP BY U0.ward) AS n FROM wards w ORDER BY w.name;

-- How many visits were urgent?
SELECT count(*) FROM visits WHERE urgency = 'high';

-- How many children with asthma?
SELECT count(*) FROM patients WHERE age < 18 AND diagnosis = 'asthma';

-- Hours that doctors spent in visits
SELECT sum(minutes) / 60 AS hours, round(sum(minutes) / 60.0, 1) AS exact FROM visits;

-- How many laboratory results are abnormal?
SELECT count(*) FROM lab_results WHERE (test = 'glucose' AND value > 126) OR (test = 'ldl' AND value > 160);

# By category

-- Patients by diagnosis
SELECT diagnosis, count(*) FROM patients GROUP BY diagnosis ORDER BY count(*) DESC;

-- Patients by diagnosis and sex
SELECT diagnosis, sex, count(*) AS n, avg(age) AS age FROM patients GROUP BY 1, 2 ORDER BY 1, 2;

-- Cost of visits by ward
SELECT w.name, sum(v.cost) AS cost, count(*) AS visits
FROM visits v JOIN wards w ON w.ward = v.ward
GROUP BY w.name ORDER BY cost DESC;

-- Visits by doctor
SELECT d.name, count(*) AS visits FROM visits v JOIN doctors d ON d.doctor_id = v.doctor_id GROUP BY d.name ORDER BY visits DESC, d.name;

-- Visits by specialty of the doctor
SELECT d.specialty, count(*) AS visits, avg(v.minutes) AS minutes FROM visits v JOIN doctors d USING (doctor_id) GROUP BY d.specialty ORDER BY d.specialty;

-- Prescriptions by drug
SELECT d.name, d.class, count(*) AS n FROM prescriptions p JOIN drugs d ON d.drug_id = p.drug_id GROUP BY d.drug_id, d.name, d.class ORDER BY n DESC, d.name;

-- Average result by test
SELECT test, avg(value), count(value), count(*) - count(value) AS missing FROM lab_results GROUP BY test ORDER BY test;

-- Patients by insurance
SELECT COALESCE(insurance, 'unknown') AS insurance, count(*) FROM patients GROUP BY COALESCE(insurance, 'unknown') ORDER BY 2 DESC;

-- Smokers by diagnosis
SELECT diagnosis, count(*) FILTER (WHERE smoker) AS smokers, count(*) FILTER (WHERE NOT smoker) AS others, count(*) FILTER (WHERE smoker IS NULL) AS unknown
FROM patients GROUP BY diagnosis ORDER BY diagnosis;

-- Visits by urgency
SELECT urgency, count(*), avg(cost) FROM visits GROUP BY urgency ORDER BY urgency;

-- Patients by age group
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS grp, count(*), avg(income) FROM patients GROUP BY grp ORDER BY grp;

-- Visits by floor
SELECT w.floor, count(*) FROM visits v JOIN wards w USING (ward) GROUP BY w.floor ORDER BY w.floor;

-- Patients by postcode area
SELECT left(postcode, 3) AS area, count(*) FROM patients GROUP BY area ORDER BY area;

-- Patients by decade of birth
SELECT to_char(date_trunc('decade', born), 'YYYY"s"') AS decade, count(*) FROM patients GROUP BY date_trunc('decade', born) ORDER BY date_trunc('decade', born);

-- Occupancy of wards against their beds
SELECT w.ward, w.beds, count(p.id) AS patients, round(100.0 * count(p.id) / w.beds) AS pct
FROM wards w LEFT JOIN patients p ON p.ward = w.ward AND p.discharged IS NULL
GROUP BY w.ward, w.beds ORDER BY w.ward;

-- The same grouped by the key alone
SELECT w.ward, w.name, w.beds, count(p.id) FROM wards w LEFT JOIN patients p ON p.ward = w.ward GROUP BY w.ward ORDER BY w.ward;

-- Everything about doctors with their number of visits
SELECT d.*, count(v.visit_id) AS visits FROM doctors d LEFT JOIN visits v ON v.doctor_id = d.doctor_id GROUP BY d.doctor_id ORDER BY d.doctor_id;

-- Controlled drugs by ward of the doctor
SELECT dr.ward, count(*) FROM prescriptions p JOIN drugs g ON g.drug_id = p.drug_id JOIN doctors dr ON dr.doctor_id = p.doctor_id WHERE g.controlled GROUP BY dr.ward ORDER BY dr.ward;

-- Wards with more than 1000 visits
SELECT ward, count(*) FROM visits GROUP BY ward HAVING count(*) > 1000 ORDER BY ward;

-- Diagnoses with subtotals by sex
SELECT coalesce(diagnosis, 'all') AS diagnosis, coalesce(sex, 'all') AS sex, count(*) FROM patients GROUP BY CUBE (diagnosis, sex) ORDER BY 1, 2;

# Over time

-- Visits per month
SELECT date_trunc('month', visited) AS month, count(*) FROM visits GROUP BY 1 ORDER BY 1;

-- Admissions per year
SELECT extract(year FROM admitted) AS year, count(*) FROM patients GROUP BY 1 ORDER BY 1;

-- Admissions per year and diagnosis
SELECT date_part('year', admitted) AS year, diagnosis, count(*) FROM patients GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2;

-- Visits by hour and day of the week
SELECT extract(dow FROM started) AS dow, extract(hour FROM started) AS hour, count(*) FROM visits GROUP BY 1, 2 ORDER BY 1, 2;

-- Visits by name of the weekday
SELECT trim(to_char(visited, 'Day')) AS weekday, count(*) FROM visits GROUP BY 1 ORDER BY 2 DESC, 1;

-- Flu by week in the winter
SELECT date_trunc('week', admitted)::date AS week, count(*) FROM patients WHERE diagnosis = 'flu' AND admitted BETWEEN '2023-11-01' AND '2024-02-29' GROUP BY 1 ORDER BY 1;

-- Monthly cost per ward in 2024
SELECT to_char(visited, 'YYYY-MM') AS month, ward, sum(cost) FROM visits WHERE visited >= '2024-01-01' GROUP BY 1, 2 ORDER BY 1, 2;

-- Visits on every day of a week, also where there are none
SELECT d::date, count(v.visit_id) FROM generate_series(timestamp '2024-02-26', '2024-03-03', '1 day') AS d LEFT JOIN visits v ON v.visited = d::date GROUP BY 1 ORDER BY 1;

-- Prescriptions per month with a spine from the calendar
WITH RECURSIVE months AS (
  SELECT date '2023-01-01' AS m UNION ALL SELECT (m + interval '1 month')::date FROM months WHERE m < '2024-12-01'
), n AS (SELECT date_trunc('month', prescribed)::date AS m, count(*) AS n FROM prescriptions GROUP BY 1)
SELECT months.m, coalesce(n.n, 0) AS prescriptions FROM months LEFT JOIN n ON n.m = months.m ORDER BY months.m;

-- Wards and months, every combination
SELECT w.ward, m.month, count(v.visit_id) AS visits
FROM wards w CROSS JOIN generate_series(1, 12) AS m(month)
LEFT JOIN visits v ON v.ward = w.ward AND extract(month FROM v.visited) = m.month AND v.visited >= '2024-01-01'
GROUP BY w.ward, m.month ORDER BY w.ward, m.month;

-- Visits in the last quarter
SELECT count(*) FROM visits WHERE visited >= date_trunc('quarter', date '2024-12-31');

-- Visits in the last 30 days
SELECT count(*) FROM visits WHERE visited > current_date - 30;

-- Patients admitted this year
SELECT count(*) FROM patients WHERE extract(year FROM admitted) = extract(year FROM now());

-- Laboratory results by quarter
SELECT extract(year FROM taken)::int || '-Q' || extract(quarter FROM taken)::int AS quarter, count(*), avg(value) FROM lab_results GROUP BY 1 ORDER BY 1;

# Top n

-- The three most common diagnoses
SELECT diagnosis, count(*) AS n FROM patients GROUP BY diagnosis ORDER BY n DESC LIMIT 3;

-- The busiest doctor
SELECT d.name FROM visits v JOIN doctors d USING (doctor_id) GROUP BY d.name ORDER BY count(*) DESC LIMIT 1;

-- The most prescribed drug of each class
SELECT class, name FROM (SELECT d.class, d.name, rank() OVER (PARTITION BY d.class ORDER BY count(*) DESC) AS r FROM prescriptions p JOIN drugs d ON d.drug_id = p.drug_id GROUP BY d.class, d.name) t WHERE r = 1 ORDER BY class, name;

-- The ward with the longest visits
SELECT ward FROM visits GROUP BY ward ORDER BY avg(minutes) DESC FETCH FIRST ROW ONLY;

-- Patients of the four largest wards
SELECT w.name, count(p.id) FROM (SELECT ward, name FROM wards ORDER BY beds DESC, name LIMIT 4) w LEFT JOIN patients p ON p.ward = w.ward GROUP BY w.name ORDER BY w.name;

-- The five most expensive patients
-- refused: it names people
SELECT p.name, sum(v.cost) FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY p.id ORDER BY 2 DESC LIMIT 5;

-- The latest ten visits
-- refused: rows of people
SELECT * FROM visits ORDER BY started DESC LIMIT 10;

# Ratios and shares

-- Share of smokers
SELECT avg(smoker::int) AS share FROM patients;

-- Share of smokers by diagnosis
SELECT diagnosis, round(100.0 * count(*) FILTER (WHERE smoker) / nullif(count(smoker), 0), 1) AS pct FROM patients GROUP BY diagnosis ORDER BY pct DESC, diagnosis;

-- Share of each ward in all visits
SELECT ward, count(*) * 100.0 / sum(count(*)) OVER () AS pct FROM visits GROUP BY ward ORDER BY ward;

-- Cost per minute by specialty
SELECT d.specialty, sum(v.cost) / sum(v.minutes) AS per_minute FROM visits v JOIN doctors d ON d.doctor_id = v.doctor_id GROUP BY d.specialty ORDER BY 1;

-- Visits per patient
SELECT count(*)::float / count(DISTINCT patient_id) FROM visits;

-- Follow-up rate by urgency
SELECT urgency, avg(CASE WHEN follow_up THEN 1 ELSE 0 END) AS rate FROM visits GROUP BY urgency ORDER BY urgency;

-- Part of the patients who were ever prescribed a painkiller
SELECT (SELECT count(DISTINCT patient_id) FROM prescriptions p JOIN drugs d ON d.drug_id = p.drug_id WHERE d.class = 'painkiller')::numeric / (SELECT count(*) FROM patients);

-- Abnormal glucose by age group
SELECT CASE WHEN p.age < 40 THEN 'young' ELSE 'old' END AS grp, avg((l.value > 126)::int) AS abnormal
FROM lab_results l JOIN visits v ON v.visit_id = l.visit_id JOIN patients p ON p.id = v.patient_id
WHERE l.test = 'glucose' GROUP BY grp ORDER BY grp;
