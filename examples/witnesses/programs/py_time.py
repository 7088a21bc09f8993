"""datetime, calendar, zoneinfo-free time arithmetic, locale-free formatting, uuid, secrets-free, pathlib, tempfile, shutil."""
import calendar
import datetime
import os
import pathlib
import shutil
import tempfile
import uuid

day = datetime.datetime(2024, 2, 28, 23, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
print(day + datetime.timedelta(days=1, hours=1), day.isoformat(), day.strftime("%A %d %B %Y %j"), day.astimezone(datetime.timezone.utc))
print(calendar.month(2024, 2), calendar.isleap(1900), datetime.date.fromisocalendar(2020, 53, 5))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"), datetime.datetime.strptime("3/7/99", "%d/%m/%y"))
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "a" / "b").mkdir(parents=True)
(folder / "a" / "x.txt").write_text("one\ntwo\n")
shutil.copytree(folder / "a", folder / "c")
print(sorted(str(path.relative_to(folder)) for path in folder.rglob("*")), (folder / "c/x.txt").read_text().split())
shutil.make_archive(str(folder / "packed"), "zip", folder / "c")
print((folder / "packed.zip").stat().st_size > 50, os.path.commonpath(["/a/b/c", "/a/b/d"]))
shutil.rmtree(folder)
print(folder.exists())
