"""Timing: the best of several runs, because the machines are noisy, printed as one table."""

from __future__ import annotations

import gc
import time


def best(work, times=5):
    """Shortest wall time of several runs, in seconds, and the last result."""
    shortest, result = float("inf"), None
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest, result


def seconds(value):
    """A duration as a person reads it."""
    if value is None:
        return "-"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def row(work, target, measured, note=""):
    """One line of a Markdown table."""
    print(f"| {work} | {target} | {measured} | {note} |", flush=True)


def head(*columns):
    """The head of a Markdown table."""
    print("| " + " | ".join(columns) + " |")
    print("|" + " --- |" * len(columns), flush=True)
