"""The parts of reports: gates, bins, spreads and associations, against plain counting."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from scipy.stats.contingency import association

from shoal.coding import CodedTable
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.documents.report.bins import EVERYTHING, MISSING, OTHER, Bins, bins_of, label
from shoal.documents.report.distributions import Spread, correlations, cramers_v, spearman
from shoal.documents.report.gate import USUAL_K, Gate
from shoal.documents.report.risk_section import Risks, size_bins
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.release.published import Boxes, Published
from shoal.release.read_published import read_back
from shoal.release.render import render
from shoal.support.run import Run
from tests.inputs.strategies import tables

COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=12).map(lambda held: np.array(held, np.int64))


def gates(public: bool = True) -> st.SearchStrategy[Gate]:
    return st.builds(Gate, st.just(public), st.integers(2, 6))


# --- gate -------------------------------------------------------------------------------------------------


@given(COUNTS, gates())
def test_runs_of_a_public_gate_rest_on_nobody_or_on_k(people: np.ndarray, gate: Gate) -> None:
    runs = gate.runs(people)
    assert runs[0][0] == 0
    assert runs[-1][1] == len(people) - 1
    assert all(before[1] + 1 == after[0] for before, after in pairwise(runs))
    held = [int(people[first : last + 1].sum()) for first, last in runs]
    assert len(runs) == 1 or all(count == 0 or count >= gate.k for count in held)


@given(COUNTS, gates(), st.integers(2, 6))
def test_categories_that_are_shown_have_k_people_and_so_has_the_lump(
    people: np.ndarray, gate: Gate, most: int
) -> None:
    lumped = np.array(gate.hidden(people, most))
    assert (people[~lumped] >= gate.k).all()
    assert (~lumped).sum() <= most
    assert people[lumped].sum() == 0 or people[lumped].sum() >= gate.k or lumped.all()


@given(COUNTS)
def test_a_private_gate_hides_nothing_that_fits(people: np.ndarray) -> None:
    gate = Gate(False, 5)
    assert gate.runs(people) == [(i, i) for i in range(len(people))]
    assert gate.hidden(people, len(people)) == (people == 0).tolist()


def test_the_k_of_a_gate_is_the_policy_s_or_the_usual_one() -> None:
    assert Gate.of(Requirements(models=(KAnonymity(k=7),)), public=True).k == 7
    assert Gate.of(Requirements(models=()), public=True).k == USUAL_K


# --- bins -------------------------------------------------------------------------------------------------


def coded(values: list[object], hierarchy: object = None) -> CodedTable:
    return encode(pl.DataFrame({"a": values}), [ColumnPlan("a", QUASI, hierarchy)])  # type: ignore[arg-type]


def binned(values: list[object], gate: Gate, hierarchy: object = None) -> dict[str, int]:
    table = coded(values, hierarchy)
    bins = bins_of(table.attributes[0], table.value_counts[0], gate, made_from_data=hierarchy == "auto")
    return dict(zip(bins.labels, bins.count(table.value_counts[0]).astype(int).tolist(), strict=True))


@given(
    st.lists(st.integers(-50, 5000) | st.none(), min_size=1, max_size=60),
    st.booleans(),
    st.integers(2, 5),
)
def test_every_number_has_a_bin_that_names_it_truly(values: list[int | None], public: bool, k: int) -> None:
    assume(any(value is not None for value in values))
    table = coded(list(values))
    gate = Gate(public, k)
    bins = bins_of(table.attributes[0], table.value_counts[0], gate)
    counts = bins.count(table.value_counts[0])
    assert counts.sum() == len(values)
    assert len(bins.labels) <= 13
    if public:
        assert len(counts) == 1 or all(count == 0 or count >= k for count in counts)
    for value, bin_ in zip(values, bins.bin_of[table.quasi.wide[:, 0]], strict=True):
        assert inside(value, bins.labels[bin_])


def inside(value: int | None, name: str) -> bool:
    """Read the name of a bin as a person would."""
    if value is None:
        return name in (MISSING, EVERYTHING) or "missing" in name
    name = name.replace(" or missing", "").replace(",", "")
    if name == EVERYTHING:
        return True
    if name.startswith("under "):
        return value < float(name[6:])
    if name.endswith(" or more"):
        return value >= float(name[:-8])
    low, _, high = name.partition(" to ")
    return float(low) <= value <= float(high or low)


def test_the_ends_of_a_line_are_open_and_round() -> None:
    ages: list[object] = [*range(20, 60)] * 5 + [3, 103]
    public, private = binned(ages, Gate(True, 5)), binned(ages, Gate(False, 5))
    # From 20 to 59, a tenth of which is 4: steps of 5, and whoever is outside is in an open bin.
    assert next(iter(public)) == "under 25"
    assert public["under 25"] == 26
    assert public["25 to 29"] == 25
    assert private["55 to 59"] == 25
    assert private["60 or more"] == 1
    assert public["55 or more"] == 26
    assert "60 or more" not in public


@given(st.integers(2, 5), st.integers(-10_000, 10_000), st.integers(-10_000, 10_000))
def test_no_single_person_moves_the_limits_of_bins(k: int, first: int, second: int) -> None:
    """However far off one person is, the names of the bins are the same, as long as that person is at an end."""
    assume((first < 20) == (second < 20))
    assume(not 20 <= first < 60)
    assume(not 20 <= second < 60)
    crowd: list[object] = [*range(20, 60)] * 5
    gate = Gate(True, k)
    assert list(binned([*crowd, first], gate)) == list(binned([*crowd, second], gate))


def test_dates_are_cut_by_the_calendar() -> None:
    days: list[object] = [date(1990 + year, month, 3) for year in range(5) for month in range(1, 13)] * 2
    found = binned(days, Gate(True, 5))
    assert found == {"before 1991": 24, "1991": 24, "1992": 24, "1993": 24, "1994 or later": 24}
    texts: list[object] = [str(day) for day in days]
    assert binned(texts, Gate(True, 5), {"dates": ["month", "year"]}) == found


def test_joined_bins_of_dates_are_named_by_their_ends() -> None:
    days: list[object] = [date(year, 5, 1) for year in (*[2001] * 9, 2003, *[2004] * 9, 2005, *[2006] * 9)]
    assert binned(days, Gate(False, 4)) == {
        "before 2002": 9, "2002": 0, "2003": 1, "2004": 9, "2005": 1, "2006 or later": 9,
    }  # fmt: skip
    found = binned(days, Gate(True, 4))
    assert sum(found.values()) == len(days)
    assert all(count == 0 or count >= 4 for count in found.values())


def test_categories_with_few_people_are_lumped_with_the_smallest_others_if_need_be() -> None:
    values: list[object] = ["a"] * 9 + ["b"] * 6 + ["c"] * 2 + ["d"]
    assert binned(values, Gate(False, 5)) == {"a": 9, "b": 6, "c": 2, "d": 1}
    # c and d are three people, fewer than 5; with b they are nine.
    assert binned(values, Gate(True, 5)) == {"a": 9, OTHER: 9}
    assert binned(values, Gate(True, 2)) == {"a": 9, "b": 6, OTHER: 3}
    assert binned(["a", "b", None], Gate(True, 5)) == {EVERYTHING: 3}
    assert binned(["a", "b", None], Gate(False, 5)) == {"a": 1, "b": 1, MISSING: 1}


def test_many_categories_are_shown_by_their_nodes_unless_those_are_made_of_values() -> None:
    towns: list[object] = [f"town {i:02d}" for i in range(20)] * 3
    tree = {"North": [f"town {i:02d}" for i in range(10)], "South": [f"town {i:02d}" for i in range(10, 20)]}
    assert binned(towns, Gate(True, 5), {"tree": tree}) == {"North": 30, "South": 30}
    assert binned(towns, Gate(True, 5), "auto") == {EVERYTHING: 60}
    assert any("town 00" in name for name in binned(towns, Gate(False, 5), "auto"))
    codes: list[object] = [f"{10 + i // 5}{i:03d}" for i in range(20)] * 3
    assert set(binned(codes, Gate(True, 5), {"mask": "right"})) == {"1000*", "1100*", "1201*", "1301*"}


def test_labels_fit_and_steer_nothing() -> None:
    assert label(None) == MISSING
    assert label("") == "(empty)"
    assert label("a\nb\x1b\u202e") == "a\N{REPLACEMENT CHARACTER}b" + 2 * "\N{REPLACEMENT CHARACTER}"
    assert len(label("x" * 100)) == 40


# --- spreads ----------------------------------------------------------------------------------------------


def release_of(table: CodedTable) -> Published:
    requirements = Requirements(models=(KAnonymity(k=2),), suppression=1.0)
    release = Mondrian().anonymize(table, requirements, Run.start(0))
    return read_back(table, release, render(table, release))


@given(tables(rows=st.integers(2, 14), free=False), st.integers(1, 3))
def test_spreads_are_those_of_plain_counting(table: CodedTable, width: int) -> None:
    """Bins of a few codes each; every cell in equal parts, and cells of a row independent of each other."""
    published = release_of(table)
    assert published.readable
    columns = (*table.attributes, *table.sensitive)
    bins = []
    for attribute in columns:
        bin_of = (np.arange(attribute.hierarchy.size) // width).astype(np.int32)
        bins.append(Bins(attribute.name, bin_of, tuple(map(str, range(int(bin_of.max()) + 1)))))
    spread = Spread(table, published, bins)
    quasi = len(table.attributes)

    def parts(row: int, column: int) -> dict[int, float]:
        if column >= quasi:
            return {int(bins[column].bin_of[published.sensitive_codes[row, column - quasi]]): 1.0}
        low, high = (ends[published.class_of[row], column] for ends in published.cell_ranges)
        out: dict[int, float] = {}
        for code in range(low, high + 1):
            out[code // width] = out.get(code // width, 0.0) + 1 / (high - low + 1)
        return out

    for column in range(len(columns)):
        expected = np.zeros(len(bins[column].labels))
        for row in range(published.rows):
            for bin_, share in parts(row, column).items():
                expected[bin_] += share
        assert spread.after(column) == pytest.approx(expected)
        codes = table.quasi.wide[:, column] if column < quasi else table.secrets.wide[:, column - quasi]
        plain = [int((codes // width == bin_).sum()) for bin_ in range(len(expected))]
        assert spread.before(column).tolist() == plain
        for other in range(column):
            together = np.zeros((len(bins[column].labels), len(bins[other].labels)))
            for row in range(published.rows):
                for a, share in parts(row, column).items():
                    for b, second in parts(row, other).items():
                        together[a, b] += share * second
            assert spread._together_after(column, other) == pytest.approx(together)


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4))
def test_association_is_cramer_s_v(rows: list[list[int]]) -> None:
    counts = np.array(rows, np.float64)
    kept = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(kept.shape) < 2:
        assert cramers_v(counts) == 0.0
    else:
        expected = association(kept.astype(int), method="cramer")
        assert cramers_v(counts) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_rank_correlation_is_spearman_s(points: list[tuple[int, int]]) -> None:
    first, second = (np.array(side, np.float64) for side in zip(*points, strict=True))
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert np.isnan(spearman(first, second))
    else:
        assert spearman(first, second) == pytest.approx(spearmanr(first, second).statistic)
        padded = np.append(first, np.nan), np.append(second, 7.0)
        assert spearman(*padded) == pytest.approx(spearman(first, second))


def test_correlations_take_cells_by_their_middle() -> None:
    table = encode(
        pl.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [2, 4, 6, 8, 10, 12], "z": [6, 5, 4, 3, 2, 1]}),
        [ColumnPlan("x", QUASI), ColumnPlan("y", QUASI), ColumnPlan("z", SENSITIVE)],
    )
    low = np.array([[0, 0], [3, 3]], np.int32)
    high = np.array([[2, 2], [5, 5]], np.int32)
    class_of = np.array([0, 0, 0, 1, 1, 1], np.int32)
    published = Published(table.attributes, table.sensitive, class_of, table.secrets.wide, Boxes(low, high))
    found = {(a, b): (before, after) for a, b, before, after in correlations(table, published)}
    assert found["x", "y"] == pytest.approx((1.0, 1.0))
    # Middles 2 and 5 against 6..1: the covariance of (-1.5, 1.5) with the ranks is -2.25 over sqrt(2.25 x 35 / 12).
    assert found["x", "z"] == pytest.approx((-1.0, -2.25 / np.sqrt(2.25 * 35 / 12)))


# --- risk -------------------------------------------------------------------------------------------------


@given(tables(), st.integers(2, 4))
def test_people_are_divided_by_the_size_of_their_class(table: CodedTable, k: int) -> None:
    raw = Evidence.of_original(table).published
    rows = [tuple(row) for row in table.quasi.wide.tolist()]
    own = np.array([rows.count(row) for row in rows])
    assert raw.sizes[raw.class_of].tolist() == own.tolist()
    risks = Risks(None, None, 0, own, own)  # type: ignore[arg-type]
    names, before, after = size_bins(risks, k)
    assert len(names) == len(before) == len(after)
    assert after.sum() == pytest.approx(1.0)
    for name, share in zip(names, after, strict=True):
        assert not name.startswith("1 rows")
        limits = name.replace(" or more", " to 999").replace(" rows", "").replace(" row", "")
        first, _, last = limits.replace(",", "").partition(" to ")
        held = sum(int(first) <= size <= int(last or first) for size in own)
        assert share == pytest.approx(held / len(own))
