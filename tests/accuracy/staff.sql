-- A firm of 50,000 people, as in the well-known employee sample database, about: a title each with those that follow it,
-- and a salary for each year.
CREATE TABLE department (dept_no text PRIMARY KEY);
CREATE TABLE employee (emp_no int PRIMARY KEY, birth_date date NOT NULL, first_name text NOT NULL, last_name text NOT NULL, gender text NOT NULL,
  hire_date date NOT NULL, dept_no text NOT NULL REFERENCES department);
CREATE TABLE salary (emp_no int NOT NULL REFERENCES employee, amount int NOT NULL, from_date date NOT NULL, to_date date NOT NULL, PRIMARY KEY (emp_no, from_date));
CREATE TABLE title (emp_no int NOT NULL REFERENCES employee, title text NOT NULL, from_date date NOT NULL, to_date date, PRIMARY KEY (emp_no, title, from_date));
SELECT setseed(0.5);
INSERT INTO department SELECT 'd00' || i FROM generate_series(1, 9) i;
INSERT INTO employee SELECT i, date '1952-02-01' + floor(4750 * random())::int, (ARRAY['Ann', 'Bob', 'Cid'])[1 + i % 3] || i / 200, 'Name ' || i / 6,
  CASE WHEN random() < 0.6 THEN 'M' ELSE 'F' END, date '1985-02-01' + floor(5450 * random() * random())::int,
  'd00' || 1 + floor(9 * random() * (0.4 + 0.6 * random()))::int FROM generate_series(1, 50000) i;
INSERT INTO salary SELECT emp_no, least(150000, base + 1200 * n + floor(1500 * random())::int), hire_date + 365 * n, hire_date + 365 * (n + 1)
  FROM (SELECT emp_no, hire_date, 38700 + 2500 * substr(dept_no, 4)::int + floor(45000 * random() * random())::int AS base,
      least((date '2002-08-01' - hire_date) / 365, floor(22 * random())::int) AS years FROM employee) e, LATERAL generate_series(0, years) n;
INSERT INTO title SELECT emp_no, (ARRAY['Clerk', 'Builder', 'Leader', 'Senior Clerk', 'Senior Builder'])[level + 3 * n], hire_date + n * rise,
    CASE WHEN n = 0 AND last > 0 THEN hire_date + rise WHEN random() < 0.2 THEN date '2002-08-01' - floor(400 * random())::int END
  FROM (SELECT emp_no, hire_date, level, rise, CASE WHEN level < 3 AND hire_date + rise < '2002-01-01' THEN 1 ELSE 0 END AS last
      FROM (SELECT *, 1 + (random() * random() * 2.4)::int AS level, 2200 + floor(1500 * random())::int AS rise FROM employee) a) b,
    LATERAL generate_series(0, last) n;
ANALYZE;
