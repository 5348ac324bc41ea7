"""Every bound of the server, with its unit in the name."""

import os


def _from_environment(name, default):
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return default


# A request: the code, its environment variables.
REQUEST_HEAD_BYTES = 32 * 1024
REQUEST_BODY_BYTES = 16 * 1024 * 1024

# What one execution may print and show before it is interrupted.
OUTPUT_BYTES = _from_environment("CODE_INTERPRETER_OUTPUT_MIB", 64) * 1024 * 1024

# One message of a kernel: a result in all its representations.
MESSAGE_BYTES = 48 * 1024 * 1024

# Text that comes in one piece.
CHUNK_BYTES = 64 * 1024

# An unfinished line waits this long for its rest.
LINE_WAIT_S = 0.02

# Between two reads of output that belongs to no execution.
UNWANTED_WAIT_S = 0.05

CONTEXTS = 64
WAITING_PER_CONTEXT = 256
CONNECTIONS = 512

# How long code that was interrupted has to end before its kernel is killed; it is interrupted a second time half-way.
INTERRUPT_S = 6.0
KERNEL_START_S = 60.0
# How long a kernel that has closed its end of the channel may take to end.
CHANNEL_CLOSED_S = 1.0

# A bound for all that can be wrong with a connection that says nothing.
IDLE_CONNECTION_S = 700.0
