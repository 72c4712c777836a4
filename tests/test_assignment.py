"""Random assignments: valid, exactly as likely as they must be, and hard to guess from one another."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from shoal.kernels.assignment import draw_assignments
from shoal.methods.ring import CONSTANTS, stream
from shoal.run import Run
from tests import naive


def draws(size, k, times, seed=7):
    """So many assignments of one ring: [draw, position] -> how far around the ring the owner stands."""
    starts = np.arange(times + 1, dtype=np.int64) * size
    owner = np.empty(times * size, np.int32)
    draw_assignments(starts, np.full(times, k), stream(Run.start(seed)), owner)
    local = owner.reshape(times, size) - starts[:-1, None]
    assert (np.sort(local, axis=1) == np.arange(size)).all()
    return (local - np.arange(size)) % size


@given(st.data())
@settings(max_examples=40)
def test_the_kernel_draws_as_its_twin(data):
    sizes = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    degrees = np.array([data.draw(st.integers(1, size)) for size in sizes])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    block = stream(Run.start(data.draw(st.integers(0, 1000))))
    mine, twin = (np.empty(starts[-1], np.int32) for _ in range(2))
    block_of_twin = block.copy()
    draw_assignments(starts, degrees, block, mine)
    naive.draw_assignments(starts, degrees, block_of_twin, twin)
    assert mine.tolist() == twin.tolist()
    assert block.tolist() == block_of_twin.tolist()


def test_the_stream_is_chacha():
    """The first words of ChaCha8 with the key and nonce zero, as published for the cipher."""
    block = np.array([*CONSTANTS, *[0] * 12], np.uint32)
    words = np.array(naive._drawn(block, 16), np.uint32)
    assert words.tobytes().hex().startswith("3e00ef2f895f40d67f5bb8e81f09a5a1")


@pytest.mark.parametrize(("size", "k"), [(5, 3), (5, 5), (7, 2), (8, 4), (9, 6), (11, 7), (13, 10), (50, 10)])
def test_every_pair_is_as_likely(size, k):
    times = 20_000
    offsets = draws(size, k, times)
    assert offsets.max() < k
    counts = np.stack([np.bincount(offsets[:, i], minlength=k) for i in range(size)])
    # One test per position; the smallest of so many p-values is small, but not this small.
    p_values = [chisquare(own).pvalue for own in counts]
    assert min(p_values) > 1e-4 / size


@pytest.mark.parametrize(("size", "k"), [(9, 4), (12, 5), (20, 10)])
def test_one_known_pair_gives_no_other_away(size, k):
    offsets = draws(size, k, 40_000)
    known = offsets[offsets[:, 0] == 1]
    for other in range(1, size):
        likely = np.bincount(known[:, other], minlength=k).max() / len(known)
        # The ideal is 1/(k-1); one common rotation would give 1.
        assert likely < 0.75


def test_wide_rings_use_all_their_offsets():
    offsets = draws(320, 300, 60)
    assert offsets.max() < 300
    assert len(np.unique(offsets)) == 300
    # In one draw at most 256 of them occur.
    assert max(len(np.unique(row)) for row in offsets) <= 256
    starts, block = np.array([0, 270], np.int64), stream(Run.start(5))
    mine, twin = np.empty(270, np.int32), np.empty(270, np.int32)
    again = block.copy()
    draw_assignments(starts, np.array([260]), block, mine)
    naive.draw_assignments(starts, np.array([260]), again, twin)
    assert mine.tolist() == twin.tolist()


def test_five_rows_have_thirteen_assignments_and_uniform_draws_are_not_safe():
    fits = [[(person - position) % 5 < 3 for person in range(5)] for position in range(5)]
    found = [p for p in permutations(range(5)) if all(fits[i][p[i]] for i in range(5))]
    assert len(found) == 13
    by_offset = [sum((p[0] - 0) % 5 == offset for p in found) for offset in range(3)]
    assert by_offset == [4, 5, 4]
    drawn = {tuple(row) for row in ((draws(5, 3, 4000) + np.arange(5)) % 5).tolist()}
    assert drawn == set(found)


def test_a_seed_repeats_the_draw_and_others_differ():
    assert (draws(12, 5, 50, seed=1) == draws(12, 5, 50, seed=1)).all()
    assert (draws(12, 5, 50, seed=1) != draws(12, 5, 50, seed=2)).any()
