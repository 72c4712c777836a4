"""Kernels are compiled side by side before a run: the list of what runs need, and the processes."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import shoal
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels.preparing import forms, kernels_of, types_text
from shoal.methods import METHODS

HOME = str(Path(shoal.__file__).parents[1])


def in_a_process(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": HOME, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_every_listed_kernel_is_there_and_takes_as_many_arguments():
    """A kernel was renamed, or takes other arguments: ``make signatures`` writes the list anew."""
    assert len(forms()) > 50
    for form in forms():
        assert len(form.given()) == len(inspect.signature(form.dispatcher().py_func).parameters), form.kernel
        assert types_text(form.given()) == form.types


def test_methods_need_their_own_kernels_and_those_that_group_rows():
    grouping = {"grouping.group_sizes", "grouping.histograms", "grouping.number", "grouping.pack"}
    assert kernels_of("mondrian") > grouping
    assert kernels_of("forest") - grouping > {"forest.cut_trees", "forest.grow_forest"}


def test_kernels_that_count_people_are_needed_only_where_a_policy_says_whose_rows_are():
    rows, people = (Requirements(models=(KAnonymity(k=5),), people=whose) for whose in (False, True))
    more = METHODS["full-domain"]().kernels(people) - METHODS["full-domain"]().kernels(rows)
    assert {name.split(".")[0] for name in more} == {"people"}


def test_kernels_differ_by_the_type_of_codes():
    few, many = (forms(["mondrian.cut_by_size"], codes) for codes in (256, 257))
    assert [form.types.split("[")[0] for form in few + many] == ["uint8", "uint16"]


def test_missing_kernels_are_compiled_by_other_processes(tmp_path):
    script = """
import json
from shoal.kernels.preparing import forms, prepare
wanted = forms(["grouping.pack", "grouping.group_sizes"])
before, said = [form.missing() for form in wanted], []
prepare(wanted, said.append)
after = [form.missing() for form in wanted]
again = []
prepare(wanted, again.append)
for form in wanted:
    form.compile()
here = sum(sum(form.dispatcher().stats.cache_misses.values()) for form in wanted)
print(json.dumps([before, after, said[0], again, here]))
"""
    found = json.loads(in_a_process(script, NUMBA_CACHE_DIR=str(tmp_path)))
    assert found == [[True, True], [False, False], "compiling 1 of 2, once on this machine", [], 0]


def test_methods_call_what_is_listed(request):
    """Else they compile it one after the other: ``make signatures`` writes the list anew."""
    few = not request.config.getoption("--thorough")
    names = ["mondrian", "full-domain", "forest"] if few else list(METHODS)
    script = f"""
from shoal.kernels.preparing import Form, forms
from tests.harness import record_kernels as recording
recording.watch()
recording.ask_all({names}, every={not few})
recording.ask_people({names})
called = {{Form(kernel, types) for kernel, facts in recording.seen.items() for types in facts["types"]}}
print(sorted(called - set(forms())))
"""
    assert in_a_process(script).strip() == "[]"
