"""The server process: `serve.py LISTENER_FD …`. Started by launcher.py; the code is in the package beside it."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from server.main import main  # noqa: E402

main(int(sys.argv[1]))
