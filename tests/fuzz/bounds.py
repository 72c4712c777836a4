"""Random tables through kernels that check every index: `make bounds`.

Each case of `tests.fuzz` is released and verified in memory, and then its method runs on many small parts of a larger
table with the same values and the same policy, which costs little more than the kernels do.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from typing import Any

import numpy as np
import polars as pl

import shoal
import shoal.kernels
from shoal import io
from shoal.coding import CodedTable
from shoal.errors import InfeasibleError, ShoalError
from shoal.judging.models.feasibility import reasons_against
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS, Method
from shoal.methods.wrappers import propose_release
from shoal.pipeline.comparison.choose_release import with_choice
from shoal.pipeline.plan import Plan
from shoal.pipeline.steps import propose
from shoal.release.received.read_earlier import encode_whole
from shoal.support.run import Run
from tests.fuzz.cases import Case
from tests.fuzz.cases import case as drawn_case
from tests.fuzz.running import folder
from tests.harness.overruns import compile_checked, forbid_overruns

CASES = 5
"""How many cases the tables of a round are made of, if each of them is released."""
LARGE = 600
"""Rows of the table that they are parts of."""
ROWS = (2, 60)
ROUND = 500
"""Tables that a method gets before the next one has its turn."""
REFUSED = "refused"
ROUNDED = (
    "110 012 010 013 002 002 002 000 010 002 002 012 010 010 101 "
    "011 003 011 110 121 031 114 123 024 133 015 134 124 110 104"
)
"""A table: three codes for each row."""


@dataclass
class Found:
    """What became of some tables of a method."""

    method: str
    tables: int = 0
    refused: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    kernels: set[str] = field(default_factory=set)
    """Those that the process of the last round has run by now."""

    def add(self, other: Found) -> None:
        """Add the tables of another round."""
        self.tables += other.tables
        self.refused += other.refused
        self.seconds += other.seconds
        self.faults += other.faults
        self.kernels |= other.kernels

    def __str__(self) -> str:
        return (
            f"{self.method}: {self.tables:,} tables, {self.refused:,} refused, {sum(self.faults.values())} faults, "
            f"{self.tables / max(self.seconds, 1e-9):.0f} a second"
        )


def main() -> int:
    """Run, print, and return 1 if an index was out of bounds or anything else broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.bounds", description=__doc__)
    parser.add_argument("--tables", type=int, default=1000, help="tables for each method")
    parser.add_argument(
        "--method", action="append", choices=list(METHODS), help="only this one; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    os.environ["POLARS_MAX_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    methods = asked.method or list(METHODS)
    compile_checked(methods, asked.jobs)
    whole = {name: Found(name) for name in methods}
    rounds = (
        (name, asked.seed, first, min(first + ROUND, asked.tables))
        for first in range(0, asked.tables, ROUND)
        for name in methods
    )
    with ProcessPoolExecutor(asked.jobs, get_context("spawn"), forbid_overruns) as pool:
        for found in pool.map(_round, *zip(*rounds, strict=True)):
            own = whole[found.method]
            for fault in found.faults.keys() - own.faults.keys():
                print(fault, flush=True)
            own.add(found)
            print(own, flush=True)
    if left := every_kernel() - set().union(*(own.kernels for own in whole.values())):
        print("not run:", *sorted(left))
    return int(any(own.faults for own in whole.values()))


def _round(method: str, seed: int, begin: int, end: int) -> Found:
    """Run the tables of a method from `begin` to `end`."""
    warnings.simplefilter("ignore")
    found, start = Found(method), time.perf_counter()
    for error in _judged(_fixed(method) if begin == 0 else iter(())):
        found.add(Found(method, 1, error == REFUSED))
        if error not in ("", REFUSED):
            found.faults[f"{method}, a table that never changes: {error}"] += 1
    step, share = len(METHODS), -(-(end - begin) // CASES)
    for number in count(list(METHODS).index(method) + begin * step, step):
        for error in attempts(drawn_case(seed, number), min(share, end - begin - found.tables)):
            found.tables += 1
            found.refused += error == REFUSED
            if error not in ("", REFUSED):
                found.faults[f"{method}, seed {seed}, case {number}: {error}"] += 1
        if found.tables >= end - begin:
            break
    found.seconds, found.kernels = time.perf_counter() - start, kernels_run()
    return found


def every_kernel() -> set[str]:
    """Name all kernels, as ``file.function``."""
    for module in iter_modules(shoal.kernels.__path__):
        import_module(f"shoal.kernels.{module.name}")
    return set(_compiled())


def kernels_run() -> set[str]:
    """Name the kernels that this process has run, and those that they call."""
    known = _compiled()
    todo, found = [own for own in known.values() if own.signatures], set()
    while todo:
        function = todo.pop().py_func
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        if name not in found:
            found.add(name)
            called = map(function.__globals__.get, function.__code__.co_names)
            todo += [one for one in called if hasattr(one, "py_func")]
    return found


def _compiled() -> dict[str, Any]:
    """Return the kernels that were imported, by name."""
    modules = [
        (name.rpartition(".")[2], module)
        for name, module in sys.modules.items()
        if name.startswith("shoal.kernels.")
    ]
    return {
        f"{file}.{name}": own
        for file, module in modules
        for name, own in vars(module).items()
        if hasattr(own, "py_func") and own.__module__ == module.__name__
    }


def attempts(case: Case, most: int) -> Iterator[str]:
    """Yield what became of each table of a case: nothing, a refusal, or an error and where it was raised."""
    random = Random(f"{case.release_seed} bounds")
    case = replace(case, source="polars", target="polars", data={})
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        yield from islice(_judged(_works(case, random, Path(place))), most)


def _judged(works: Iterator[Callable[[], Any]]) -> Iterator[str]:
    while True:
        try:
            next(works)()
            yield ""
        except StopIteration:
            return
        except ShoalError:
            yield REFUSED
        except Exception as error:  # whatever it is, it is a fault
            places = traceback.extract_tb(error.__traceback__)[-3:]
            where = ", ".join(f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in places)
            yield f"{type(error).__name__}: {str(error)[:200]} ({where})"


def _fixed(method: str) -> Iterator[Callable[[], Any]]:
    """Yield what to do with tables that every run has: people with several rows, and what was found before."""
    random = np.random.default_rng(1)
    quasi = {"age": random.integers(0, 9, 40), "town": random.integers(0, 4, 40)}
    rows = pl.DataFrame({**quasi, "ill": random.integers(0, 5, 40), "who": random.integers(0, 25, 40)})
    roles = {"age": "quasi", "town": "quasi", "ill": "sensitive", "who": "person"}
    yield partial(_released, rows, roles, {"name": method}, {})
    if method == "agglomerative":
        # The cost of a step was rounded to below its limit, and a row without a cluster was kept.
        values = ["v0", "v1"], [1, 3, 7, None], [4, 7, 8, 10, 14, None]
        cells = zip(*(map(int, row) for row in ROUNDED.split()), strict=True)
        own = {f"q{j}": [values[j][code] for code in codes] for j, codes in enumerate(cells)}
        options = {"name": method, "distance": "growth", "seconds": 0}
        yield partial(
            _released, pl.DataFrame(own), dict.fromkeys(own, "quasi"), options, {"q0": 2.0, "q1": 2.0}
        )


def _released(frame: Any, roles: Mapping[str, str], options: Mapping[str, Any], weights: Any) -> None:
    weighted = {name: {"weight": weight} for name, weight in weights.items()}
    columns = {name: {"role": role, **weighted.get(name, {})} for name, role in roles.items()}
    policy = shoal.Policy.from_dict({"columns": columns, "privacy": {"k": 2}, "method": dict(options)})
    shoal.anonymize(frame, policy, seed=1)


def _works(case: Case, random: Random, place: Path) -> Iterator[Callable[[], Any]]:
    """Yield what to do with the case: first all of a release, and then the method on one table after the other."""
    for column in case.columns:
        if column.file is not None:
            (place / str(column.spec)).write_text(column.file, encoding="utf-8")
    policy = shoal.Policy.from_dict(case.policy, place)
    plan = Plan.of(policy)
    method, division = with_choice(plan).method, policy.engine.division

    def table_of(frame: Any) -> CodedTable:
        return encode_whole(io.read(policy.source(frame), policy.read_options()), policy)

    def whole() -> None:
        table = table_of(case.frame)
        own = plan.on(table)
        judged = own.judge(table, propose(own, table, Run.start(case.release_seed, division=division)))
        _ = judged.failing, judged.measures

    yield whole
    large = table_of(_larger(case, random))
    requirements = policy.requirements(large.sensitive)
    while True:
        rows = np.array(random.sample(range(large.rows), random.randint(*ROWS)))
        part = large.part(rows)
        own = tuple(replace(one, whole=None) for one in part.countings)
        table = replace(part, quasi=replace(part.quasi, of_whole=None), countings=own)
        if large.context.population is not None:
            others = random.choices(range(len(large.context.population)), k=random.randint(0, ROWS[1]))
            everyone = np.asfortranarray(np.concatenate([table.quasi.wide, large.context.population[others]]))
            table = table.with_context(population=everyone, population_size=len(everyone))
        run = Run.start(random.randrange(2**31), division=division)
        yield partial(_run, method, table, requirements.in_table(table), run)


def _run(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> None:
    """Let a method make a release, unless no release can satisfy the requirements."""
    if reasons := reasons_against(table, requirements, limits=method.heeds_limits):
        raise InfeasibleError("; ".join(reasons))
    propose_release(method, table, requirements, run)


def _larger(case: Case, random: Random) -> Any:
    """Return a table with the values of a case in other combinations."""
    columns = [replace(own, values=random.choices(own.values, k=LARGE)) for own in case.columns]
    return replace(case, columns=tuple(columns)).frame


if __name__ == "__main__":
    sys.exit(main())
