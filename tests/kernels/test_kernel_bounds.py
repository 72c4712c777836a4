"""Kernels stay within their arrays: all of them over a fixed set of tables, with every index checked.

It runs compiled kernels, not their Python: what is checked is what users run, with its unsigned and narrow numbers, and
Python would take -1 for the last place. They are compiled once, about five minutes of a processor, and kept next to
the unchecked ones under names of their own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import shoal
from shoal.methods import METHODS

HOME = Path(shoal.__file__).parents[1]
LINE = re.compile(r"^(\S+): (\d+) tables, (\d+) refused, (\d+) faults", re.MULTILINE)
TWINS = (
    "judging/test_attribute_disclosure.py::test_the_plain_twin_believes_the_same",
    "judging/test_definetti.py::test_the_posterior_is_that_of_all_assignments",
    "judging/test_few_known.py::test_kernels_are_their_twins",
    "judging/test_few_known.py::test_sets_are_opened_by_the_cheapest_cell_from_outside",
    "methods/test_counted_cuts.py::test_cuts_of_histograms_are_those_of_their_twin",
    "methods/test_counted_cuts.py::test_rows_walk_down_the_cuts_as_by_the_twin",
    "methods/test_followed.py::test_the_kernel_pairs_lists_and_crowds_as_its_twin_does",
    "methods/test_forest.py::test_cheapest_closures",
    "methods/test_full_domain.py::test_kernels_agree_with_their_twins",
    "methods/test_full_domain.py::test_level_keepable_agrees_with_its_twin",
    "methods/test_k_type.py::test_sharing_out",
    "judging/test_key_matches.py",
    "judging/test_membership.py::test_shares",
    "judging/test_membership_estimate.py::test_seek_set",
    "judging/test_membership_estimate.py::test_walk_sets",
    "judging/test_membership_waves.py::test_sum_waves",
    "network/test_network_kernels.py",
    "judging/test_posterior.py::test_pair_shares",
    "judging/test_posterior.py::test_walk_assignments",
    "judging/test_record_linkage.py::test_kernels_are_their_twins",
    "methods/test_ring.py::test_diverse_groups",
    "methods/test_ring.py::test_diverse_pieces",
    "methods/test_ring.py::test_nearest_order",
    "judging/test_risk_models.py::test_people_within",
    "judging/test_singling_out.py::test_groups_of_one_person",
    "judging/test_truth.py::test_matching_by_value",
    "synthetic/test_synthetic_kernels.py",
)
"""Tests of kernels that few releases need, or none: those of attacks, networks, clusters and large tables."""
TESTED = """
import sys
import pytest
code = pytest.main(["-n0", "-q", "-p", "no:cacheprovider", "--bounds", *sys.argv[1:]])
from tests.fuzz.bounds import kernels_run
print("run:", *kernels_run())
sys.exit(code)
"""
OVERRUN = """
import numpy as np
from tests.harness.overruns import forbid_overruns
forbid_overruns()
from shoal.kernels.compiled import njit
from shoal.kernels.grouping import group_sizes

@njit(cache=False, nogil=True)
def read(values, at):
    return values[at]

@njit(cache=False, nogil=True)
def write(rows, at):
    rows[at, 0] = 1

@njit(cache=False, nogil=True)
def row(rows, at):
    return rows[at].sum()

def caught(work, *given):
    try:
        work(*given)
    except IndexError:
        return True
    return False

one, two = np.zeros(5, np.int64), np.zeros((5, 2))
for work, array in ((read, one), (write, two), (row, two)):
    for index in (np.int64, np.int32, np.uint64, np.uint8):
        assert not caught(work, array, index(4)), (work, index)
        assert caught(work, array, index(5)), (work, index)
    assert caught(work, array, -1), work
    assert caught(work, array, np.uint64(2**64 - 1)), work
assert not caught(group_sizes, np.zeros(3, np.int32), 1, np.ones(3, np.int64))
assert caught(group_sizes, np.ones(3, np.int32), 1, np.ones(3, np.int64))
"""
NAMES = """
import json, sys
from numba.core import config
if sys.argv[1] == "2":
    from tests.harness.overruns import forbid_overruns
    forbid_overruns()
from shoal.kernels.preparing import forms
print(json.dumps([str(form.dispatcher()._cache.path(form.given(), form.dispatcher().targetctx.codegen()))
                  for form in forms(["grouping.number", "rebuilding.rebuild"])]))
"""


def in_a_process(*arguments: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_BOUNDSCHECK"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=HOME,
        env={**kept, "PYTHONPATH": str(HOME), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_every_kernel_stays_within_its_arrays():
    """A mark such as -1 was used as a position, or an array is smaller than what it holds: the line says where.

    What no method runs is run by the test that compares it with its plain twin. No kernel is left out.
    """
    printed = in_a_process("-m", "tests.fuzz.bounds", "--tables", "48", "-j", "2")
    counts = {name: [int(one) for one in many] for name, *many in LINE.findall(printed)}
    assert counts.keys() == set(METHODS)
    assert all(refused < tables and not faults for tables, refused, faults in counts.values()), printed
    left = printed.partition("not run: ")[2].split()
    tested = in_a_process("-c", TESTED, *(f"tests/{name}" for name in TWINS))
    assert set(left) <= set(tested.partition("run: ")[2].split())


def test_an_overrun_is_caught():
    """Beyond either end, with every kind of index, in one column, in several, and for a whole row; also in a kernel."""
    in_a_process("-c", OVERRUN)


def test_checked_kernels_never_mix_with_others():
    """Whether indexes are checked is part of the name of a compiled kernel."""
    plain, numba, strict = (
        json.loads(in_a_process("-c", NAMES, setting, **environment))
        for setting, environment in (("0", {}), ("1", {"NUMBA_BOUNDSCHECK": "1"}), ("2", {}))
    )
    assert len({*plain, *numba, *strict}) == len(plain) + len(numba) + len(strict)
