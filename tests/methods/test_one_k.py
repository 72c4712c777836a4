"""Algorithm 5, the (1,k)-anonymizer, on any generalization."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.k_type import KOne, OneK
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.cells.one_k import one_k_anonymized
from shoal.release import Release
from shoal.support.run import Run
from tests.inputs.strategies import tables
from tests.methods.test_k_type import coded, shown


def as_release(cells):
    """Each row with its own ranges: low and high of every column in turn."""
    cells = np.array(cells, np.int32)
    return Release(np.arange(len(cells), dtype=np.int32), cells[:, ::2].copy(), cells[:, 1::2].copy())


def ranges(release):
    return np.stack([release.low[release.region_of], release.high[release.region_of]], axis=2).tolist()


def test_the_worked_example():
    """The (2,1) table of the notions' example becomes (2,2): only the first person is covered once, and the cheapest
    cell to grow is that of (1, 4), by the value 3.
    """
    table = coded([[1, 1, 2], [3, 4, 4]], [5, 5])
    start = as_release([(1, 1, 3, 4), (1, 2, 4, 4), (1, 2, 4, 4)])
    found = one_k_anonymized(table, start, 2, run=Run.start(1))
    assert found.facts["grown"] == 1
    assert ranges(found)[0] == [[1, 1], [3, 4]]
    assert sorted(ranges(found)[1:]) == [[[1, 2], [3, 4]], [[1, 2], [4, 4]]]


def test_exact_rows_get_the_nearest_others():
    """Values 1, 2, 9 and k = 2: the rows of 1 and 2 grow to 1-2 for each other, then one of them to cover 9."""
    table = coded([[1, 2, 9]], [10])
    found = one_k_anonymized(table, as_release([(1, 1), (2, 2), (9, 9)]), 2, run=Run.start(1))
    assert sorted(ranges(found)) == [[[1, 2]], [[1, 9]], [[9, 9]]]


@given(
    tables(rows=st.integers(3, 12), columns=st.integers(1, 3)),
    st.integers(2, 3),
    st.sampled_from(["lm", "entropy"]),
)
@settings(max_examples=60)
def test_any_generalization_is_raised(table, k, measure):
    """Exact rows, and classes of two rows; cells only grow, and what was (k,1) stays so."""
    exact = Release(np.arange(table.rows, dtype=np.int32), table.quasi.wide.copy(), table.quasi.wide.copy())
    pairs = METHODS["mondrian"]().anonymize(table, Requirements(models=(KAnonymity(k=2),)), Run.start(1))
    if np.any(pairs.region_of < 0) or table.block_of.any():
        return
    for start in (exact, pairs):
        found = one_k_anonymized(table, start, k, measure, Run.start(1))
        low, high = found.low[found.region_of], found.high[found.region_of]
        before_low, before_high = start.low[start.region_of], start.high[start.region_of]
        assert OneK(k=k).verify(shown(table, low, high)).holds
        # Equal rows may have exchanged their cells, so only sums can be compared.
        assert low.sum() <= before_low.sum()
        assert high.sum() >= before_high.sum()
        if KOne(k=k).verify(shown(table, before_low, before_high)).holds:
            assert KOne(k=k).verify(shown(table, low, high)).holds


def test_what_cannot_grow_is_refused():
    table = coded([[1, 2, 3]], [4])
    with pytest.raises(DataError, match="do not cover"):
        one_k_anonymized(table, as_release([(1, 1), (1, 1), (3, 3)]), 2)
    left_out = Release(np.array([0, 1, -1], np.int32), *[np.array([[1], [2]], np.int32)] * 2)
    with pytest.raises(DataError, match="suppressed rows"):
        one_k_anonymized(table, left_out, 2)
