"""pandas over SQLAlchemy: tables and columns, a frame of groups, and a table's rows."""
import os

import pandas
import sqlalchemy

engine = sqlalchemy.create_engine("postgresql+psycopg2://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ))
inspector = sqlalchemy.inspect(engine)
print("catalog tables", sorted(inspector.get_table_names()))
print("catalog columns", [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns("patients")])
print("catalog keys", inspector.get_pk_constraint("visits"), inspector.get_foreign_keys("visits"))
print("catalog wards", pandas.read_sql_table("wards", engine).sort_values("ward").values.tolist())
frame = pandas.read_sql("SELECT ward, count(*) AS n, avg(age) AS age FROM patients WHERE ward IN ('A', 'B') GROUP BY ward ORDER BY ward", engine)
for n, age in zip(frame.n, frame.age):
    print("answer count", n)
    print("answer age", age)
try:
    print("rows", len(pandas.read_sql_table("patients", engine)))
except sqlalchemy.exc.ProgrammingError as e:
    print("refused", str(e.orig).splitlines()[0])
