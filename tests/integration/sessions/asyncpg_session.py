"""An application's session with asyncpg: everything prepared, everything binary."""
import asyncio
import os
from decimal import Decimal

import asyncpg


async def main():
    notices = []
    conn = await asyncpg.connect(host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), ssl=False)
    conn.add_log_listener(lambda _, message: notices.append(str(message)))
    assert await conn.fetchval("SELECT current_user") == os.environ["PGUSER"]
    n = await conn.fetchval("SELECT count(*) FROM patients WHERE age > $1 AND diagnosis = $2", 40, "flu")
    assert 0 <= n <= 100000
    rows = await conn.fetch("SELECT diagnosis, count(*) AS n, avg(income) AS income FROM patients GROUP BY diagnosis ORDER BY diagnosis")
    assert [r["diagnosis"] for r in rows] == ["asthma", "cold", "flu", "gout"] and all(isinstance(r["income"], (Decimal, type(None))) for r in rows)
    assert [tuple(r) for r in await conn.fetch("SELECT ward, beds FROM wards WHERE beds = ANY($1::int[]) ORDER BY ward", [30, 18])] == [("A", 30), ("C", 18)]
    for sql, error in [("SELECT name FROM patients", asyncpg.InsufficientPrivilegeError), ("SELECT nope FROM patients", asyncpg.UndefinedColumnError)]:
        try:
            await conn.fetch(sql)
            raise AssertionError("not refused: " + sql)
        except error:
            pass
    async with conn.transaction():
        statement = await conn.prepare("SELECT count(*) FROM patients WHERE age < $1")
        assert [str(a.name) for a in statement.get_attributes()] == ["count"]
        for age in (20, 40):
            assert 0 <= await statement.fetchval(age) <= 100000
        got = []
        async for r in conn.cursor("SELECT ward FROM wards ORDER BY ward", prefetch=2):
            got.append(r["ward"])
        assert got == ["A", "B", "C"]
    try:
        async with conn.transaction():
            await conn.execute("SELECT 1/0")
    except asyncpg.DivisionByZeroError:
        pass
    assert await conn.fetchval("SELECT 1") == 1
    await conn.reset()
    await conn.close()
    pool = await asyncpg.create_pool(host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), ssl=False, min_size=1, max_size=3)
    counts = await asyncio.gather(*(pool.fetchval("SELECT count(*) FROM wards") for _ in range(12)))
    assert counts == [3] * 12
    await pool.close()


asyncio.run(main())
print("ok")
