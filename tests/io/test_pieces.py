"""Threads that write into one array: the pieces of work never touch the same part of it, and leave nothing out."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from inspect import getclosurevars
from pathlib import Path
from types import CellType
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.io import sheet
from shoal.kernels import grouping
from shoal.methods.clustering import improvement
from shoal.methods.partitioning import branches, mondrian
from shoal.release import read_published as reading
from shoal.release import render

SHOAL = Path(shoal.__file__).parent
WHOLE: dict[str, Callable[[Any], list[np.ndarray]]] = {
    "Sheet.narrow.<locals>.fill": lambda of: [own for columns in of["alike"].values() for *_, own in columns],
    "_numbered.<locals>.place": lambda of: [of["numbers"]],
    "_packed.<locals>.fill": lambda of: [of["keys"]],
    "_Boxes.__init__.<locals>.pack": lambda of: [of["self"].words],
    "_Boxes._pack_split.<locals>.pack": lambda of: [of["self"].words],
    "sensitive_codes.<locals>.place": lambda of: [of["codes"]],
}
"""Work that fills arrays from nothing, each piece a part of them -> these arrays, from the names that it uses."""
IN_PLACE = {
    "divide_blocks.<locals>.<lambda>",
    "finish.<locals>.work",
    "join_branches.<locals>.renumber",
    "permute_rows.<locals>.shuffle",
    "search_clusters.<locals>.work",
}
"""Work that changes what is there, each piece a part of it."""
SAME = {"_find_occurring.<locals>.mark"}
"""Work that may write to the same place, but always the same: True."""
RETURNED = {
    "io/frame.py": 1,
    "io/read_back.py": 2,
    "io/sheet.py": 1,
    "kernels/grouping.py": 1,
    "judging/linking/row_search.py": 1,
    "judging/linking/truth.py": 2,
    "methods/partitioning/mondrian.py": 1,
    "release/read_published.py": 1,
    "engines/spark/spark_sources.py": 1,
    "pipeline/comparison/trial_processes.py": 1,
    "coding/encode.py": 1,
    "coding/columns.py": 1,
    "judging/linking/key_matches.py": 1,
    "methods/key_cells.py": 1,
    "synthetic/distances.py": 1,
    "synthetic/predicates.py": 1,
    "synthetic/tables.py": 1,
}
"""File -> how often threads work there on pieces that only return what they find."""
POISONS = 0xA5, 0x5A
MONDRIAN = [{"name": "mondrian"}, {"name": "mondrian", "strict": False}]
AGGLOMERATIVE = [{"name": "agglomerative", "seconds": 0}]


def arrays(thing: Any, seen: set[int] | None = None) -> dict[int, np.ndarray]:
    """Find the memory that work can reach: the arrays in its closure, in lists, tuples, tables and objects."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | type(None) | pl.Series):
        return {}
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        while isinstance(thing.base, np.ndarray):
            thing = thing.base
        return {thing.ctypes.data: thing} if thing.dtype != object and thing.size else {}
    inner: list[Any] = []
    if isinstance(thing, CellType):
        inner = [thing.cell_contents]
    elif isinstance(thing, dict):
        inner = list(thing.values())
    elif isinstance(thing, list | tuple):
        inner = list(thing)
    elif callable(thing) and getattr(thing, "__closure__", None):
        inner = [*thing.__closure__, *(thing.__defaults__ or ())]
    elif type(thing).__module__.startswith("shoal.") and hasattr(thing, "__dict__"):
        inner = list(vars(thing).values())
    found: dict[int, np.ndarray] = {}
    for one in inner:
        found |= arrays(one, seen)
    return found


def as_bytes(array: np.ndarray) -> np.ndarray:
    """Show the memory of a whole array as bytes."""
    return array.reshape(-1, order="A").view(np.uint8)


@dataclass
class Watched:
    """One call of `in_threads` or of its kin."""

    name: str
    pieces: int = 0
    touched: dict[int, Counter[int]] = field(default_factory=dict)
    """Array -> byte -> how many pieces changed it."""
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Array -> its bytes, and the bytes of a row."""


@dataclass
class Watch:
    """Runs pieces of work one by one, and records what each of them changes."""

    calls: list[Watched] = field(default_factory=list)

    def in_threads(self, work: Any, items: Any, *, many: bool = True) -> list[Any]:
        """Stand in for threads."""
        watched = Watched(work.__qualname__)
        self.calls.append(watched)
        return [self.one(watched, work, item) for item in items]

    def one(self, watched: Watched, work: Any, item: Any) -> Any:
        """Run a piece. If it fills arrays, twice: these are full of something else before, and each time of another,
        so that all that it writes is seen.
        """
        fills = WHOLE.get(watched.name)
        if fills is None:
            reached = [own for own in arrays(work).values() if own.flags.writeable]
        else:
            reached = fills(getclosurevars(work).nonlocals)
        before = [as_bytes(own).copy() for own in reached]
        written = [np.zeros(len(old), np.bool_) for old in before]
        for poison in (None,) if fills is None else POISONS:
            for own in reached if poison is not None else ():
                as_bytes(own)[:] = poison
            found = work(item)
            for own, old, changed in zip(reached, before, written, strict=True):
                changed |= as_bytes(own) != (old if poison is None else poison)
        watched.pieces += 1
        for own, old, changed in zip(reached, before, written, strict=True):
            as_bytes(own)[~changed] = old[~changed]
            at = own.ctypes.data
            watched.touched.setdefault(at, Counter()).update(np.flatnonzero(changed).tolist())
            watched.sizes[at] = own.nbytes, own.nbytes // len(own)
        return found

    def submitting(self) -> type:
        """Return what stands in for a pool of threads."""
        watch = self

        class Pool:
            def __init__(self, *_: Any) -> None:
                self.calls: dict[str, Watched] = {}

            def __enter__(self) -> Pool:
                return self

            def __exit__(self, *_: Any) -> None:
                pass

            def submit(self, work: Any, item: Any) -> Future[Any]:
                if work.__qualname__ not in self.calls:
                    self.calls[work.__qualname__] = Watched(work.__qualname__)
                    watch.calls.append(self.calls[work.__qualname__])
                done: Future[Any] = Future()
                done.set_result(watch.one(self.calls[work.__qualname__], work, item))
                return done

        return Pool


def released(rows: int, piece: int, methods: list[dict], ages: int, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Release a random table in small pieces, and watch them."""
    random, watch = np.random.default_rng(rows), Watch()
    frame = pl.DataFrame(
        {
            "age": random.integers(0, ages, rows),
            "town": random.choice(["Bern", "Basel", "Genf"], rows),
            "ill": random.choice(["flu", "cold", "none"], rows),
        }
    )
    for module in (sheet, grouping, render, reading, mondrian, branches):
        monkeypatch.setattr(module, "PIECE", piece)
        monkeypatch.setattr(module, "in_threads", watch.in_threads)
    for module in (grouping, branches):
        monkeypatch.setattr(module, "processors", lambda: 3)
    monkeypatch.setattr(branches, "ThreadPoolExecutor", watch.submitting())
    monkeypatch.setattr(improvement, "one_after_another", watch.in_threads)
    monkeypatch.setattr(improvement, "PIECE", (piece, 1))
    columns = {"age": {"role": "quasi"}, "town": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    for options in methods:
        policy = shoal.Policy.from_dict({"columns": columns, "privacy": {"k": 2}, "method": options})
        shoal.anonymize(frame, policy, seed=2)  # its first rows repeat, so that threads number them
    towns = pl.Series(["Bern", "Basel", "Genf"])
    places = random.integers(0, 3, rows).astype(np.int32)
    shown = sheet.Sheet({"town": sheet.Cells(towns, places)}, rows).narrow()
    assert shown["town"].to_list() == towns.gather(places).to_list()
    return watch


@pytest.mark.parametrize(("rows", "piece"), [(61, 8), (97, 16), (128, 16), (300, 25)])
def test_pieces_of_a_release_are_disjoint_and_leave_nothing_out(rows, piece, monkeypatch):
    """Whatever the sizes, no byte is written by two pieces, and arrays that are filled are filled to the end."""
    calls = released(rows, piece, MONDRIAN, 9, monkeypatch).calls
    several = [call for call in calls if call.pieces > 1]
    assert {call.name for call in several} >= (set(WHOLE) | IN_PLACE | SAME) - {
        "search_clusters.<locals>.work"
    }
    for call in several:
        for at, bytes_ in call.touched.items():
            assert call.name in SAME or max(bytes_.values(), default=0) <= 1, (
                f"{call.name}: two pieces write to one place"
            )
            if call.name in WHOLE:
                _check_cover(call, at, bytes_, rows)


def _check_cover(call: Watched, at: int, bytes_: Counter[int], rows: int) -> None:
    """Check that every row was written. The packed matrix of mondrian has as many rows again, for its next cuts, and
    a column of codes that are read is filled at a time."""
    whole, row = call.sizes[at]
    written = {place // row for place in bytes_}
    if call.name == "sensitive_codes.<locals>.place":
        assert len(bytes_) == whole
    elif call.name.startswith("_Boxes"):
        assert written == set(range(rows))
    else:
        assert written == set(range(whole // row))


@pytest.mark.parametrize(("rows", "piece"), [(60, 12), (150, 20)])
def test_pieces_of_the_search_for_better_clusters_are_disjoint(rows, piece, monkeypatch):
    """Clusters of different pieces leave each other alone, and numbers of new clusters are handed out once."""
    calls = [
        call
        for call in released(rows, piece, AGGLOMERATIVE, 60, monkeypatch).calls
        if call.name == "search_clusters.<locals>.work"
    ]
    assert any(call.pieces > 1 for call in calls)
    assert any(any(call.touched.values()) for call in calls)
    for call in calls:
        for bytes_ in call.touched.values():
            assert max(bytes_.values(), default=0) <= 1


def test_a_piece_that_reaches_too_far_is_noticed():
    """The watch itself: a piece that writes one row too many is seen, also if the row had that value."""
    watch, numbers = Watch(), np.zeros(10, np.int64)

    def place(start: int) -> None:
        numbers[start : start + 6] = 0

    place.__qualname__ = "_numbered.<locals>.place"
    watch.in_threads(place, range(0, 10, 5))
    (bytes_,) = watch.calls[0].touched.values()
    assert max(bytes_.values()) == 2
    assert len(bytes_) == numbers.nbytes


def test_no_other_threads_share_arrays():
    """Every place that starts threads for pieces is watched above, or is listed as one that only returns."""
    starting = {"in_threads", "one_after_another", "ThreadPoolExecutor"}
    found: Counter[str] = Counter()
    for path in SHOAL.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in starting:
                found[path.relative_to(SHOAL).as_posix()] += 1
    del found["support/machine/threads.py"]
    watched = {
        "io/sheet.py": 1,
        "kernels/grouping.py": 2,
        "methods/clustering/improvement.py": 1,
        "methods/partitioning/branches.py": 3,
        "methods/partitioning/mondrian.py": 2,
        "release/read_published.py": 1,
        "release/render.py": 2,
    }
    assert found == Counter(RETURNED) + Counter(watched)
