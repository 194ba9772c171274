"""An application's session with SQLAlchemy over psycopg2: inspection, Core expressions, errors."""
import os

import sqlalchemy as sa
from sqlalchemy import exc

url = "postgresql+psycopg2://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)
engine = sa.create_engine(url)
inspector = sa.inspect(engine)
assert sorted(inspector.get_table_names()) == ["lab_results", "patients", "visits", "wards"]
columns = {c["name"]: c for c in inspector.get_columns("patients")}
assert isinstance(columns["income"]["type"], sa.Numeric) and columns["income"]["type"].precision == 10
assert inspector.get_pk_constraint("patients")["constrained_columns"] == ["id"]
assert [f["referred_table"] for f in inspector.get_foreign_keys("visits")]
assert "bounds" in columns["age"]["comment"], columns["age"]

patients = sa.Table("patients", sa.MetaData(), autoload_with=engine)
wards = sa.Table("wards", sa.MetaData(), autoload_with=engine)
with engine.connect() as conn:
    n = conn.execute(sa.select(sa.func.count()).select_from(patients).where(patients.c.age > 40)).scalar()
    assert 0 <= n <= 100000
    rows = conn.execute(
        sa.select(patients.c.diagnosis, sa.func.avg(patients.c.income).label("income")).group_by(patients.c.diagnosis).order_by(patients.c.diagnosis)
    ).all()
    assert [r.diagnosis for r in rows] == ["asthma", "cold", "flu", "gout"]
    assert conn.execute(sa.select(wards.c.ward).order_by(wards.c.ward)).scalars().all() == ["A", "B", "C"]
with engine.connect() as conn:
    try:
        conn.execute(sa.select(patients).limit(1)).all()
        raise AssertionError("rows were not refused")
    except exc.ProgrammingError as e:
        assert e.orig.pgcode == "42501", e
with engine.connect() as conn:
    assert conn.execute(sa.text("SELECT 1")).scalar() == 1
print("ok")
