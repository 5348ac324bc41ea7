"""Makes a repository with fixed names and dates, so that its commits have the ids that the judge knows; then damages it."""

import os
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
POND = os.path.join(ROOT, "pond")
ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in (("NAME", "Nell"), ("EMAIL", "nell@pond.invalid"))},
}
clock = 1_700_000_000


def git(*arguments, where=POND):
    env = {**ENV, "GIT_AUTHOR_DATE": f"{clock} +0100", "GIT_COMMITTER_DATE": f"{clock} +0100"}
    return subprocess.run(["git", *arguments], cwd=where, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def put(name, text):
    path = os.path.join(POND, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def commit(subject, *options):
    global clock
    clock += 5000
    git("add", "-A")
    git("commit", "-q", *options, "-m", subject)
    return git("rev-parse", "HEAD")


def feeding(times):
    return "".join(f"feed({hour});\n" for hour in times)


def make():
    os.makedirs(POND)
    git("init", "-q", "-b", "main", ".")
    put("README", "Looks after a pond.\n")
    commit("Begin")
    for number, animal in enumerate(["newts", "frogs", "snails", "carps", "dragonflies", "water striders", "herons"]):
        put(f"animals/{animal.replace(' ', '-')}.c", f'/* {animal} */\nint number_of_{animal.split()[0]} = {number * 7 + 3};\n')
        put("src/pond.c", '#include "pond.h"\n' + feeding(range(6, 7 + number)))
        commit(f"The pond has {animal}")
        if animal == "carps":
            git("tag", "-a", "-m", "First pond that works", "v1.1")
        if animal == "dragonflies":
            # What is older than this is in a pack, what follows is not.
            git("repack", "-q", "-a", "-d")
    git("checkout", "-q", "-b", "release/1.2", "main~3")
    put("VERSION", "1.2.0\n")
    commit("Release 1.2.0")
    put("VERSION", "1.2.1\n")
    put("src/pond.h", "void feed(int hour);\n")
    commit("Release 1.2.1")
    git("checkout", "-q", "main")
    put("src/pond.h", "void feed(int hour);\n")
    put("Makefile", "pond: src/pond.c\n\t$(CC) -c -o $@ $<\n")
    commit("It compiles")
    git("bundle", "create", "-q", os.path.join(ROOT, "laptop.bundle"), "main", "v1.1")
    put("animals/herons.c", "/* herons are not welcome */\n")
    commit("Herons leave")
    put("src/pond.c", '#include "pond.h"\n' + feeding([6, 9, 12, 15, 18, 21]) + "sleep();\n")
    commit("Feed twice as often: not tried yet")
    put("src/pond.c", '#include "pond.h"\n' + feeding([6, 12, 18]) + "sleep();\n")
    commit("Feed three times a day", "--amend")


def object_path(name):
    return os.path.join(POND, ".git/objects", name[:2], name[2:])


def damage():
    dot_git = os.path.join(POND, ".git")
    pond_c, tree = git("rev-parse", "main:src/pond.c"), git("rev-parse", "main~2:src")
    for name in (pond_c, tree):
        os.chmod(object_path(name), 0o644)
        with open(object_path(name), "r+b") as file:
            file.truncate(file.seek(0, 2) // 2)
    for name in os.listdir(dot_git + "/objects/pack"):
        if not name.endswith(".pack"):
            os.unlink(f"{dot_git}/objects/pack/{name}")
    subprocess.run(["rm", "-rf", dot_git + "/logs", dot_git + "/ORIG_HEAD", dot_git + "/hooks"], check=True)
    os.unlink(dot_git + "/refs/heads/release/1.2")
    os.rmdir(dot_git + "/refs/heads/release")
    main = git("rev-parse", "main") if os.path.exists(dot_git + "/refs/heads/main") else sys.exit("main is packed")
    for path, text in {"refs/heads/main": main[:17], "HEAD": "ref: refs/heads/mai\n", "index.lock": "", "COMMIT_EDITMSG": "\0" * 64}.items():
        with open(os.path.join(dot_git, path), "w") as file:
            file.write(text)
    with open(dot_git + "/index", "r+b") as file:
        file.seek(40)
        file.write(b"\0" * 300)


make()
if len(sys.argv) > 2:
    print(git("rev-parse", "main", "release/1.2", "v1.1"))
else:
    damage()
