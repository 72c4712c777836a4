"""Measures: worked examples by hand, plain definitions on random releases, and a contract for all of them."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.coding import Attribute
from shoal.coding.hierarchy import Hierarchy, Level
from shoal.errors import PolicyError, ShoalError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import RECEIVED, Traced
from shoal.judging.linking.reidentification import population_sizes
from shoal.judging.measures import MEASURES, CellMeasure, ClassMeasure
from shoal.judging.measures.classification import Classification
from shoal.judging.measures.count_queries import QueryError, count_rows
from shoal.judging.measures.evaluate import explain_unmeasured, measure_all, per_column
from shoal.release import ValueSets, closures
from shoal.release.published import Boxes, Published
from shoal.support.wording import number
from tests.inputs.coded_tables import table_of_matrices, with_changes
from tests.inputs.strategies import tables, tiled

CELLS = [name for name, kind in MEASURES.items() if issubclass(kind, CellMeasure)]
CLASSES = [name for name, kind in MEASURES.items() if issubclass(kind, ClassMeasure)]


def publish(table, group_of):
    """A release in which the rows of each group show their closure and rows of group -1 are suppressed."""
    labels = sorted({g for g in group_of if g >= 0})
    dense = np.array([labels.index(g) if g >= 0 else -1 for g in group_of], np.int32)
    low, high = closures(table, dense, len(labels))
    alike = {}  # groups that show the same are one class to whoever reads them
    for g, shown in enumerate(np.hstack((low, high)).tolist()):
        dense[dense == g] = alike.setdefault(tuple(shown), len(alike))
    low, high = closures(table, dense, len(alike))
    owner = np.flatnonzero(dense >= 0).astype(np.int32)[::-1].copy()
    published = Published(
        table.attributes,
        table.sensitive,
        dense[owner],
        table.secrets.wide[owner],
        Boxes(low, high),
        suppressed=int((dense < 0).sum()),
    )
    return Evidence(published, table, Traced(owner))


def untouched(table):
    """Every row shows its own values; equal rows are one class."""
    return publish(table, list(range(table.rows)))


def suppressed(table):
    return publish(table, [-1] * table.rows)


def merged(table):
    return publish(table, [0] * table.rows)


def flat(values):
    """Categories without a tree: leaves and root."""
    leaves = pl.Series("leaves", [str(value) for value in values])
    return Hierarchy(leaves, tiled([leaves, pl.Series(["*"] * len(leaves))]))


def numbers(values, nulls=0):
    """Numbers of which any range may be published, perhaps with a null."""
    leaves = pl.Series("leaves", list(values) + [None] * nulls)
    names = [leaves.cast(pl.String), pl.Series(["*"] * len(leaves))]
    positions = np.array([*values, *[math.nan] * nulls], np.float64)
    return Hierarchy(leaves, tiled(names), free=True, ordered=len(values), positions=positions)


def table_of(hierarchies, codes, secrets=None):
    attributes = tuple(Attribute(f"q{j}", hierarchy) for j, hierarchy in enumerate(hierarchies))
    codes = np.asfortranarray(np.array(codes, np.int32).reshape(-1, len(attributes)))
    secrets = np.zeros(len(codes), np.int32) if secrets is None else np.array(secrets, np.int32)
    secret = Attribute("s", flat(range(int(secrets.max(initial=0)) + 1)))
    kept = pl.DataFrame({"s": secrets.astype(str)})
    names = (*(a.name for a in attributes), "s")
    return table_of_matrices(attributes, codes, (secret,), secrets.reshape(-1, 1), kept, names)


@st.composite
def releases(draw, together=False):
    """A table and a random release of it; `together`: equal rows stay together."""
    table = draw(tables())
    group_of = draw(st.lists(st.integers(-1, 4), min_size=table.rows, max_size=table.rows))
    if together:
        rows = table.quasi.wide.tolist()
        group_of = [group_of[rows.index(row)] for row in rows]
    return table, publish(table, group_of)


def close(a, b):
    return a == pytest.approx(b, rel=1e-9, abs=1e-9)


def measure(name, evidence, k=2):
    return MEASURES[name]().value(replace(evidence, k=k))


# Plain definitions, cell by cell over the rows of the original --------------------------------------------


def naive_cells(table, evidence):
    """(attribute, own code, first, last) of every cell of every row; suppressed rows show whole domains."""
    published = evidence.published
    shown = {int(row): int(c) for row, c in zip(evidence.owner, published.class_of, strict=True)}
    for row in range(table.rows):
        for j, attribute in enumerate(table.attributes):
            own = int(table.quasi.wide[row, j])
            if row in shown:
                yield j, own, *(int(ends[shown[row], j]) for ends in published.cell_ranges)
            else:
                yield j, own, 0, attribute.hierarchy.size - 1


def naive_level(hierarchy, low, high):
    """The lowest level with a node over the range; a free range lies between its node and the level below."""
    for index, level in enumerate(hierarchy.levels):
        ends = [*[int(start) for start in level.starts[1:]], hierarchy.size]
        for first, after in zip(level.starts, ends, strict=True):
            if first <= low and high < after:
                if index == 0 or not hierarchy.free:
                    return Fraction(index)
                return index - 1 + Fraction(high - low, int(after - first - 1))
    raise AssertionError


def naive_share_of_leaves(hierarchy, low, high):
    return Fraction(high - low, max(hierarchy.size - 1, 1))


def naive_share_of_width(hierarchy, low, high):
    if hierarchy.positions is None:
        return naive_share_of_leaves(hierarchy, low, high)
    if low == high:
        return Fraction(0)
    if high >= hierarchy.ordered:
        return Fraction(1)
    values = hierarchy.leaves.to_list()
    return Fraction(values[high] - values[low], values[hierarchy.ordered - 1] - values[0])


def naive_bits(column, low, high):
    inside = [code for code in column if low <= code <= high]
    shares = [Fraction(inside.count(code), len(inside)) for code in set(inside)]
    return -sum(float(share) * math.log2(share) for share in shares)


def naive_loss(name, table, j, own, low, high):
    hierarchy = table.attributes[j].hierarchy
    column = table.quasi.wide[:, j].tolist()
    if name in ("lm", "workload-loss"):  # nobody asks about these tables
        return naive_share_of_leaves(hierarchy, low, high)
    if name == "gcp":
        return naive_share_of_width(hierarchy, low, high)
    if name == "entropy":
        return naive_bits(column, low, high)
    if name == "entropy-nonuniform":
        return -math.log2(Fraction(column.count(own), sum(low <= code <= high for code in column)))
    if name == "ag":
        return naive_level(hierarchy, low, high)
    if name == "precision" or hierarchy.positions is None:
        return naive_level(hierarchy, low, high) / max(hierarchy.height, 1)
    return naive_share_of_width(hierarchy, low, high)


@pytest.mark.parametrize("name", [*CELLS, "entropy-nonuniform"])
@given(data=releases())
def test_cell_losses_follow_their_definitions(name, data):
    table, published = data
    weights = [attribute.weight for attribute in table.attributes]
    columns = [0.0] * len(weights)
    for j, *cell in naive_cells(table, published):
        columns[j] += float(naive_loss(name, table, j, *cell))
    expected = sum(weight * loss for weight, loss in zip(weights, columns, strict=True))
    kind = MEASURES[name]
    if not getattr(kind, "total", False):
        expected /= sum(weights) * table.rows
        columns = [loss / table.rows for loss in columns]
    assert close(measure(name, published), expected)
    if issubclass(kind, CellMeasure):
        assert close(list(per_column(name, published).values()), columns)


@given(data=releases())
def test_sizes_and_risks_follow_their_definitions(data):
    table, published = data
    groups = {}
    for c in published.published.class_of.tolist():
        groups[c] = groups.get(c, 0) + 1
    sizes, out = list(groups.values()), published.published.suppressed
    assert measure("dm", published) == sum(size**2 for size in sizes) + out * table.rows
    assert close(measure("avg", published, k=3), Fraction(table.rows, 3 * max(len(sizes), 1)))
    assert measure("classes", published) == len(sizes)
    rows = sum(sizes)
    risks = [Fraction(1, size) for size in sizes for _ in range(size)]
    rare = [row for row in table.quasi.wide.tolist() if table.quasi.wide.tolist().count(row) == 1]
    expected = {
        "risk-prosecutor-max": max(risks, default=0),
        "risk-prosecutor-mean": sum(risks) / rows if rows else 0,
        "risk-at-risk": Fraction(sum(risk > Fraction(1, 5) for risk in risks), max(rows, 1)),
        "risk-journalist-max": max(risks, default=0),
        "risk-marketer": sum(risks) / rows if rows else 0,
        "unique-before": Fraction(len(rare), table.rows),
        "unique-after": Fraction(sum(risk == 1 for risk in risks), max(rows, 1)),
    }
    for name, value in expected.items():
        assert close(measure(name, published), float(value)), name
    risk = published.risk
    assert not risk.population_known


# Worked examples ------------------------------------------------------------------------------------------

PAIRS = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0)]


@pytest.mark.parametrize("size", [2, 5])
def test_two_pairs_and_one_ring(size):
    """Split in two pairs the penalties add up to 8/(|A|-1); as one ring of value sets to 6/(|A|-1)."""
    table = table_of([numbers(range(size))] * 3, PAIRS)
    pairs = publish(table, [0, 0, 1, 1])
    assert close(measure("gcp", pairs) * 12, 8 / (size - 1))
    sets = [sorted({PAIRS[i][j], PAIRS[(i + 1) % 4][j]}) for i in range(4) for j in range(3)]
    start = np.cumsum([0, *map(len, sets)])
    codes = np.array(list(itertools.chain(*sets)), np.int32)
    ends = np.array([[s[0], s[-1]] for s in sets], np.int32).reshape(4, 3, 2)
    ring = Published(
        table.attributes,
        table.sensitive,
        np.arange(4, dtype=np.int32),
        table.secrets.wide,
        Boxes(ends[:, :, 0], ends[:, :, 1], ValueSets(start, codes)),
    )
    for name in ("gcp", "lm"):
        assert close(measure(name, Evidence(ring)) * 12, 6 / (size - 1))


def test_sets_do_not_cover_what_lies_between():
    """{10, 40} of 10, 20, 30, 40: one of three other values, though the width is the whole domain."""
    table = table_of([numbers([10, 20, 30, 40])], [0, 3, 1, 1, 2])
    ends = np.array([[0], [1], [2]], np.int32), np.array([[3], [1], [2]], np.int32)
    class_of = np.array([0, 0, 1, 1, 2], np.int32)
    sets = ValueSets(np.array([0, 2, 3, 4]), np.array([0, 3, 1, 2], np.int32))
    published = Published(table.attributes, table.sensitive, class_of, table.secrets.wide, Boxes(*ends, sets))
    shown = Evidence(published, table, Traced(np.arange(5, dtype=np.int32)))
    ranges = Evidence(replace(published, cells=Boxes(*ends)), table)
    assert close(measure("gcp", shown), 2 * (1 / 3) / 5)
    assert close(measure("gcp", ranges), 2 / 5)
    assert close(measure("entropy", shown), 2 / 5)
    assert close(measure("entropy-nonuniform", shown), 2 / 5)
    # 10 to 20 holds half of {10, 40} and 20: 1 + 2 rows, and so does the original.
    spread = QueryError(queries=50, selectivity=0.5, sanity=0)
    assert spread.errors(ranges).mean > spread.errors(shown).mean
    wrong = replace(shown, origin=Traced(np.array([2, 1, 0, 3, 4], np.int32)))
    assert measure("entropy-nonuniform", wrong) == math.inf


def test_numeric_width_and_tree_height():
    """Ages 20, 30, 60 and a tree of cities; classes {20, 30} x Kansas and {60} x San Diego, one suppressed."""
    leaves = ["San Diego", "Wichita", "Kansas City"]
    states = ["California", "Kansas", "Kansas"]
    cities = Hierarchy(
        pl.Series("leaves", leaves), tiled([pl.Series(leaves), pl.Series(states), pl.Series(["*"] * 3)])
    )
    table = table_of([numbers([20, 30, 60]), cities], [(0, 1), (1, 2), (2, 0), (0, 0)])
    shown = publish(table, [0, 0, 1, -1])
    assert close(measure("il", shown), 2 * (10 / 40 + 1 / 2) + 0 + 2)
    assert close(measure("gcp", shown), (2 * (10 / 40 + 1 / 2) + 2) / 8)
    assert close(measure("lm", shown), (2 * (1 / 2 + 1 / 2) + 2) / 8)
    assert close(measure("ag", shown), 2 * (1 / 2 + 1) + (1 + 2))
    assert close(measure("precision", shown), (2 * (1 / 2 + 1 / 2) + 2) / 8)
    assert measure("dm", shown) == 4 + 1 + 4
    assert measure("avg", shown, k=2) == 4 / (2 * 2)
    columns = per_column("gcp", shown)
    assert close(list(columns.values()), [(2 * 10 / 40 + 1) / 4, (2 * 1 / 2 + 1) / 4])


def test_weights_count():
    table = table_of([numbers([0, 1]), numbers([0, 1])], [(0, 0), (1, 0)])
    heavy = replace(table.attributes[0], weight=3.0)
    table = with_changes(table, attributes=(heavy, table.attributes[1]))
    assert measure("lm", merged(table)) == 3 / 4
    assert measure("il", merged(table)) == 6


def test_nulls_widen_to_the_domain():
    """Null beside numbers costs the whole width; null alone nothing."""
    table = table_of([numbers([1, 2, 9], nulls=1)], [0, 1, 3, 3])
    assert measure("gcp", publish(table, [0, 0, 1, 1])) == (2 * (1 / 8)) / 4
    assert measure("gcp", publish(table, [0, 1, 0, 1])) == 1


@pytest.mark.parametrize("ends", [(-math.inf, 5.0), (0.0, math.inf)])
def test_infinite_numbers_go_by_rank(ends):
    hierarchy = replace(numbers([0, 1, 2]), positions=np.array([ends[0], 3.0, ends[1]]))
    table = table_of([hierarchy], [0, 1, 2, 2])
    assert measure("gcp", publish(table, [0, 0, 1, 1])) == 0.25


def test_entropy_of_skewed_values():
    """a, a, b and c: the cell {a, b} hides H(2/3, 1/3) from anyone, log2 3/2 from a and log2 3 from b."""
    leaves = pl.Series(["a", "b", "c"])
    tree = Hierarchy(leaves, tiled([leaves, pl.Series(["ab", "ab", "c"]), pl.Series(["*"] * 3)]))
    table = table_of([tree], [0, 0, 1, 2])
    shown = publish(table, [0, 1, 0, 2])
    assert close(measure("entropy", shown), 2 * (math.log2(3) - 2 / 3) / 4)
    assert close(measure("entropy-nonuniform", shown), (math.log2(3 / 2) + math.log2(3)) / 4)
    assert math.isnan(measure("entropy-nonuniform", replace(shown, origin=RECEIVED)))


def test_limits_leave_suppressed_cells_maximal():
    hierarchy = flat("abc").with_limit(0)
    table = table_of([hierarchy], [0, 1, 2])
    for name in ("lm", "gcp", "precision", "il", "ag"):
        assert measure(name, untouched(table)) == 0
        assert measure(name, suppressed(table)) == (3 if name in ("il", "ag") else 1), name


def test_levels_between_nodes_of_a_free_hierarchy():
    """Four numbers under two nodes under the root: [0, 2] is 2/3 of the way from level 1 to level 2."""
    leaves = pl.Series([0, 1, 2, 3])
    levels = tiled([leaves.cast(pl.String), pl.Series(["x", "x", "y", "y"]), pl.Series(["*"] * 4)])
    table = table_of([replace(numbers(range(4)), levels=levels)], [0, 2, 1, 3])
    assert close(measure("ag", publish(table, [0, 0, -1, -1])), 2 * (1 + 2 / 3) + 2 * 2)


def test_population_lowers_the_journalists_risk():
    """Of six people two fit the first class, three the second; a class never fits fewer than it has."""
    hierarchy = numbers([1, 2, 3, 4])
    table = table_of([hierarchy], [0, 0, 2, 3])
    people = table_of([hierarchy], [0, 0, 1, 2, 3, 3])
    shown = publish(table, [0, 0, 1, 1])
    assert population_sizes(shown.published, people.quasi.wide).tolist() == [2, 3]
    risk = replace(shown, table=table.with_context(population=people.quasi.wide)).risk
    assert risk.population_known
    assert (risk.prosecutor_max, risk.journalist_max) == (0.5, 0.5)
    assert close(risk.marketer, (2 / 2 + 2 / 3) / 4)
    assert population_sizes(shown.published, table_of([hierarchy], [1]).quasi.wide).tolist() == [2, 2]


@given(data=releases(), people=st.data())
@settings(max_examples=40)
def test_population_counts_who_fits(data, people):
    table, published = data
    pick = people.draw(st.lists(st.integers(0, table.rows - 1), max_size=12))
    population = with_changes(table, codes=np.asfortranarray(table.quasi.wide[np.array(pick, int)]))
    lows, highs = published.published.cell_ranges
    for c, found in enumerate(population_sizes(published.published, population.quasi.wide)):
        fits = [
            all(low <= code <= high for low, code, high in zip(lows[c], row, highs[c], strict=True))
            for row in population.quasi.wide
        ]
        assert found == max(sum(fits), published.published.sizes[c])


# Bounds for searches --------------------------------------------------------------------------------------


def coarsenings(count):
    """All ways to merge groups 0..count-1 or to suppress them."""
    return itertools.product(range(-1, count), repeat=count)


@pytest.mark.parametrize("name", CLASSES)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4), k=st.integers(1, 5))
@settings(max_examples=30)
def test_bounds_hold_for_all_coarsenings(name, sizes, k):
    chosen = MEASURES[name]()
    bound = chosen.bound(np.array(sizes, np.int64), k)
    reached = []
    for labels in coarsenings(len(sizes)):
        joined = {}
        for label, size in zip(labels, sizes, strict=True):
            joined[label] = joined.get(label, 0) + size
        out = joined.pop(-1, 0)
        if all(size >= k for size in joined.values()):
            reached.append(chosen.of_sizes(np.array(list(joined.values()), np.int64), out, k))
    assert bound <= min(reached) + 1e-9
    if all(size >= k for size in sizes):
        assert close(bound, min(reached))


def class_sizes(most, k):
    """All ways to take classes of at least k rows out of so many rows."""
    yield []
    for first in range(k, most + 1):
        for rest in class_sizes(most - first, k):
            yield [first, *rest]


@pytest.mark.parametrize("name", CLASSES)
@given(
    groups=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=3),
    k=st.integers(1, 4),
)
@settings(max_examples=30)
def test_floors_hold_for_all_refinements(name, groups, k):
    chosen = MEASURES[name]()
    rows = sum(kept + lost for kept, lost in groups)
    if not rows:
        return
    kept = np.array([kept for kept, _ in groups], np.int64)
    lost = np.array([lost for _, lost in groups], np.int64)
    floor = chosen.floor(kept, lost, kept + lost, k)
    for parts in itertools.product(*(list(class_sizes(int(most), k)) for most in kept)):
        sizes = np.array([size for part in parts for size in part], np.int64)
        out = rows - int(sizes.sum())
        value = chosen.of_sizes(sizes, out, k)
        assert floor <= value + 1e-9
        # Groups may be divided in any way, and suppressed rows may stay together: then the bound has the most.
        together = [kept + lost - sum(part) for (kept, lost), part in zip(groups, parts, strict=True)]
        if chosen.floor_adds:
            for suppressed in ([1] * out, [size for size in together if size]):
                divided = np.array([*sizes, *suppressed], np.int64)
                assert chosen.bound(divided, k) + floor <= value + 1e-9


# Queries --------------------------------------------------------------------------------------------------


@given(data=releases())
@settings(max_examples=40)
def test_query_errors_follow_their_definition(data):
    table, published = data
    asked = QueryError(queries=12, selectivity=0.4)
    cells = list(naive_cells(table, published))
    width = len(table.attributes)
    rows = [cells[i : i + width] for i in range(0, len(cells), width)]
    errors = []
    for columns, low, high in asked.draw(table):
        truth = estimate = Fraction(0)
        for row in rows:
            exact = spread = Fraction(1)
            for j, a, b in zip(columns, low, high, strict=True):
                _, own, first, last = row[j]
                exact *= a <= own <= b
                inside = sum(a <= code <= b for code in range(first, last + 1))
                spread *= Fraction(inside, last - first + 1)
            truth, estimate = truth + exact, estimate + spread
        errors.append(float(abs(estimate - truth) / max(truth, 1)))
    found = asked.errors(published)
    assert close(found.mean, np.mean(errors))
    assert close(found.median, np.median(errors))
    assert found == asked.errors(published)
    assert asked.errors(untouched(table)).mean == 0
    assert math.isfinite(asked.errors(suppressed(table)).mean)


def test_queries_are_as_selective_as_asked():
    """On independent, even columns the share of rows found is the selectivity."""
    grid = list(itertools.product(range(20), range(20), range(20)))
    table = table_of([numbers(range(20))] * 3, grid)
    for columns, low, high in QueryError(queries=30, selectivity=0.125).draw(table):
        shares = (high - low + 1) / 20
        wanted = 0.125 ** (1 / len(columns))
        assert np.all(shares >= wanted - 1e-9)
        assert np.all(shares <= wanted + 2 / 20)


def test_queries_are_counted_in_chunks(monkeypatch):
    """More rows than a chunk, and than a word, holds."""
    monkeypatch.setattr("shoal.judging.measures.count_queries.CHUNK", 128)
    random = np.random.default_rng(3)
    table = table_of([numbers(range(7)), flat("abcd")], random.integers(0, 4, (300, 2)))
    queries = QueryError(queries=20).draw(table)
    expected = [
        sum(
            all(a <= row[j] <= b for j, a, b in zip(*query, strict=True)) for row in table.quasi.wide.tolist()
        )
        for query in queries
    ]
    assert count_rows(table, queries).tolist() == expected


def test_uniqueness_of_rows_too_wide_for_a_key():
    wide = [numbers(range(2000))] * 7
    codes = [[1999] * 7, [1999] * 7, [0] * 7, [1999] * 6 + [0]]
    table = table_of(wide, codes)
    assert measure("unique-before", merged(table)) == 0.5


@pytest.mark.parametrize("options", [{"queries": 0}, {"selectivity": 0}, {"sanity": -1}])
def test_bad_query_options(options):
    with pytest.raises(PolicyError, match=next(iter(options))):
        QueryError(**options)


# Classification -------------------------------------------------------------------------------------------


def learnable():
    """The secret follows the first column exactly; the second is noise."""
    random = np.random.default_rng(1)
    codes = np.stack([random.integers(0, 10, 300), random.integers(0, 3, 300)], axis=1)
    return table_of([numbers(range(10)), flat("xyz")], codes, codes[:, 0] >= 5)


def test_learning_from_a_release():
    table = learnable()
    exact = Classification().learn(untouched(table))
    assert exact.accuracy == exact.original_accuracy > 0.95
    assert exact.auc == exact.original_auc > 0.99
    halves = Classification().learn(publish(table, (table.quasi.wide[:, 0] >= 5).astype(int).tolist()))
    assert halves.accuracy > 0.9
    nothing = Classification().learn(merged(table))
    assert nothing.accuracy <= nothing.majority
    assert close(nothing.auc, 0.5)
    gone = Classification().learn(suppressed(table))
    assert (gone.accuracy, gone.auc) == (0.5, 0.5)
    assert measure("classification-loss", untouched(table)) == 0
    few = Classification(people=100).learn(untouched(table))
    assert few.accuracy == few.original_accuracy > few.majority
    true = untouched(table)
    shown = replace(true.published, sensitive_codes=1 - true.published.sensitive_codes)
    assert Classification().learn(replace(true, published=shown)).accuracy < 0.05


def test_learning_a_plain_column():
    table = learnable()
    plain = with_changes(
        table,
        kept=table.kept.whole.with_columns(target=pl.Series(["n", "y"]).gather(table.quasi.wide[:, 0] % 2)),
    )
    assert Classification(target="target").learn(untouched(plain)).target == "target"
    with pytest.raises(PolicyError, match="did you mean 'target'"):
        Classification(target="targte").learn(untouched(plain))
    many = with_changes(plain, kept=plain.kept.whole.with_columns(target=pl.int_range(pl.len())))
    with pytest.raises(PolicyError, match="300 values"):
        Classification(target="target").learn(untouched(many))


def test_learning_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    table = learnable()
    with pytest.raises(ShoalError, match=r'pip install "shoal\[learn\]"'):
        measure("classification", untouched(table))


# The contract of all measures -----------------------------------------------------------------------------

QUICK = [name for name in MEASURES if not name.startswith("classification")]
COMPARED = ("query", "workload-error", "k-marginal", "pmse", "regression", "prediction")
"""Measures of what analysts do: see test_purposes.py. Coarser cells may happen to answer better."""
UTILITY = [name for name in QUICK if not name.startswith(("risk", "unique", *COMPARED))]


def test_registry_and_classes_agree():
    for name, kind in MEASURES.items():
        assert kind.name == name
        assert kind.summary
        assert "\n" not in kind.summary


@pytest.mark.parametrize("name", UTILITY)
@given(data=releases(together=True))
@settings(max_examples=30)
def test_untouched_is_best_and_suppressed_worst(name, data):
    table, published = data
    best, worst = (measure(name, release) for release in (untouched(table), suppressed(table)))
    between = measure(name, published)
    assert all(math.isfinite(value) for value in (best, between, worst))
    if name in {*CELLS, "entropy-nonuniform"}:
        assert close(best, 0)
    if name == "entropy":
        return  # a cell may hide more than the whole domain, see its docstring
    if not MEASURES[name].lower_is_better:
        best, between, worst = -best, -between, -worst
    assert best <= between + 1e-9
    assert between <= worst + 1e-9


@pytest.mark.parametrize("name", UTILITY)
@given(data=releases(), into=st.data())
@settings(max_examples=30)
def test_coarser_never_loses_less(name, data, into):
    table, published = data
    if published.published.classes < 2 or name == "entropy":
        return
    group_of = np.full(table.rows, -1)
    group_of[published.owner] = published.published.class_of
    pair = into.draw(st.tuples(*[st.integers(0, published.published.classes - 1)] * 2))
    coarser = publish(table, np.where(group_of == pair[0], pair[1], group_of).tolist())
    sign = 1 if MEASURES[name].lower_is_better else -1
    before, after = (sign * measure(name, release) for release in (published, coarser))
    assert before <= after + 1e-9


@pytest.mark.parametrize("name", [name for name in CELLS if MEASURES[name].monotone])
@given(table=tables(rows=st.just(1), columns=st.just(1)))
@settings(max_examples=30)
def test_wider_ranges_never_lose_less(name, table):
    """For all ranges within ranges that a method may publish."""
    attribute, hierarchy = table.attributes[0], table.attributes[0].hierarchy
    codes = range(hierarchy.size)
    raw = np.array([(a, b) for a in codes for b in codes if a <= b], np.int32)
    low, high = hierarchy.lift(raw[:, 0], raw[:, 1])
    loss = MEASURES[name]().loss(attribute, np.ones(hierarchy.size, np.int64), low, high)
    for i, j in itertools.product(range(len(low)), repeat=2):
        if low[i] >= low[j] and high[i] <= high[j]:
            assert loss[i] <= loss[j] + 1e-12
    assert np.all(loss[low == high] == 0)


@given(table=tables(rows=st.integers(2, 12)))
@settings(max_examples=30)
def test_mean_entropy_grows_with_the_level(table):
    """Averaged over a column on one level it is a conditional entropy, which coarsening never lowers."""
    for j, attribute in enumerate(table.attributes):
        column, hierarchy = table.quasi.wide[:, j], attribute.hierarchy
        means = [
            MEASURES["entropy"]()
            .loss(
                attribute, table.value_counts[j], hierarchy.low[level][column], hierarchy.high[level][column]
            )
            .mean()
            for level in range(len(hierarchy.levels))
        ]
        assert means == sorted(means) or close(means, sorted(means))


@pytest.mark.parametrize("name", list(MEASURES))
def test_corners_are_finite(name):
    """One row, one value, a null, all suppressed; and no rows or columns at all for the cheap ones."""
    one_value = Hierarchy(pl.Series(["a"]), (Level(np.zeros(1, np.int32), pl.Series(["a"])),))
    null = numbers([1], nulls=1)
    for codes in ([(0, 0)], [(0, 1)], [(0, 0), (0, 1)], [(0, 1)] * 4):
        table = table_of([one_value, null], codes, [i % 2 for i in range(len(codes))])
        for release in (untouched(table), merged(table), suppressed(table)):
            value = measure(name, release)
            assert type(value) is float
            alone = name.startswith("classification") and table.rows == 1
            unknown = MEASURES[name]().why_unknown(release) is not None
            assert math.isnan(value) if alone or unknown else math.isfinite(value)
    if not name.startswith("classification"):
        empty = table_of([one_value, null], np.empty((0, 2)), [])
        nothing = merged_nothing(empty)
        assert math.isfinite(measure(name, nothing)) or MEASURES[name]().why_unknown(nothing) is not None


def merged_nothing(table):
    return publish(table, [])


@given(data=releases())
@settings(max_examples=20)
def test_all_at_once(data):
    _, published = data
    defaults = {name for name, kind in MEASURES.items() if kind.reported.default}
    everything = measure_all(published)
    assert set(everything) == defaults
    assert explain_unmeasured(published) == {}
    shown = Evidence(published.published)
    alone = measure_all(shown)
    missing = explain_unmeasured(shown)
    assert missing.keys() == {"entropy", "unique-before"}
    assert set(alone) == defaults - missing.keys()
    assert all(close(alone[name], everything[name]) for name in alone)
    blind = measure_all(Evidence(replace(published.published, cells=None)))
    assert {"dm", "avg", "classes", "risk-marketer"} <= set(blind)
    assert not set(CELLS) & set(blind)
    asked = measure_all(shown, ["lm", "entropy"])
    assert list(asked) == ["lm", "entropy"]
    assert math.isnan(asked["entropy"])
    assert all(math.isnan(loss) for loss in per_column("entropy", shown).values())


def test_unknown_names_and_columns_of_classes():
    table = table_of([flat("ab")], [0, 1])
    with pytest.raises(PolicyError, match="did you mean 'entropy'"):
        measure_all(merged(table), ["entrpy"])
    with pytest.raises(TypeError, match="dm"):
        per_column("dm", merged(table))


def test_many_values_are_grouped_by_sorting():
    """A domain too large for a table of all ranges gives the same as a small one."""
    size = 5000
    table = table_of([numbers(range(size))], [0, 10, 10, 4999, 4999, 7])
    shown = publish(table, [0, 0, 1, 1, 2, 2])
    assert close(measure("lm", shown), (2 * 10 + 2 * 4989 + 2 * 4992) / (6 * 4999))


def test_what_comes_from_rounding_is_0():
    """49 rows of one value in a cell of two: log2 49 - (49 log2 49) / 49 is rounded to 5.5e-16 with some counts."""
    for rows in range(2, 400):
        counts = np.array([3, rows, 0, 5], np.int64)
        low, high = np.array([1, 0], np.int32), np.array([2, 3], np.int32)
        bits = MEASURES["entropy"]().loss(None, counts, low, high)
        assert bits[0] == 0
        assert bits[1] > 0.01
    assert number(5.529e-16) == number(-0.0) == number(-1e-17) == "0"
    assert number(1e-9) == "1e-09"
