"""Runs the agent's anacrontab over several sets of backups and compares what is left with the policy."""

import datetime
import os
import random
import shutil
import sys

sys.path.insert(0, "/tests")
import bench

DIRECTORY = "/app/backups"
STRANGERS = [
    "README", "db-20240101T0000.dump.part", "db-20230230T0000.dump", "db-20240101T2460.dump", "xdb-20240101T0000.dump",
    "-rf", "a b", "new\nline", "db-20240101T0000.DUMP", "db-2024010T00000.dump", "db-20240101T0000.dump\n", "*",
]


def name_of(time):
    return f"db-{time:%Y%m%dT%H%M}.dump"


def policy(times):
    newest, keep = max(times), set()
    weeks, months = {}, {}
    for time in times:
        if 0 <= (newest.date() - time.date()).days <= 6:
            keep.add(time)
        monday = time.date() - datetime.timedelta(days=time.weekday())
        weeks[monday] = max(time, weeks.get(monday, time))
        first = (time.year, time.month)
        months[first] = max(time, months.get(first, time))
    monday = newest.date() - datetime.timedelta(days=newest.weekday())
    for _ in range(5):
        keep.add(weeks.get(monday, newest))
        monday -= datetime.timedelta(days=7)
    year, month = newest.year, newest.month
    for _ in range(12):
        keep.add(months.get((year, month), newest))
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
    return keep


def sets(random_):
    def times(end, days, chance):
        for day in range(days):
            for _ in range(3):
                if random_.random() < chance:
                    yield end - datetime.timedelta(days=day, minutes=random_.randrange(1440))

    yield set()
    yield {datetime.datetime(2024, 2, 29, 23, 59)}
    yield set(times(datetime.datetime(2024, 3, 31, 23, 59), 500, 0.5))
    yield set(times(datetime.datetime(2021, 1, 3, 23, 59), 800, 0.2))
    yield set(times(datetime.datetime(random_.randrange(1990, 2090), random_.randrange(1, 13), 28, 12), 600, 0.02))


def put(times, random_):
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    os.mkdir(DIRECTORY)
    for name in [*STRANGERS, *map(name_of, times)]:
        with open(os.path.join(DIRECTORY, name), "wb") as file:
            file.write(b"x" * random_.randrange(100))
    os.mkdir(DIRECTORY + "/db-20010101T0000.dump")
    os.symlink("README", DIRECTORY + "/db-20010102T0000.dump")
    for path in ("/app/prune.log", "/app/report.txt"):
        if os.path.lexists(path):
            os.unlink(path)
    for directory, names, files in os.walk("/app"):
        for path in [directory, *(os.path.join(directory, name) for name in files)]:
            os.chown(path, bench.NOBODY, bench.NOBODY, follow_symlinks=False)


def run_jobs(bench_directory):
    spool = bench_directory + "/spool"
    shutil.rmtree(spool, ignore_errors=True)
    os.mkdir(spool)
    os.chown(spool, bench.NOBODY, bench.NOBODY)
    anacron = ["/usr/local/sbin/anacron", "-d", "-f", "-n", "-s", "-t", "/app/anacrontab", "-S", spool]
    code, out, err = bench.run(anacron, cwd=bench_directory, cpu_s=20)
    text = (out + err).decode(errors="replace")
    if code != 0 or {"prune", "report"} - set(os.listdir(spool)):
        bench.finish(False, f"anacron ended with {code}, ran {sorted(os.listdir(spool))}: {text[-300:]}")


def lines(path):
    try:
        with open(path, errors="replace") as file:
            return file.read(1 << 20).splitlines()
    except OSError:
        return []


def check(times, keep, sizes, log):
    strangers = {*STRANGERS, "db-20010101T0000.dump", "db-20010102T0000.dump"}
    left = set(os.listdir(DIRECTORY))
    if strangers - left:
        bench.finish(False, f"files that are no backups are gone: {sorted(strangers - left)}")
    right = {name_of(time) for time in keep}
    if left - strangers != right:
        wrong = sorted((left - strangers) ^ right)
        bench.finish(False, f"newest {max(times, default=None)}: {len(wrong)} files are wrongly deleted or kept, among them {wrong[:4]}")
    if sorted(log) != sorted("deleted " + name_of(time) for time in times - keep):
        bench.finish(False, f"prune.log has {len(log)} lines, {len(times - keep)} files were deleted: {log[:3]}")
    months = {}
    for time in keep:
        months.setdefault(f"{time:%Y-%m}", []).append(sizes[name_of(time)])
    report = [f"{month} {len(all_)} {sum(all_)}" for month, all_ in sorted(months.items())]
    if lines("/app/report.txt") != report:
        bench.finish(False, f"report.txt is {lines('/app/report.txt')[:3]} instead of {report[:3]}")


def main():
    jobs = [line.split() for line in lines("/app/anacrontab")]
    for job in (["1", "0", "prune"], ["7", "5", "report"]):
        if not any(words[:3] == job for words in jobs):
            bench.finish(False, f"/app/anacrontab has no job {' '.join(job)}")
    directory, random_ = bench.open_bench(), random.Random()
    for times in sets(random_):
        put(times, random_)
        sizes = {name: os.lstat(os.path.join(DIRECTORY, name)).st_size for name in os.listdir(DIRECTORY)}
        keep = policy(times) if times else set()
        for _ in range(2 if len(times) == 1 else 1):
            run_jobs(directory)
            check(times, keep, sizes, lines("/app/prune.log"))
    bench.finish(True, "the policy holds")


main()
