"""Environment variables that one execution has and the next one has not."""

import os


def lend(env):
    """Sets the variables; what they were is returned, for `give_back`."""
    former = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    return former


def give_back(former):
    """Each variable is again what it was, whatever the code did to it."""
    for name, value in former.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
