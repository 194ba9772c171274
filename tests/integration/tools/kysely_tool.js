// Kysely: its introspection, aggregates of its builder, and a table's rows.
const { Pool } = require('pg')
const { Kysely, PostgresDialect } = require('kysely')

const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool() }) })

async function main() {
  const tables = (await db.introspection.getTables()).filter((t) => t.schema === 'public').sort((a, b) => a.name.localeCompare(b.name))
  console.log('catalog tables', JSON.stringify(tables.map((t) => [t.name, t.isView, t.columns.map((c) => [c.name, c.dataType, c.isNullable])])))
  const patients = db.selectFrom('patients')
  console.log('answer count', (await patients.where('age', '>', 40).select((q) => q.fn.countAll().as('n')).executeTakeFirst()).n)
  const groups = await patients.where('ward', 'in', ['A', 'B']).groupBy('ward').orderBy('ward').select(['ward', (q) => q.fn.avg('age').as('age')]).execute()
  for (const { age } of groups) console.log('answer age', age)
  console.log(await patients.selectAll().limit(5).execute().then((all) => `rows ${all.length}`, (e) => `refused ${e.message}`))
  await db.destroy()
}
main()
