"""Loads generated status files, for which the judge knows every row, and the machine's own; compares the tables."""

import json
import random
import sys

sys.path.insert(0, "/tests")
import bench

# As nobody: the database is the agent's, and SQLite reads it.
DUMP = r"""
import json, sqlite3, sys
database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
print(json.dumps([database.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3, 4").fetchall() for table, columns in (
    ("package", "name, version, section, installed_kib, summary"),
    ("dependency", "package, kind, position, alternative, target, relation, version"),
    ("provision", "package, name, version, 1"),
    ("missing", "package, kind, position, 1"))]))
"""
WORDS = ["lib", "x", "newt", "frog", "0ad", "g++", "a2", "pond-data", "c3.1", "émile"]


class Status:
    """A status file and the rows that it should give. Layout is random, in all ways that Policy allows."""

    def __init__(self, random_, count):
        self.random = random_
        self.names = [f"{random_.choice(WORDS[:-1])}-{number}+b" for number in range(count)]
        self.text, self.packages, self.dependencies, self.provisions = "", [], [], []
        for name in self.names:
            self.add(name)

    def space(self, fold=True):
        return self.random.choice(["", "", " ", "  ", "\t", "\n  " if fold else " "])

    def version(self):
        return self.random.choice(["1", "2:3.4-5", "0~rc1", "1.0+dfsg-2+b1", "5:5.36.0-7+deb12u1"])

    def constraint(self):
        if self.random.random() < 0.5:
            return None, None, ""
        written = self.random.choice(["<<", "<=", "=", ">=", ">>", "<", ">"])
        version = self.version()
        text = f"{self.space()}({self.space()}{written}{self.space()}{version}{self.space()})"
        return {"<": "<=", ">": ">="}.get(written, written), version, text

    def relations(self, name, kind):
        rows, groups = [], []
        for position in range(1, self.random.randrange(2, 5)):
            alternatives = []
            for alternative in range(1, self.random.choice([2, 2, 3, 4])):
                target = self.random.choice([*self.names, "virtual-a", "virtual-b", "absent-1", "absent-2"])
                relation, version, text = self.constraint()
                rows.append([name, kind, position, alternative, target, relation, version])
                alternatives.append(target + self.random.choice(["", "", ":any", ":amd64"]) + text)
            groups.append(f"{self.space()}|{self.space()}".join(alternatives))
        return rows, f"{self.space()},{self.space()}".join(groups)

    def add(self, name):
        random_ = self.random
        status = random_.choice(["install ok installed"] * 5 + ["hold ok installed", "deinstall ok config-files", "install ok unpacked"])
        installed = status.endswith(" installed")
        version, section = self.version(), random_.choice([None, "libs", "contrib/net"])
        size, summary = random_.choice([None, 0, 7, 123456]), f"{random_.choice(WORDS)} of: the | pond"
        fields = [("Status", status), ("Version", version), ("Architecture", "amd64")]
        fields.append(("Description", f"{summary}\n Depends: is no field here\n .\n Version: 9"))
        if section is not None:
            fields.append(("Section", section))
        if size is not None:
            fields.append(("Installed-Size", str(size)))
        for kind in ("Depends", "Pre-Depends"):
            if random_.random() < 0.6:
                rows, text = self.relations(name, kind)
                fields.append((kind, text))
                self.dependencies += rows if installed else []
        fields.append((random_.choice(["Recommends", "Conffiles"]), "\n /etc/x 0123 | nothing, to (see)"))
        if random_.random() < 0.4:
            provided = [("virtual-a", None), ("virtual-b", "2.0")][:: random_.choice([1, -1])][: random_.choice([1, 2])]
            fields.append(("Provides", ",".join(f"{self.space()}{n}" + (f" (={self.space()}{v})" if v else "") for n, v in provided)))
            self.provisions += [[name, *item] for item in provided] if installed else []
        random_.shuffle(fields)
        change = random_.choice([str, str, str.lower, str.upper])
        lines = [("Package", name), *fields]
        self.text += "".join(f"{change(key)}:{random_.choice(['', ' ', '  '])}{value}\n" for key, value in lines) + "\n"
        if installed:
            self.packages.append([name, version, section, size, summary])

    def rows(self):
        names = {row[0] for row in self.packages}
        groups = {}
        for package, kind, position, _, target, relation, _ in self.dependencies:
            met = target in names or any(n == target and (v is not None or relation is None) for _, n, v in self.provisions)
            groups[package, kind, position] = groups.get((package, kind, position), False) or met
        missing = [[*key, 1] for key, met in groups.items() if not met]
        return [self.packages, self.dependencies, [[*row, 1] for row in self.provisions], missing]


def main():
    directory, random_ = bench.open_bench(), random.Random()
    bench.copy_tree("/app", directory + "/app")

    def load(path, name):
        database = f"{directory}/{name}.db"
        code, _, err = bench.run([bench.PYTHON, "-I", "-B", directory + "/app/load.py", path, database], cwd=directory)
        if code != 0:
            bench.finish(False, f"load.py ended with {code}: {err[-400:].decode(errors='replace')}")
        code, out, err = bench.run([bench.PYTHON, "-I", "-B", "-c", DUMP, database], cwd=directory)
        try:
            return json.loads(out)
        except ValueError:
            bench.finish(False, f"the database can't be read: {err[-400:].decode(errors='replace')}")

    for number, count in enumerate([0, 1, 30, 300]):
        status = Status(random_, count)
        path = f"{directory}/status-{number}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(status.text)
        found = load(path, str(number))
        for table, rows, right in zip(["package", "dependency", "provision", "missing"], found, status.rows()):
            rows, right = [sorted(map(json.dumps, both)) for both in (rows, right)]
            if rows != right:
                odd = sorted(set(rows) ^ set(right))[:2]
                bench.finish(False, f"{count} packages: {table} has {len(rows)} rows, {len(right)} expected; differences {odd}")

    packages, _, _, missing = load("/var/lib/dpkg/status", "own")
    names = {row[0] for row in packages}
    code, out, _ = bench.run(["/usr/bin/dpkg-query", "-W", "-f", "${binary:Package}\\t${db:Status-Status}\\n"])
    right = {line.split("\t")[0].partition(":")[0] for line in out.decode().split("\n") if line.endswith("\tinstalled")}
    bench.finish(names == right and missing == [], f"{len(names)} packages of this machine, {len(missing)} dependencies missing")


main()
