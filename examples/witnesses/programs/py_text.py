"""json, re, string, textwrap, difflib, csv, html, urllib.parse."""
import csv
import difflib
import html
import io
import json
import re
import string
import textwrap
import urllib.parse

data = {"a": [1, 2.5, None, True], "b": {"c": "é\n", "d": -1e300}, "n": 10**30}
text = json.dumps(data, indent=1, sort_keys=True)
print(text, json.loads(text) == data)
words = re.findall(r"(?i)\b(\w+?)(ing|ed)\b", "Walking and talked, SINGING then jumped")
print(words, re.sub(r"(?P<y>\d{4})-(\d\d)", r"\2/\g<y>", "on 2024-05 and 1999-12"))
print(string.Template("$who likes ${what}").substitute(who="tim", what="kung pao"))
print(textwrap.fill("the quick brown fox jumps over the lazy dog " * 3, 40))
print("\n".join(difflib.unified_diff("one two three".split(), "one tree four".split(), lineterm="")))
rows = list(csv.DictReader(io.StringIO('a,b\n1,"x, y"\n2,z\n')))
print(rows, html.escape("<a & 'b'>"), urllib.parse.quote("a b/é"), urllib.parse.parse_qs("x=1&y=2&x=3"))
print(f"{3.14159:>10.3f}|{255:#x}|{'mid':^9}|{1234567:,}|{0.000012345:e}|{'ß'.upper()}")
