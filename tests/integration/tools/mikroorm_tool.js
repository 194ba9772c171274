// MikroORM: entities made from the schema, counts and groups of them, and an entity's rows.
const { EntitySchema, MikroORM, raw } = require('@mikro-orm/core')
const { PostgreSqlDriver } = require('@mikro-orm/postgresql')
const { DatabaseSchema } = require('@mikro-orm/knex')

const { PGHOST: host, PGPORT, PGUSER: user, PGPASSWORD: password, PGDATABASE: dbName } = process.env
const properties = { id: { type: 'bigint', primary: true }, age: { type: 'integer' }, ward: { type: 'text' } }
const Patient = new EntitySchema({ name: 'Patient', tableName: 'patients', properties })

async function main() {
  const discovery = { disableDynamicFileAccess: true }
  const orm = await MikroORM.init({ driver: PostgreSqlDriver, host, port: Number(PGPORT), user, password, dbName, entities: [Patient], discovery })
  const connection = orm.em.getConnection()
  const schema = await DatabaseSchema.create(connection, orm.em.getPlatform(), orm.config)
  for (const t of schema.getTables().sort((a, b) => a.name.localeCompare(b.name))) {
    const keys = Object.values(t.getForeignKeys()).map((k) => [k.columnNames, k.referencedTableName, k.referencedColumnNames])
    console.log('catalog table', t.name, JSON.stringify(t.getColumns().map((c) => [c.name, c.type, c.nullable, c.primary])), JSON.stringify(keys.sort()))
  }
  const em = orm.em.fork()
  console.log('answer count', await em.count('Patient', { age: { $gt: 40 } }))
  const groups = em.createQueryBuilder('Patient', 'p').select(['ward', raw('avg(p.age) as age')]).where({ ward: ['A', 'B'] }).groupBy('ward').orderBy({ ward: 'asc' })
  for (const { age } of await groups.execute('all', false)) console.log('answer age', age)
  console.log(await em.find('Patient', {}, { limit: 5 }).then((all) => `rows ${all.length}`, (e) => `refused ${e.message.split('\n')[0]}`))
  await orm.close()
}
main()
