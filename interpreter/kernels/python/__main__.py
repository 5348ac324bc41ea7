"""The Python kernel's process: `python3 kernels/python SOCKET_FD`."""

import sys

import viv_kernel.main

# Code finds its working directory where a script's directory would be, as in a notebook.
sys.path[0] = ""
fd = int(sys.argv[1])
sys.argv = [""]
viv_kernel.main.main(fd)
