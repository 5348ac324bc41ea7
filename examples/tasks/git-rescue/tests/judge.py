"""Compares refs with what they were, checks every object in a repository of the judge's own, and the working tree against it."""

import os
import shutil
import sys

sys.path.insert(0, "/tests")
import bench

REFS = {
    "refs/heads/main": "65dbb7550c437774d174ea96eb3412f4319d9fab",
    "refs/heads/release/1.2": "33d4c77cf958bd495aa49778bbe9160914761910",
    "refs/tags/v1.1": "c9d3fdd8500da9b0650ebccc28945755d6a5bd8a",
}
ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0"}


def main():
    directory = bench.open_bench()

    def git(*arguments):
        code, out, err = bench.run(["/usr/bin/git", *arguments], cwd=directory, env=ENV, cpu_s=20)
        return code, out.decode(errors="replace").strip(), err.decode(errors="replace").strip()

    bench.copy_tree("/app/pond", directory + "/pond")
    for name in ("alternates", "http-alternates"):
        if os.path.lexists(f"{directory}/pond/.git/objects/info/{name}"):
            bench.finish(False, "the repository borrows objects of another")

    code, out, err = git("-C", "pond", "for-each-ref", "--format=%(refname) %(objectname)")
    refs = dict(line.split(" ", 1) for line in out.split("\n") if " " in line)
    if code != 0 or refs != REFS:
        bench.finish(False, f"refs: {refs} {err}")
    code, head, err = git("-C", "pond", "symbolic-ref", "HEAD")
    if head != "refs/heads/main":
        bench.finish(False, f"HEAD is {head!r} {err}")
    code, status, err = git("-C", "pond", "status", "--porcelain", "--untracked-files=all", "--ignored")
    if code != 0 or status != "":
        bench.finish(False, f"git status: {status} {err}")
    code, out, err = git("-C", "pond", "fsck", "--full", "--strict")
    if code != 0 or "error" in err or "missing" in out + err:
        bench.finish(False, f"git fsck: {out} {err}")

    # Once more in a repository that has nothing but the objects: no configuration, index or hook of the agent.
    git("init", "-q", "-b", "main", "judged")
    shutil.rmtree(directory + "/judged/.git/objects")
    os.rename(directory + "/pond/.git/objects", directory + "/judged/.git/objects")
    shutil.rmtree(directory + "/pond/.git")
    for name, value in REFS.items():
        code, _, err = git("-C", "judged", "update-ref", name, value)
        if code != 0:
            bench.finish(False, f"{name}: {err}")
    code, out, err = git("-C", "judged", "fsck", "--full", "--strict")
    if code != 0 or "error" in err or "missing" in out + err:
        bench.finish(False, f"git fsck: {out} {err}")
    tree = ["-C", "judged", "--work-tree=" + directory + "/pond"]
    git(*tree, "read-tree", "main")
    code, status, err = git(*tree, "status", "--porcelain", "--untracked-files=all", "--ignored")
    if code != 0 or status != "":
        bench.finish(False, f"the working tree differs: {status} {err}")
    bench.finish(True, "everything is as it was")


main()
