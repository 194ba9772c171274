// An application's session with node-postgres: parameters, named statements, a cursor, a pool, errors.
'use strict'
const assert = require('assert')
const { Client, Pool } = require('pg')
const Cursor = require('pg-cursor')

async function refused (client, sql, code) {
  await assert.rejects(client.query(sql), (e) => { assert.strictEqual(e.code, code, sql + ': ' + e.message); return true })
}

async function main () {
  const client = new Client()
  const notices = []
  client.on('notice', (n) => notices.push(n.message))
  await client.connect()
  const who = await client.query('SELECT current_user::text AS u, current_database()::text AS d')
  assert.deepStrictEqual(who.rows[0], { u: process.env.PGUSER, d: process.env.PGDATABASE })

  const count = await client.query('SELECT count(*) AS n FROM patients WHERE age > $1 AND diagnosis = $2', [40, 'flu'])
  assert(Number(count.rows[0].n) >= 0 && count.fields[0].dataTypeID === 20)
  assert(notices.some((n) => n.includes('% left')), notices)
  for (const age of [20, 30]) {
    const r = await client.query({ name: 'older', text: 'SELECT count(*) AS n FROM patients WHERE age > $1', values: [age] })
    assert(Number(r.rows[0].n) >= 0)
  }
  const groups = await client.query({ text: 'SELECT diagnosis, avg(income) FROM patients GROUP BY 1 ORDER BY 1', rowMode: 'array' })
  assert.deepStrictEqual(groups.rows.map((r) => r[0]), ['asthma', 'cold', 'flu', 'gout'])

  await refused(client, 'SELECT name FROM patients', '42501')
  await refused(client, 'SELEC 1', '42601')
  await client.query('BEGIN')
  await refused(client, 'SELECT nope FROM patients', '42703')
  await refused(client, 'SELECT 1', '25P02')
  await client.query('ROLLBACK')
  const several = await client.query("SELECT 1 AS a; SET application_name = 'x'; SELECT ward FROM wards ORDER BY 1")
  assert.strictEqual(several.length, 3)
  assert.strictEqual(several[2].rows.length, 3)

  const cursor = client.query(new Cursor('SELECT ward FROM wards WHERE beds > $1 ORDER BY ward', [1]))
  assert.strictEqual((await cursor.read(2)).length, 2)
  assert.strictEqual((await cursor.read(2)).length, 1)
  await cursor.close()
  await client.end()

  const pool = new Pool({ max: 3 })
  const all = await Promise.all(Array.from({ length: 12 }, (_, i) => pool.query('SELECT $1::int + 1 AS x', [i])))
  assert.deepStrictEqual(all.map((r) => r.rows[0].x), Array.from({ length: 12 }, (_, i) => i + 1))
  await pool.end()
  console.log('ok')
}
main().catch((e) => { console.error(e); process.exit(1) })
