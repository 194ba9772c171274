"""Django: the models that inspectdb writes, and the admin's list, search, filter and detail pages over them."""
import io
import os
import sys
import tempfile

import django
from django.conf import settings

WARNING = "these rows are synthetic"
clinic = {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
          "PASSWORD": os.environ["PGPASSWORD"], "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
          "OPTIONS": {"options": os.environ.pop("PGOPTIONS", "")}}


class Router:
    """Sessions and users are the application's own; the clinic's tables are read through dpproxy."""

    def db_for_read(self, model, **hints):
        return "clinic" if model._meta.app_label == "clinic" else "default"

    db_for_write = db_for_read

    def allow_migrate(self, db, app_label, **hints):
        return db == "default"


folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
os.mkdir(folder + "/clinic")
open(folder + "/clinic/__init__.py", "w").close()
apps = ["admin", "auth", "contenttypes", "sessions", "messages"]
settings.configure(
    SECRET_KEY="x", DEBUG=True, ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, USE_TZ=True, STATIC_URL="/static/",
    DEFAULT_AUTO_FIELD="django.db.models.AutoField", INSTALLED_APPS=["django.contrib." + a for a in apps] + ["clinic"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}, "clinic": clinic},
    DATABASE_ROUTERS=[Router()],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware",
                "django.contrib.messages.middleware.MessageMiddleware"],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages",
            "django.template.context_processors.request"]}}])
django.setup()

from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import DatabaseError, connections  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import path  # noqa: E402

models = io.StringIO()
call_command("inspectdb", database="clinic", stdout=models)
assert "Unable to inspect" not in models.getvalue(), models.getvalue()
with open(folder + "/clinic/tables.py", "w") as f:
    f.write(models.getvalue())
from clinic.tables import Patients, Visits  # noqa: E402


@admin.register(Patients)
class PatientAdmin(admin.ModelAdmin):
    list_display = ("id", "name", "age", "ward", "smoker", "admitted")
    list_filter = ("smoker", "ward", "diagnosis")
    search_fields = ("name",)
    date_hierarchy = "admitted"
    list_per_page = 20


@admin.register(Visits)
class VisitAdmin(admin.ModelAdmin):
    list_display = ("visit_id", "patient", "visited", "cost")
    list_select_related = ("patient",)
    raw_id_fields = ("patient",)


urlpatterns = [path("admin/", admin.site.urls)]
call_command("migrate", verbosity=0)
client = Client()
client.force_login(User.objects.create_superuser("root"))


def page(url, *wanted):
    connection = connections["clinic"]
    connection.ensure_connection()
    del connection.connection.notices[:]
    response = client.get("/admin/clinic/" + url)
    text = response.content.decode()
    assert response.status_code == 200, (url, response.status_code, response.get("Location"))
    for w in wanted:
        assert w in text, (url, w, text)
    assert "Patient 1" not in text, text
    assert any(WARNING in n for n in connection.connection.notices), (url, connection.connection.notices)


page("patients/", "Nobody 1", "Nobody 20")
page("patients/?o=3", "Nobody")
page("patients/?q=Nobody+7", "Nobody 7")
page("patients/?smoker__exact=1", "Nobody 2<")
page("patients/?ward__ward__exact=A", "Nobody 2<")
page("patients/?admitted__year=2020", "Nobody")
page("patients/-3/change/", "Nobody 3")
page("visits/", "visits")
page("visits/-5/change/", "Patients object (-6)")
if "source=synthetic" in clinic["OPTIONS"]["options"]:
    page("patients/?p=2", "Nobody 21", "30 patient")
    assert Patients.objects.count() == 30 and Patients.objects.filter(smoker=True).exists()
assert [p.name for p in Patients.objects.order_by("-id")[:2]] == ["Nobody 1", "Nobody 2"]
assert len(list(Patients.objects.order_by("id").iterator(chunk_size=7))) == 30  # a named cursor
try:
    Patients.objects.filter(id=-3).update(name="Somebody")
    raise AssertionError("a write")
except DatabaseError as e:
    assert e.__cause__.pgcode == "42501", e.__cause__.pgcode
print("ok")
