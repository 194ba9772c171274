// Knex, and Objection over it: columns, aggregates of a builder and of a model, and a model's rows.
const { Model } = require('objection')

const { PGHOST: host, PGPORT: port, PGUSER: user, PGPASSWORD: password, PGDATABASE: database } = process.env
const knex = require('knex')({ client: 'pg', connection: { host, port, user, password, database } })
class Patient extends Model { static tableName = 'patients' }
Patient.knex(knex)

async function main() {
  console.log('catalog columns', JSON.stringify(await knex('patients').columnInfo()))
  console.log('catalog tables', await knex.schema.hasTable('visits'), await knex.schema.hasTable('nowhere'), await knex.schema.hasColumn('visits', 'cost'))
  console.log('catalog model', JSON.stringify((await Patient.fetchTableMetadata()).columns))
  console.log('answer count', (await knex('patients').where('age', '>', 40).count({ n: '*' }).first()).n)
  for (const { age } of await knex('patients').select('ward').avg({ age: 'age' }).whereIn('ward', ['A', 'B']).groupBy('ward').orderBy('ward')) console.log('answer age', age)
  console.log('answer count', await Patient.query().where('age', '>', 40).resultSize())
  console.log(await Patient.query().limit(5).then((all) => `rows ${all.length}`, (e) => `refused ${e.message}`))
  await knex.destroy()
}
main()
