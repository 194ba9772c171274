"""Django: inspectdb's introspection, aggregates over unmanaged models, and a model's rows."""
import os

import django
from django.conf import settings
from django.db import connection, models, utils

environ = {"NAME": "PGDATABASE", "USER": "PGUSER", "PASSWORD": "PGPASSWORD", "HOST": "PGHOST", "PORT": "PGPORT"}
database = {key: os.environ[name] for key, name in environ.items()}
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **database}}, DEFAULT_AUTO_FIELD="django.db.models.AutoField")
django.setup()


class Patient(models.Model):
    id = models.BigIntegerField(primary_key=True)
    age = models.IntegerField()
    ward = models.TextField()

    class Meta:
        app_label, db_table, managed = "tool", "patients", False


class Visit(models.Model):
    visit_id = models.BigIntegerField(primary_key=True)
    patient = models.ForeignKey(Patient, on_delete=models.DO_NOTHING)
    cost = models.DecimalField(max_digits=10, decimal_places=2)

    class Meta:
        app_label, db_table, managed = "tool", "visits", False


with connection.cursor() as cursor:
    see = connection.introspection
    print("catalog tables", sorted(t.name for t in see.get_table_list(cursor)))
    print("catalog columns", [(c.name, see.get_field_type(c.type_code, c), c.null_ok) for c in see.get_table_description(cursor, "wards")])
    print("catalog key", see.get_primary_key_column(cursor, "patients"))
    print("catalog relations", see.get_relations(cursor, "visits"))
    constraints = see.get_constraints(cursor, "visits").values()
    print("catalog constraints", sorted((c["columns"], c["primary_key"], c["unique"], c["foreign_key"] or ()) for c in constraints))
print("answer count", Patient.objects.filter(age__gt=40).count())
for row in Patient.objects.values("ward").annotate(age=models.Avg("age")).order_by("ward"):
    if row["ward"] in ("A", "B"):
        print("answer age", row["age"])
print("answer cost", Visit.objects.filter(patient__age__gt=40).aggregate(cost=models.Avg("cost"))["cost"])
for rows in (lambda: Patient.objects.all()[:5], lambda: see.get_table_description(connection.cursor(), "patients")):
    try:  # a description of columns is that of SELECT * FROM patients LIMIT 1
        print("rows", len(rows()))
    except utils.Error as e:
        print("refused", str(e).splitlines()[0])
