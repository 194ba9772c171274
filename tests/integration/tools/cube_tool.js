// Cube's driver: its schema, what its planner writes for a measure by a dimension, and a table's rows.
const { PostgresDriver } = require('@cubejs-backend/postgres-driver')

const { PGHOST: host, PGPORT: port, PGUSER: user, PGPASSWORD: password, PGDATABASE: database } = process.env
const db = new PostgresDriver({ host, port, user, password, database })

async function main() {
  await db.testConnection()
  const { public: tables } = await db.tablesSchema()
  console.log('catalog schema', JSON.stringify(Object.keys(tables).sort().map((t) => [t, tables[t].map((c) => [c.name, c.type]).sort()])))
  console.log('catalog types', JSON.stringify((await db.tableColumnTypes('public.patients')).map((c) => [c.name, c.type])))
  const sql = (measure) => `SELECT "patients".ward "patients__ward", ${measure} "patients__x"
    FROM public.patients AS "patients" WHERE "patients".ward IN ($1, $2) GROUP BY 1 ORDER BY 1 LIMIT 10000`
  for (const row of await db.query(sql('count(*)'), ['A', 'B'])) console.log('answer count', row.patients__x)
  for (const row of await db.query(sql('avg("patients".age)'), ['A', 'B'])) console.log('answer age', row.patients__x)
  console.log(await db.query('SELECT * FROM public.patients LIMIT 5', []).then((all) => `rows ${all.length}`, (e) => `refused ${e.message}`))
  await db.release()
}
main()
