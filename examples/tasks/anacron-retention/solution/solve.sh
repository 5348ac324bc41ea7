#!/bin/bash
set -eu
cat >/app/anacrontab <<'EOF'
SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin

1	0	prune	/usr/bin/python3 -I /app/backups.py prune
7	5	report	/usr/bin/python3 -I /app/backups.py report
EOF
cat >/app/backups.py <<'EOF'
import datetime
import os
import re
import sys

DIRECTORY, LOG, REPORT = "/app/backups", "/app/prune.log", "/app/report.txt"


def backups():
    found = {}
    for entry in os.scandir(DIRECTORY):
        match = re.fullmatch(r"db-([0-9]{8}T[0-9]{4})\.dump", entry.name)
        if match is None or not entry.is_file(follow_symlinks=False):
            continue
        try:
            found[entry.name] = datetime.datetime.strptime(match[1], "%Y%m%dT%H%M")
        except ValueError:
            pass
    return found


def month(time):
    return time.year * 12 + time.month


def week(time):
    return (time.date() - datetime.timedelta(days=time.weekday())).toordinal() // 7


def prune():
    found = sorted(backups().items(), key=lambda item: item[1], reverse=True)
    if not found:
        return
    newest, keep, seen = found[0][1], set(), set()
    for name, time in found:
        if (newest.date() - time.date()).days < 7:
            keep.add(name)
        for kind, count in ((week, 5), (month, 12)):
            period = kind(newest) - kind(time)
            if period < count and (kind, period) not in seen:
                seen.add((kind, period))
                keep.add(name)
    with open(LOG, "a") as log:
        for name, _ in reversed(found):
            if name not in keep:
                os.unlink(os.path.join(DIRECTORY, name))
                log.write(f"deleted {name}\n")


def report():
    months = {}
    for name, time in backups().items():
        months.setdefault(f"{time:%Y-%m}", []).append(os.lstat(os.path.join(DIRECTORY, name)).st_size)
    with open(REPORT, "w") as file:
        for name, sizes in sorted(months.items()):
            file.write(f"{name} {len(sizes)} {sum(sizes)}\n")


{"prune": prune, "report": report}[sys.argv[1]]()
EOF
