-- A firm's people, with the tables, columns, types and keys of the employee sample database. The rows are made by ../employee.go.
CREATE TABLE employee (emp_no serial PRIMARY KEY, birth_date date NOT NULL, first_name text NOT NULL, last_name text NOT NULL,
  gender text NOT NULL CHECK (gender IN ('M', 'F')), hire_date date NOT NULL);
CREATE TABLE department (dept_no text PRIMARY KEY, dept_name text NOT NULL UNIQUE);
CREATE TABLE dept_manager (emp_no int NOT NULL REFERENCES employee ON DELETE CASCADE, dept_no text NOT NULL REFERENCES department ON DELETE CASCADE,
  from_date date NOT NULL, to_date date NOT NULL, PRIMARY KEY (emp_no, dept_no));
CREATE TABLE dept_emp (emp_no int NOT NULL REFERENCES employee ON DELETE CASCADE, dept_no text NOT NULL REFERENCES department ON DELETE CASCADE,
  from_date date NOT NULL, to_date date NOT NULL, PRIMARY KEY (emp_no, dept_no));
CREATE TABLE title (emp_no int NOT NULL REFERENCES employee ON DELETE CASCADE, title text NOT NULL, from_date date NOT NULL, to_date date,
  PRIMARY KEY (emp_no, title, from_date));
CREATE TABLE salary (emp_no int NOT NULL REFERENCES employee ON DELETE CASCADE, amount int NOT NULL, from_date date NOT NULL, to_date date NOT NULL,
  PRIMARY KEY (emp_no, from_date));
CREATE TABLE audit (id serial PRIMARY KEY, operation text NOT NULL, query text, user_name text NOT NULL, changed_at timestamptz DEFAULT now());
CREATE INDEX ON employee (hire_date);
CREATE INDEX ON salary (amount);
CREATE VIEW dept_emp_latest_date AS SELECT emp_no, max(from_date) AS from_date, max(to_date) AS to_date FROM dept_emp GROUP BY emp_no;
CREATE VIEW current_dept_emp AS SELECT l.emp_no, dept_no, l.from_date, l.to_date
  FROM dept_emp d JOIN dept_emp_latest_date l ON d.emp_no = l.emp_no AND d.from_date = l.from_date AND l.to_date = d.to_date;
