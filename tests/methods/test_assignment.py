"""Random assignments: valid, exactly as likely as they must be, and hard to guess from one another."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import permutations
from math import prod

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from shoal.kernels.assignment import draw_assignments
from shoal.methods.cells import ring
from shoal.methods.cells.ring import CONSTANTS, stream
from shoal.methods.partitioning.partition import Partition
from shoal.support.run import Run
from tests import oracles


def draws(size, k, times, seed=7):
    """So many assignments of one ring: [draw, position] -> how far around the ring the owner stands."""
    starts = np.arange(times + 1, dtype=np.int64) * size
    owner = np.empty(times * size, np.int32)
    degrees = np.full(times, k)
    draw_assignments(starts, degrees, degrees, stream(Run.start(seed)), owner)
    local = owner.reshape(times, size) - starts[:-1, None]
    assert (np.sort(local, axis=1) == np.arange(size)).all()
    return (local - np.arange(size)) % size


@st.composite
def rings(draw):
    """Sizes and degrees, and how many distances take part."""
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    degrees = [draw(st.integers(1, size)) for size in sizes]
    return sizes, degrees, [draw(st.integers(1, degree)) for degree in degrees]


# With more than 32 choices, or more than 2,048 rows, edges are paired span by span.
@given(rings(), st.integers(0, 1000))
@example(([100], [40], [40]), 1)
@example(([70, 3, 66], [66, 2, 65], [66, 2, 34]), 2)
@example(([2080], [6], [2]), 3)
@settings(max_examples=40)
def test_the_kernel_draws_as_its_twin(rings, seed):
    sizes, degrees, sampled = (np.array(given_) for given_ in rings)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    block = stream(Run.start(seed))
    mine, twin = (np.empty(starts[-1], np.int32) for _ in range(2))
    block_of_twin = block.copy()
    draw_assignments(starts, degrees, sampled, block, mine)
    oracles.assignment.draw_assignments(starts, degrees, sampled, block_of_twin, twin)
    assert mine.tolist() == twin.tolist()
    assert block.tolist() == block_of_twin.tolist()


def test_the_stream_is_chacha():
    """The first words of ChaCha8 with the key and nonce zero, as published for the cipher."""
    block = np.array([*CONSTANTS, *[0] * 12], np.uint32)
    words = np.array(oracles.assignment._drawn(block, 16), np.uint32)
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


def test_every_pair_of_spans_and_samples_is_as_likely():
    """Rings of several spans, over which pairs are drawn together, and of which only some distances take part."""
    for size, k, some in ((70, 6, 6), (40, 12, 5)):
        times = 10_000
        starts = np.arange(times + 1, dtype=np.int64) * size
        owner = np.empty(times * size, np.int32)
        draw_assignments(starts, np.full(times, k), np.full(times, some), stream(Run.start(3)), owner)
        offsets = (owner.reshape(times, size) - starts[:-1, None] - np.arange(size)) % size
        assert offsets.max() < k
        assert max(len(np.unique(row)) for row in offsets[:50]) <= some
        p_values = [chisquare(np.bincount(offsets[:, j], minlength=k)).pvalue for j in range(size)]
        assert min(p_values) > 1e-4 / size


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


@pytest.mark.parametrize(("size", "k"), [(4, 3), (5, 2), (5, 3), (6, 4), (7, 5), (7, 6)])
@pytest.mark.parametrize("seed", [1, 2])
def test_coins_alone_give_each_pair_its_exact_share(size, k, seed, monkeypatch):
    """However the edges were paired and the matchings found: all ways in which coins and lots can fall, weighed."""
    script, asked = [], []

    def choose(options):
        asked.append(options)
        if len(asked) > len(script):
            script.append(0)
        return script[len(asked) - 1]

    monkeypatch.setattr(oracles.assignment, "_coins", lambda block: iter(lambda: choose(2), None))
    # The last draw turns the whole ring, which would even out what coins do not.
    monkeypatch.setattr(
        oracles.assignment, "_drawn_below", lambda block, bound: choose(bound) if bound < size else 0
    )
    chances = {(j, s): Fraction(0) for j in range(size) for s in range(k)}
    while True:
        asked.clear()
        owner = np.empty(size, np.int32)
        # The words of all shuffles and walks are the same every time.
        oracles.assignment.draw_assignments([0, size], [k], [k], stream(Run.start(seed)), owner)
        for j in range(size):
            chances[j, (int(owner[j]) - j) % size] += Fraction(1, prod(asked))
        while script and script[-1] + 1 == asked[len(script) - 1]:
            script.pop()
        if not script:
            break
        script[-1] += 1
    assert set(chances.values()) == {Fraction(1, k)}


@pytest.mark.parametrize(("room", "most"), [(1, 256), (4000 * 290, 290), (1 << 27, 300)])
def test_a_ring_without_room_for_all_pairs_takes_some_distances(room, most, monkeypatch):
    monkeypatch.setattr(ring, "ROOM", room)
    whole = np.array([0, 4000], np.int64)
    parts = Partition(np.arange(4000, dtype=np.int32), whole, whole)
    used = set()
    for seed in range(8):
        owner = ring.draw_owners(parts, np.array([300]), np.array([True]), Run.start(seed))
        assert sorted(owner) == list(range(4000))
        found = set(((owner - np.arange(4000)) % 4000).tolist())
        assert len(found) == most
        used |= found
    # Others are left out every time, and none beyond the 300 cells that cover a person ever occurs.
    assert used == set(range(300))


def test_without_a_seed_the_key_comes_from_the_operating_system(monkeypatch):
    """Two runs whose generators are in the same state draw different keys; with a seed, the same."""
    generators = [np.random.Generator(np.random.PCG64DXSM(5)) for _ in range(2)]
    asked = []

    def token_bytes(many):
        asked.append(many)
        return os.urandom(many)

    monkeypatch.setattr("shoal.methods.cells.ring.secrets.token_bytes", token_bytes)
    one, other = (stream(Run(generator)) for generator in generators)
    assert asked == [48, 48]
    assert one[:4].tolist() == other[:4].tolist()
    assert not (one[4:] == other[4:]).any()
    # Nothing was drawn from the generators.
    assert generators[0].integers(1 << 60) == np.random.Generator(np.random.PCG64DXSM(5)).integers(1 << 60)
    assert stream(Run.start(5)).tolist() == stream(Run.start(5)).tolist()
    assert asked == [48, 48]
