#!/bin/bash
set -eu
cat >/app/load.py <<'EOF'
import os
import re
import sqlite3
import sys

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema.sql")
RELATION = re.compile(r"\s*([^\s(:]+)(?::[\w-]+)?\s*(?:\(\s*(<<|<=|>=|>>|=|<|>)\s*([^\s)]+)\s*\))?\s*")
MISSING = """
CREATE VIEW missing (package, position, kind) AS
SELECT DISTINCT package, position, kind FROM dependency AS wanted WHERE NOT EXISTS (
  SELECT 1 FROM dependency AS one
  WHERE one.package = wanted.package AND one.kind = wanted.kind AND one.position = wanted.position AND (
    EXISTS (SELECT 1 FROM package WHERE name = one.target)
    OR EXISTS (
      SELECT 1 FROM provision
      WHERE name = one.target AND (provision.version IS NOT NULL OR one.relation IS NULL))))
"""


def stanzas(text):
    for block in re.split(r"\n(?:[ \t]*\n)+", text):
        fields, name = {}, None
        for line in block.split("\n"):
            if line[:1] in (" ", "\t"):
                if name is not None:
                    fields[name] += "\n" + line
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                fields[name] = value.strip()
        if fields:
            yield fields


def parse(text):
    name, relation, version = RELATION.fullmatch(text).groups()
    return name, {"<": "<=", ">": ">="}.get(relation, relation), version


def items(fields, name, separator=","):
    return [item for item in fields.get(name, "").split(separator) if item.strip()]


with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
if os.path.exists(sys.argv[2]):
    os.unlink(sys.argv[2])
database = sqlite3.connect(sys.argv[2])
with open(SCHEMA) as file:
    database.executescript(file.read())
for fields in stanzas(text):
    if fields.get("status", "").split() not in (["install", "ok", "installed"], ["hold", "ok", "installed"]):
        continue
    package = fields["package"]
    size = fields.get("installed-size")
    summary = fields.get("description", "").split("\n")[0] if "description" in fields else None
    row = (package, fields["version"], fields.get("section"), None if size is None else int(size), summary)
    database.execute("INSERT INTO package VALUES (?, ?, ?, ?, ?)", row)
    for kind in ("Depends", "Pre-Depends"):
        for position, item in enumerate(items(fields, kind.lower()), 1):
            for alternative, one in enumerate(item.split("|"), 1):
                database.execute(
                    "INSERT INTO dependency VALUES (?, ?, ?, ?, ?, ?, ?)", (package, kind, position, alternative, *parse(one))
                )
    for item in items(fields, "provides"):
        name, _, version = parse(item)
        database.execute("INSERT OR IGNORE INTO provision VALUES (?, ?, ?)", (package, name, version))
database.execute(MISSING)
database.commit()
EOF
python3 /app/load.py /var/lib/dpkg/status /tmp/status.db
