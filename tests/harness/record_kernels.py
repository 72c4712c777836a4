"""Write shoal/kernels/signatures.json: which kernels are called, by which methods, with which types.

``make signatures`` runs it, after a method or the arguments of a kernel have changed.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import shoal
from shoal.apps.samples import sample
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI
from shoal.errors import PolicyError, ShoalError
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels.preparing import LISTED, types_text
from shoal.methods import METHODS, Method
from shoal.methods.full_domain.search import Search
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.support.machine.threads import PIECE
from shoal.support.run import Run
from tests.inputs.samples import CENSUS, DATA, PATIENTS
from tests.methods.test_contract_methods import ANSWERS, ask

HOME = str(Path(shoal.__file__).parent)
seen: dict[str, dict[str, set[str]]] = defaultdict(lambda: {"methods": set(), "types": set()})


def watch() -> None:
    """Note the kernel and its types whenever numba looks for a compiled form, which it does once for all callers.

    So it has to look again for each method.
    """
    from numba.core.dispatcher import _DispatcherBase

    find = _DispatcherBase._compile_for_args
    noted = set()
    at_work: list[Method] = []

    def note(kernel: Any, *given: Any, **named: Any) -> Any:
        result = find(kernel, *given, **named)
        module, caller = kernel.py_func.__module__, sys._getframe(1).f_code.co_filename
        if module.startswith("shoal.kernels."):
            noted.add(kernel)
            if caller.startswith(HOME):
                facts = seen[f"{module.rpartition('.')[2]}.{kernel.py_func.__name__}"]
                facts["types"].add(types_text(kernel.typeof_pyval(one) for one in given))
                # Models and unusual options are not the method's own.
                if at_work and not caller.startswith(f"{HOME}/judging/models/") and all(map(_usual, at_work)):
                    facts["methods"] |= {method.name for method in at_work}
            else:
                kernel._reset_overloads()
        return result

    def watched(kind: type[Method]) -> Any:
        anonymize = kind.anonymize

        def noting(self: Method, *given: Any, **named: Any) -> Any:
            for kernel in noted:
                kernel._reset_overloads()
            at_work.append(self)
            try:
                return anonymize(self, *given, **named)
            finally:
                at_work.pop()

        return noting

    _DispatcherBase._compile_for_args = note
    for kind in {kind for name in METHODS for kind in METHODS[name].__mro__ if "anonymize" in vars(kind)}:
        kind.anonymize = watched(kind)


def _usual(method: Method) -> bool:
    """Whether all options have their defaults."""
    return all(
        field.default in (MISSING, getattr(method, field.name))
        for field in fields(method)  # type: ignore[arg-type]
    )


def write(path: Path) -> None:
    """Write what was seen, one kernel in a line."""
    lines = [
        f"{json.dumps(name)}: {json.dumps({key: sorted(values) for key, values in facts.items()})}"
        for name, facts in sorted(seen.items())
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def ask_all(names: Iterable[str], *, every: bool = True) -> None:
    """Let methods answer the questions of the contract tests, or the first one each."""
    for name in names:
        for question in sorted(ANSWERS[name])[: None if every else 1]:
            # More than 256 different values are coded in wider numbers.
            for sampled, rows in ((PATIENTS, 60), (PATIENTS, 300), (CENSUS, 60)):
                if rows == 60 or question in ("sizes", "values"):
                    with suppress(PolicyError):  # the second sample has no hierarchy for some questions
                        ask(sampled, name, question, rows)


def ask_people(names: Iterable[str]) -> None:
    """Let methods count the people of a table in which some have several rows."""
    policy = shoal.Policy.read(DATA / "visits.toml").to_dict()
    for name in names:
        for rows in (150, 900) if METHODS[name].can.count_people else ():
            asked = {"k": 3, "l": {"distinct": 2, "probabilistic": 1.2}, "p": 2}
            with suppress(ShoalError):  # some methods need other requirements
                shoal.anonymize(
                    sample("visits", rows),
                    shoal.Policy.from_dict({**policy, "privacy": asked, "method": {"name": name}}),
                )


def ask_rarely() -> None:
    """Call kernels that few tables need: a wheel has them, but no method has them compiled before it starts."""
    few, many = (
        encode(sample("census", rows), [ColumnPlan(name, QUASI) for name in ("age", "education")])
        for rows in (60, 2 * PIECE + 1)
    )
    five = Requirements(models=(KAnonymity(k=5),))
    Mondrian().first_boxes(many, five, 0, Run.start(1))
    for measure in ("lm", "avg"):
        own = Search(few, replace(five, measure=measure), Run.start(1))
        own._settle_between(own.lattice.top.copy())
        own._settle_highest(own.lattice.bottom.copy())


if __name__ == "__main__":
    watch()
    ask_all(ANSWERS)
    ask_people(METHODS)
    ask_rarely()
    write(LISTED)
