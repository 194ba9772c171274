-- How many people have ever worked here?
-- columns: count
SELECT count(*) AS people FROM employee;

-- How many women and men?
-- columns: key count
SELECT gender, count(*) AS people FROM employee GROUP BY gender;

-- How many were hired in each year?
-- columns: key count
SELECT extract(year FROM hire_date) AS year, count(*) AS hired FROM employee GROUP BY 1 ORDER BY 1;

-- How old were they when they were hired, on average?
-- columns: avg
SELECT avg((hire_date - birth_date) / 365.25) AS age FROM employee;

-- When were the first and the last hired?
-- columns: order order
SELECT min(hire_date) AS first, max(hire_date) AS last FROM employee;

-- What do those earn who are here, on average?
-- columns: count avg
SELECT count(*) AS people, avg(amount) AS average FROM salary WHERE to_date = '9999-01-01';

-- What do they earn, by gender?
-- columns: key avg
SELECT e.gender, avg(s.amount) AS average FROM salary s JOIN employee e USING (emp_no) WHERE s.to_date = '9999-01-01' GROUP BY e.gender;

-- What do they earn, by department?
-- columns: key avg count
SELECT d.dept_name, avg(s.amount) AS average, count(*) AS people FROM salary s JOIN dept_emp de USING (emp_no) JOIN department d USING (dept_no)
WHERE s.to_date = '9999-01-01' AND de.to_date = '9999-01-01' GROUP BY d.dept_name ORDER BY d.dept_name;

-- What is the median salary, and the 90th percentile?
-- columns: order order
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY amount) AS median, percentile_disc(0.9) WITHIN GROUP (ORDER BY amount) AS high FROM salary WHERE to_date = '9999-01-01';

-- How many people has each department?
-- columns: key count
SELECT d.dept_name, count(*) AS people FROM dept_emp de JOIN department d USING (dept_no) WHERE de.to_date = '9999-01-01' GROUP BY d.dept_name;

-- Which share of them are women?
-- columns: key share
SELECT d.dept_name, count(*) FILTER (WHERE e.gender = 'F')::float8 / count(*) AS women FROM dept_emp de JOIN employee e USING (emp_no) JOIN department d USING (dept_no)
WHERE de.to_date = '9999-01-01' GROUP BY d.dept_name;

-- Which titles are there, and how many have each?
-- columns: key count
SELECT title, count(*) AS people FROM title WHERE to_date = '9999-01-01' GROUP BY title ORDER BY people DESC;

-- Which three departments pay best?
-- columns: key avg
SELECT d.dept_name, avg(s.amount) AS average FROM salary s JOIN dept_emp de USING (emp_no) JOIN department d USING (dept_no)
WHERE s.to_date = '9999-01-01' AND de.to_date = '9999-01-01' GROUP BY d.dept_name ORDER BY average DESC LIMIT 3;

-- What has been paid in salaries that began in each year?
-- columns: key sum
SELECT extract(year FROM from_date) AS year, sum(amount) AS paid FROM salary GROUP BY 1 ORDER BY 1;

-- How many salaries has one had, on average?
-- columns: avg
SELECT avg(n) AS each FROM (SELECT emp_no, count(*) AS n FROM salary GROUP BY emp_no) t;

-- How many people have had how many salaries?
-- columns: key count
SELECT n, count(*) AS people FROM (SELECT emp_no, count(*) AS n FROM salary GROUP BY emp_no) t GROUP BY n ORDER BY n;

-- How many have worked in more than one department?
-- columns: count
SELECT count(*) AS moved FROM (SELECT emp_no FROM dept_emp GROUP BY emp_no HAVING count(*) > 1) t;

-- How many had been hired up to the end of each year?
-- columns: key count
SELECT extract(year FROM hire_date) AS year, sum(count(*)) OVER (ORDER BY extract(year FROM hire_date)) AS so_far FROM employee GROUP BY 1 ORDER BY 1;
