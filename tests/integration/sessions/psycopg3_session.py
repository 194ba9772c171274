"""An application's session with psycopg 3: server-side parameters, binary results, pipeline mode, server-side cursors."""
import os
import sys
from decimal import Decimal

import psycopg
from psycopg import errors

notices = []
conn = psycopg.connect("")
conn.add_notice_handler(lambda d: notices.append(d.message_primary))
assert conn.execute("SELECT current_user::text, current_database()::text").fetchone() == (os.environ["PGUSER"], os.environ["PGDATABASE"])

for binary in (False, True):
    with conn.cursor(binary=binary) as c:
        c.execute("SELECT count(*) FROM patients WHERE age > %s AND diagnosis = %s AND admitted < %s", (40, "flu", "2022-01-01"))
        n = c.fetchone()[0]
        assert isinstance(n, int) and 0 <= n <= 100000
        c.execute("SELECT diagnosis, count(*), avg(income), avg(weight) FROM patients GROUP BY 1 ORDER BY 1")
        rows = c.fetchall()
        assert [r[0] for r in rows] == ["asthma", "cold", "flu", "gout"], rows
        assert all(r[2] is None or isinstance(r[2], Decimal) for r in rows) and all(r[3] is None or isinstance(r[3], float) for r in rows), rows
        c.execute("SELECT ward, beds, floor + 0.5 FROM wards ORDER BY ward")
        assert c.fetchall() == [("A", 30, Decimal("1.5")), ("B", 24, Decimal("2.5")), ("C", 18, Decimal("3.5"))]
assert any("% left" in n for n in notices), notices
conn.commit()

# Prepared by the driver after a few uses.
for age in range(30, 38):
    conn.execute("SELECT count(*) FROM patients WHERE age > %s", (age,), prepare=True).fetchone()
conn.commit()

for sql, error in [("SELECT name FROM patients", errors.InsufficientPrivilege), ("SELECT nope FROM patients", errors.UndefinedColumn),
                   ("SELECT * FROM secrets", errors.UndefinedTable), ("DELETE FROM wards", errors.InsufficientPrivilege)]:
    try:
        with conn.transaction():
            conn.execute(sql)
        raise AssertionError("not refused: " + sql)
    except error:
        pass
    assert conn.execute("SELECT 1").fetchone() == (1,)
conn.commit()

# A nested transaction is a savepoint; its failure leaves the outer one alone.
with conn.transaction():
    assert conn.execute("SELECT 2").fetchone() == (2,)
    try:
        with conn.transaction():
            conn.execute("SELECT 1/0")
    except errors.DivisionByZero:
        pass
    assert conn.execute("SELECT 3").fetchone() == (3,)

with conn.pipeline() as p:
    answers = [conn.execute("SELECT count(*) FROM patients WHERE weight > %s", (w,)) for w in (50.0, 60.0, 70.0)]
    p.sync()
    assert all(0 <= a.fetchone()[0] <= 100000 for a in answers)
try:
    with conn.pipeline() as p:
        conn.execute("SELECT 1")
        conn.execute("SELECT * FROM patients")
        conn.execute("SELECT 2")
        p.sync()
    raise AssertionError("not refused in a pipeline")
except errors.InsufficientPrivilege:
    conn.rollback()
assert conn.execute("SELECT 4").fetchone() == (4,)
conn.commit()

with conn.cursor("served", scrollable=False) as c:
    c.execute("SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 1")
    assert [r[0] for r in c.fetchmany(3)] == ["asthma", "cold", "flu"] and len(c.fetchall()) == 1
conn.commit()

try:
    with conn.cursor() as c, c.copy("COPY patients TO STDOUT") as copy:
        copy.read()
    raise AssertionError("COPY was not refused")
except errors.InsufficientPrivilege:
    conn.rollback()
with conn.cursor() as c:
    for options in ("", "(FORMAT binary)"):
        with c.copy(f"COPY (SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 1) TO STDOUT {options}") as copy:
            copy.set_types(["text", "int8"])
            rows = list(copy.rows())
        assert [r[0] for r in rows] == ["asthma", "cold", "flu", "gout"] and all(isinstance(r[1], int) for r in rows), rows
conn.commit()
conn.close()
sys.stdout.write("ok\n")
