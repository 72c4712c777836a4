"""Kernels that check every index, so that an access beyond an array is an error and not a change of foreign memory.

numba checks bounds if it is asked to, but takes a negative index for one that counts from the end. No kernel does that
on purpose; what they have instead are marks such as -1 for "none", which must never be used as a position. So here a
negative index is beyond the array too.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.kernels.preparing import Form

CHECKED = 2
"""The setting of numba with which these kernels are compiled, other than its own 0 and 1. It is part of the name of
each compiled kernel, so no run without checks loads one of them, and no run with checks loads another."""


def forbid_overruns() -> None:
    """Compile all kernels of this process with checks. Before the first is imported."""
    from numba.core import cgutils, config, types
    from numba.np import arrayobj

    if config.BOUNDSCHECK == CHECKED:
        return
    config.BOUNDSCHECK = CHECKED
    pointed = cgutils.get_item_pointer2

    def not_wrapped(*given: Any, wraparound: bool = False, **more: Any) -> Any:
        return pointed(*given, wraparound=False, **more)

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)

    cgutils.get_item_pointer2 = not_wrapped
    arrayobj.fix_integer_index = as_it_is


def compile_checked(methods: Iterable[str], jobs: int) -> None:
    """Compile the kernels of methods with checks, the largest first, in so many processes."""
    from shoal.kernels.preparing import forms, kernels_of

    forbid_overruns()
    wanted = forms({kernel for method in methods for kernel in kernels_of(method)})
    missing = sorted((form for form in wanted if form.missing()), key=lambda form: -form.size())
    if missing:
        with ProcessPoolExecutor(jobs, get_context("spawn"), forbid_overruns) as pool:
            list(pool.map(_compile, missing))


def _compile(form: Form) -> None:
    form.compile()
