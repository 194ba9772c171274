// An application's session with postgres.js: pipelined by default, types from the catalog, transactions, cursors.
'use strict'
const assert = require('assert')
const postgres = require('postgres')

async function main () {
  const notices = []
  const sql = postgres({ max: 2, onnotice: (n) => notices.push(n.message), ssl: false })
  const [who] = await sql`SELECT current_user::text AS u`
  assert.strictEqual(who.u, process.env.PGUSER)
  const [{ n }] = await sql`SELECT count(*) AS n FROM patients WHERE age > ${40} AND diagnosis = ${'flu'}`
  assert(Number(n) >= 0)
  assert(notices.some((m) => m.includes('% left')), notices)
  const rows = await sql`SELECT diagnosis, avg(income) AS income FROM patients GROUP BY 1 ORDER BY 1`
  assert.deepStrictEqual(rows.map((r) => r.diagnosis), ['asthma', 'cold', 'flu', 'gout'])
  const beds = await sql`SELECT ward FROM wards WHERE beds IN ${sql([30, 18])} ORDER BY ward`
  assert.deepStrictEqual(beds.map((r) => r.ward), ['A', 'C'])
  await assert.rejects(sql`SELECT name FROM patients`, { code: '42501' })
  await assert.rejects(sql`SELECT nope FROM patients`, { code: '42703' })
  // Many at once go down the same connection without waiting for each other.
  const many = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((i) => sql`SELECT ${i}::int AS i`))
  assert.deepStrictEqual(many.map((r) => r[0].i), [1, 2, 3, 4, 5, 6, 7, 8])
  await assert.rejects(sql.begin(async (t) => {
    await t`SELECT 1`
    await t`SELECT * FROM patients`
  }), { code: '42501' })
  const parts = []
  await sql`SELECT ward FROM wards ORDER BY ward`.cursor(2, (batch) => { parts.push(batch.length) })
  assert.deepStrictEqual(parts, [2, 1])
  const columns = await sql`SELECT ward, beds FROM wards`.describe()
  assert.deepStrictEqual(columns.columns.map((c) => c.name), ['ward', 'beds'])
  await sql.end()
  console.log('ok')
}
main().catch((e) => { console.error(e); process.exit(1) })
