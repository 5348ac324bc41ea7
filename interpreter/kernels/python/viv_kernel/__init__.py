"""The Python kernel: IPython's shell behind a socket. The package's name is one that code under test would not have."""
