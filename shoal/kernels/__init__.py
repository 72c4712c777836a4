"""Compiled loops over plain arrays. Each has a plain twin of the same name in tests/oracles.

Files share code as ``from shoal.kernels.x import y``: `compiled` stamps a kernel with every kernel file it reaches.
"""
