#!/bin/bash
# The judge's exit code counts for nothing; it writes the reward itself.
exec /usr/bin/python3 -I -B /tests/judge.py
