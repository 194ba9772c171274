// Sequelize: its query interface's introspection, aggregates of models, and a model's rows.
const { Sequelize, DataTypes, Op, QueryTypes } = require('sequelize')

const { PGHOST: host, PGPORT: port, PGUSER, PGPASSWORD, PGDATABASE } = process.env
const db = new Sequelize(PGDATABASE, PGUSER, PGPASSWORD, { host, port, dialect: 'postgres', logging: false })
const Patient = db.define('patient', { id: { type: DataTypes.BIGINT, primaryKey: true }, age: DataTypes.INTEGER, ward: DataTypes.TEXT },
  { tableName: 'patients', timestamps: false })

async function main() {
  await db.authenticate()
  const see = db.getQueryInterface()
  console.log('catalog tables', JSON.stringify((await see.showAllTables()).sort()))
  const columns = Object.entries(await see.describeTable('patients'))
  console.log('catalog columns', JSON.stringify(columns.map(([name, c]) => [name, c.type, c.allowNull, c.primaryKey])))
  const keys = await see.getForeignKeyReferencesForTable('visits')
  console.log('catalog keys', JSON.stringify(keys.map((k) => [k.columnName, k.referencedTableName, k.referencedColumnName]).sort()))
  console.log('catalog indexes', JSON.stringify((await see.showIndex('visits')).map((i) => [i.primary, i.unique, i.fields])))
  console.log('answer count', await Patient.count({ where: { age: { [Op.gt]: 40 } } }))
  const groups = await Patient.findAll({ attributes: ['ward', [db.fn('avg', db.col('age')), 'age']], where: { ward: ['A', 'B'] }, group: 'ward', order: ['ward'], raw: true })
  for (const { age } of groups) console.log('answer age', age)
  const rows = await Patient.findAll({ limit: 5 }).then((all) => `rows ${all.length}`, (e) => `refused ${e.message}`)
  console.log(rows)
  await db.close()
}
main()
