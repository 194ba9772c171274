"""peewee: models from the schema, aggregates over them, and a model's rows."""
import os

import peewee
from playhouse.reflection import Introspector

database = peewee.PostgresqlDatabase(os.environ["PGDATABASE"], user=os.environ["PGUSER"], password=os.environ["PGPASSWORD"],
                                     host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]))
print("catalog tables", sorted(database.get_tables()))
print("catalog columns", [(c.name, c.data_type, c.null, c.primary_key) for c in database.get_columns("patients")])
print("catalog keys", [(k.column, k.dest_table, k.dest_column) for k in sorted(database.get_foreign_keys("visits"))])
print("catalog indexes", sorted((i.columns, i.unique) for i in database.get_indexes("visits")))
made = Introspector.from_database(database).generate_models()
print("catalog models", {name: sorted(model._meta.fields) for name, model in sorted(made.items())})
patient = made["patients"]
print("answer count", patient.select().where(patient.age > 40).count())
query = patient.select(patient.ward, peewee.fn.avg(patient.age).alias("age"))
for ward, age in query.where(patient.ward.in_(["A", "B"])).group_by(patient.ward).order_by(patient.ward).tuples():
    print("answer age", age)
try:
    print("rows", len(patient.select().limit(5)))
except peewee.PeeweeException as e:
    print("refused", str(e).splitlines()[0])
