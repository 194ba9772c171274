// Drizzle: aggregates of its builder, prepared and not, and a table's rows.
const { Pool } = require('pg')
const { drizzle } = require('drizzle-orm/node-postgres')
const { pgTable, bigint, integer, text } = require('drizzle-orm/pg-core')
const { avg, count, gt, inArray, sql } = require('drizzle-orm')

const pool = new Pool() // from the environment
const db = drizzle(pool)
const wards = pgTable('wards', { ward: text('ward').primaryKey(), floor: integer('floor') })
const patients = pgTable('patients', { id: bigint('id', { mode: 'number' }).primaryKey(), age: integer('age'), ward: text('ward') })

async function main() {
  console.log('catalog wards', JSON.stringify(await db.select().from(wards).orderBy(wards.ward)))
  console.log('answer count', await db.$count(patients, gt(patients.age, 40)))
  const groups = db.select({ ward: patients.ward, age: avg(patients.age) }).from(patients).where(inArray(patients.ward, ['A', sql.placeholder('ward')]))
    .groupBy(patients.ward).orderBy(patients.ward).prepare('groups')
  for (const { age } of await groups.execute({ ward: 'B' })) console.log('answer age', age)
  const [{ n }] = await db.select({ n: count() }).from(patients).innerJoin(wards, sql`${wards.ward} = ${patients.ward}`).where(gt(patients.age, 40))
  console.log('answer count', n)
  console.log(await db.select().from(patients).limit(5).then((all) => `rows ${all.length}`, (e) => `refused ${(e.cause ?? e).message}`))
  await pool.end()
}
main()
