"""Compiled loops over plain arrays. Each has a plain twin of the same name in tests/naive.py.

Files stand alone: numba's cache does not notice an edit in a file that another one imports.
"""
