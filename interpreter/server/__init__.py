"""The code interpreter's server: what E2B's clients find at port 49999 of a sandbox."""
