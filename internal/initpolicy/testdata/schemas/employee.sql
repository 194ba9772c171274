-- Tables, columns, types and keys of bytebase's employee sample database.
-- nobody: department
CREATE TABLE employee (emp_no serial PRIMARY KEY, birth_date date NOT NULL, first_name text NOT NULL, last_name text NOT NULL,
    gender text NOT NULL CHECK (gender IN ('M', 'F')), hire_date date NOT NULL);
CREATE TABLE department (dept_no text PRIMARY KEY, dept_name text NOT NULL UNIQUE);
CREATE TABLE dept_manager (emp_no int REFERENCES employee, dept_no text REFERENCES department, from_date date, to_date date, PRIMARY KEY (emp_no, dept_no));
CREATE TABLE dept_emp (emp_no int REFERENCES employee, dept_no text REFERENCES department, from_date date, to_date date, PRIMARY KEY (emp_no, dept_no));
CREATE TABLE title (emp_no int REFERENCES employee, title text, from_date date, to_date date, PRIMARY KEY (emp_no, title, from_date));
CREATE TABLE salary (emp_no int REFERENCES employee, amount int, from_date date, to_date date, PRIMARY KEY (emp_no, from_date));
CREATE TABLE audit (id serial PRIMARY KEY, operation text NOT NULL, query text, user_name text NOT NULL, changed_at timestamptz);
