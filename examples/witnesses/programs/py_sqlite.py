"""sqlite3: tables, indexes, joins, windows, functions of Python, transactions."""
import sqlite3

db = sqlite3.connect(":memory:")
db.executescript("create table person(id integer primary key, name text, age int); create table pet(owner int, kind text)")
db.executemany("insert into person(name, age) values(?, ?)", [(f"name{i * 7 % 50}", i * 13 % 80) for i in range(300)])
db.executemany("insert into pet values(?, ?)", [(i % 60 + 1, "cat dog fish".split()[i % 3]) for i in range(100)])
db.create_function("twice", 1, lambda v: v * 2)
print(db.execute("select count(*), avg(age), sum(twice(age)) from person").fetchall())
print(db.execute("select name, count(*) n from person join pet on owner = id group by name order by n desc, name limit 5").fetchall())
print(db.execute("select age, rank() over (order by age desc) from person where id < 8").fetchall())
try:
    with db:
        db.execute("delete from person")
        db.execute("insert into nowhere values(1)")
except sqlite3.OperationalError as error:
    print(error, db.execute("select count(*) from person").fetchone())
print(db.execute("select json_group_array(kind) from (select distinct kind from pet order by 1)").fetchone())
