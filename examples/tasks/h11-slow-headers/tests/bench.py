"""What every judge needs: agent code runs as `nobody`, who can neither read /tests nor touch the reward."""

import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

NOBODY = 65534
REWARD = "/logs/verifier/reward.txt"
OUTPUT_MAX = 16 << 20
PYTHON = "/usr/bin/python3"
# Without new privileges neither sudo nor a set-user-ID program that the agent left makes nobody root.
AS_NOBODY = ["/usr/bin/setpriv", "--no-new-privs", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]


def open_bench():
    """Closes the judge's files to everybody else and returns a directory that belongs to nobody."""
    for path in ("/tests", "/logs/verifier"):
        os.chmod(path, 0o700)
    bench = tempfile.mkdtemp(prefix="bench-")
    os.chown(bench, NOBODY, NOBODY)
    return bench


def run(argv, *, cwd="/", stdin=b"", timeout_s=60, cpu_s=30, env=None):
    """Runs agent code as nobody. Returns (exit code, stdout, stderr); a timeout is exit code 124.

    CPU time is what a judge may hold against a program; the time on the clock is for programs that wait for ever.
    """

    def limits():
        resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_MAX, OUTPUT_MAX))
        # The timer, which execve keeps, is exact; code that switches it off meets the limit, which counts whole seconds.
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(cpu_s), math.ceil(cpu_s)))

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            [*AS_NOBODY, *argv],
            cwd=cwd,
            stdin=given,
            stdout=out,
            stderr=err,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": cwd, "LC_ALL": "C.UTF-8", **(env or {})},
            start_new_session=True,
            preexec_fn=limits,
        )
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = 124
        end_nobody()
        process.wait()
        out.seek(0)
        err.seek(0)
        return code, out.read(OUTPUT_MAX), err.read(OUTPUT_MAX)


def end_nobody():
    """Kills every process of nobody, also those that left their session."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def copy_tree(source, target):
    """Copies the agent's files and directories for nobody; links and special files are left behind."""

    def uninteresting(directory, names):
        return [
            name
            for name in names
            if os.path.islink(path := os.path.join(directory, name)) or not (os.path.isfile(path) or os.path.isdir(path))
        ]

    if os.path.islink(source) or not os.path.isdir(source):
        finish(False, f"{source} is not a directory")
    shutil.copytree(source, target, ignore=uninteresting, dirs_exist_ok=True)
    for directory, _, files in os.walk(target):
        hand_over(directory, 0o700)
        for name in files:
            hand_over(os.path.join(directory, name), 0o600)


def hand_over(path, mode):
    os.chown(path, NOBODY, NOBODY)
    os.chmod(path, os.stat(path).st_mode | mode)


def finish(passed, why):
    """Writes the reward and ends the judge."""
    end_nobody()
    print(("passed: " if passed else "failed: ") + why[:600])
    with open(REWARD + ".new", "x") as file:
        file.write("1\n" if passed else "0\n")
    os.replace(REWARD + ".new", REWARD)
    sys.exit(0)
