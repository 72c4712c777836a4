"""The machine that the work is done on: processes, memory, threads, and what is left if the work is ended."""
