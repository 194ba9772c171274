// TypeORM: its query runner's introspection, aggregates of entities, and an entity's rows.
require('reflect-metadata')
const { DataSource, EntitySchema } = require('typeorm')

const { PGHOST: host, PGPORT, PGUSER: username, PGPASSWORD: password, PGDATABASE: database } = process.env
const Patient = new EntitySchema({ name: 'Patient', tableName: 'patients', columns: { id: { type: 'bigint', primary: true }, age: { type: 'int' }, ward: { type: 'text' } } })

async function main() {
  const db = await new DataSource({ type: 'postgres', host, port: Number(PGPORT), username, password, database, entities: [Patient], installExtensions: false }).initialize()
  const runner = db.createQueryRunner()
  const tables = await runner.getTables(['patients', 'visits', 'wards'])
  for (const t of tables.sort((a, b) => a.name.localeCompare(b.name))) {
    console.log('catalog table', t.name.split('.').pop(), JSON.stringify(t.columns.map((c) => [c.name, c.type, c.isNullable, c.isPrimary, c.precision])),
      JSON.stringify(t.foreignKeys.map((k) => [k.columnNames, k.referencedTableName.split('.').pop(), k.referencedColumnNames]).sort()))
  }
  await runner.release()
  const patients = db.getRepository(Patient)
  const q = () => patients.createQueryBuilder('p')
  console.log('answer count', await q().where('p.age > :age', { age: 40 }).getCount())
  const groups = await q().select('p.ward', 'ward').addSelect('avg(p.age)', 'age').where("p.ward IN ('A', 'B')").groupBy('p.ward').orderBy('p.ward').getRawMany()
  for (const { age } of groups) console.log('answer age', age)
  console.log(await patients.find({ take: 5 }).then((all) => `rows ${all.length}`, (e) => `refused ${e.message}`))
  await db.destroy()
}
main()
