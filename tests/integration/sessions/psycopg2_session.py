"""An application's session with psycopg2: implicit transactions, client-side parameters, a named cursor."""
import os
import sys
from decimal import Decimal

import psycopg2
import psycopg2.extras


def refused(cursor, sql, code):
    try:
        cursor.execute(sql)
        cursor.fetchall()
    except psycopg2.Error as e:
        assert e.pgcode == code, (sql, e.pgcode, str(e))
        return
    raise AssertionError(f"not refused: {sql}")


conn = psycopg2.connect("")  # PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE
assert conn.server_version >= 140000 and conn.encoding == "UTF8"
c = conn.cursor()

c.execute("SELECT current_user, current_database(), session_user")
assert c.fetchone() == (os.environ["PGUSER"], os.environ["PGDATABASE"], os.environ["PGUSER"])

c.execute("SELECT count(*) FROM patients WHERE age > %s AND diagnosis = %s", (40, "flu"))
first = c.fetchone()[0]
assert isinstance(first, int) and 0 <= first <= 100000
assert any("% left" in n for n in conn.notices), conn.notices
c.execute("SELECT count(*) FROM patients WHERE age > %s AND diagnosis = %s", (40, "flu"))
assert c.fetchone()[0] == first, "the same question has the same answer"

c.execute("SELECT diagnosis, count(*) AS n, avg(income) AS income FROM patients GROUP BY diagnosis ORDER BY diagnosis")
rows = c.fetchall()
assert [r[0] for r in rows] == ["asthma", "cold", "flu", "gout"], rows
assert all(r[2] is None or isinstance(r[2], Decimal) and 0 <= r[2] <= 100000 for r in rows), rows
assert [d.name for d in c.description] == ["diagnosis", "n", "income"] and c.description[1].type_code == 20
conn.commit()

# An error inside a transaction, what comes after it, and the way out.
refused(c, "SELECT name, income FROM patients", "42501")
refused(c, "SELECT 1", "25P02")
conn.rollback()
c.execute("SAVEPOINT before")
refused(c, "SELECT nope FROM patients", "42703")
c.execute("ROLLBACK TO SAVEPOINT before")
c.execute("SELECT 1")
assert c.fetchone() == (1,)
for sql, code in [("SELEC 1", "42601"), ("SELECT * FROM secrets", "42P01"), ("INSERT INTO wards VALUES ('x')", "42501"),
                  ("COPY patients TO STDOUT", "42501"), ("SELECT max(name) FROM patients", "42501")]:
    conn.rollback()
    refused(c, sql, code)
conn.rollback()

# A server-side cursor over a public table, and one over a release.
with conn.cursor("public") as named:
    named.itersize = 2
    named.execute("SELECT ward, beds FROM wards ORDER BY ward")
    assert list(named) == [("A", 30), ("B", 24), ("C", 18)]
with conn.cursor("released", cursor_factory=psycopg2.extras.DictCursor) as named:
    named.itersize = 3
    named.execute("SELECT diagnosis, count(*) AS n FROM patients GROUP BY diagnosis ORDER BY 1")
    assert [r["diagnosis"] for r in named] == ["asthma", "cold", "flu", "gout"]
conn.commit()

conn.autocommit = True
c.execute("SET dpproxy.epsilon = 0.1")
c.execute("SHOW dpproxy.epsilon")
assert float(c.fetchone()[0]) == 0.1
try:
    c.execute("SET dpproxy.epsilon = 1000")
    raise AssertionError("an epsilon above the policy's was accepted")
except psycopg2.Error as e:
    assert e.pgcode == "22023", e.pgcode
c.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1")
assert [r[0] for r in c.fetchall()] == ["lab_results", "patients", "visits", "wards"]
c.execute("SELECT epsilon_spent, epsilon_left FROM dpproxy.budget")
spent, left = c.fetchone()
assert spent > 0 and left > 0
conn.close()
sys.stdout.write("ok\n")
