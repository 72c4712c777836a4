"""``python -m benchmarks``: the foundation's table; other modules here have tables of their own."""

from benchmarks.foundation import main

main()
