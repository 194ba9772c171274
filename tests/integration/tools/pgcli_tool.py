"""pgcli: what it reads of the catalogs to complete names, an answer, and a table's rows."""
import os

import psycopg
from pgcli.pgexecute import PGExecute

p = PGExecute(os.environ["PGDATABASE"], os.environ["PGUSER"], os.environ["PGPASSWORD"], os.environ["PGHOST"], os.environ["PGPORT"])
public = lambda rows: sorted(row for row in map(tuple, rows) if row[0] == "public")
print("catalog tables", public(p.tables()))
print("catalog columns", public(p.table_columns()))
print("catalog keys", sorted(tuple(k) for k in p.foreignkeys()))
print("catalog types", public(p.datatypes()), "public" in p.schemata(), os.environ["PGDATABASE"] in p.databases())
for title, rows, headers, status, sql, success, special in p.run("SELECT count(*) FROM patients WHERE age > 40"):
    print("answer count", list(rows)[0][0])
try:
    for title, rows, *more in p.run("SELECT * FROM patients LIMIT 5", on_error_resume=False):
        print("rows", len(list(rows)))
except psycopg.Error as e:
    print("refused", str(e).splitlines()[0])
