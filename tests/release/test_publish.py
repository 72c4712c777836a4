"""What is rendered is what the release says, and reading it back gives the same classes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal.io.sheet import Sheet
from shoal.release import Release, closures
from shoal.release.layout import ProposedBuckets
from shoal.release.read_published import PublishedColumns, read_published
from shoal.release.render import Rendered, render, shuffle_rows
from tests.inputs.strategies import tables


@st.composite
def releases(draw):
    """A random table, cut into random groups, some of them suppressed."""
    table = draw(tables())
    groups = draw(st.integers(1, 4))
    wanted = draw(st.lists(st.integers(-1, groups - 1), min_size=table.rows, max_size=table.rows))
    _, region_of = np.unique(wanted, return_inverse=True)
    region_of = region_of.astype(np.int32) - (min(wanted) < 0)
    regions = int(region_of.max()) + 1
    low, high = closures(table, region_of, regions)
    return table, Release(region_of, low, high)


def read_back(table, rendered):
    return read_published(
        rendered.rows,
        PublishedColumns(table.attributes, table.sensitive, rendered.bucket),
        table.secrets.wide[rendered.owner],
        table.rows - len(rendered.owner),
    )


@given(releases())
def test_reading_back_gives_the_ranges_that_were_proposed(case):
    table, release = case
    rendered = render(table, release)
    published, unknown = read_back(table, rendered)
    assert unknown == []
    assert published.rows + published.suppressed == table.rows
    for row, owner in enumerate(rendered.owner):
        region, seen = release.region_of[owner], published.class_of[row]
        for j, attribute in enumerate(table.attributes):
            low, high = release.low[region, j], release.high[region, j]
            codes = table.quasi.wide[rendered.owner, j]
            if attribute.hierarchy.free and low < high and low <= codes.min() < codes.max() <= high:
                # What covers all published values is called like the whole domain.
                low, high = 0, attribute.hierarchy.size - 1
            assert tuple(ends[seen, j] for ends in published.cell_ranges) == (low, high)


@given(releases())
def test_classes_are_rows_with_identical_quasi_identifiers(case):
    table, release = case
    rendered = render(table, release)
    published, _ = read_back(table, rendered)
    texts = rendered.rows.select(a.name for a in table.attributes).rows()
    for one in range(published.rows):
        for other in range(published.rows):
            assert (texts[one] == texts[other]) == (published.class_of[one] == published.class_of[other])


@given(releases())
def test_every_cell_covers_its_own_value_and_sensitive_values_stay(case):
    table, release = case
    rendered = render(table, release)
    published, _ = read_back(table, rendered)
    own = table.quasi.wide[rendered.owner]
    low, high = published.cell_ranges
    assert (low[published.class_of] <= own).all()
    assert (own <= high[published.class_of]).all()
    for attribute in table.sensitive:
        expected = table.kept[attribute.name].gather(rendered.owner)
        assert rendered.rows[attribute.name].to_list() == expected.to_list()


@given(releases())
def test_names_have_an_order_exactly_if_their_ranges_are_apart(case):
    table, release = case
    rendered = render(table, release)
    for j, attribute in enumerate(table.attributes):
        column = rendered.rows[attribute.name]
        if not isinstance(column.dtype, pl.Enum | pl.Categorical):
            continue
        hierarchy, codes = attribute.hierarchy, table.quasi.wide[rendered.owner, j]
        seen = np.isin(np.arange(hierarchy.size), codes)
        named = {}
        for low, high in zip(release.low[:, j], release.high[:, j], strict=True):
            inside = codes[(low <= codes) & (codes <= high)]
            name = hierarchy.names(np.array([low]), np.array([high]), seen=seen)[0]
            named[inside.min(), inside.max(), name] = name
        shown = sorted(span for span, name in named.items() if name is not None)
        apart = all(one[1] < other[0] for one, other in pairwise(shown))
        distinct = len({named[span] for span in shown}) == len(shown)
        if apart and distinct and all(high < hierarchy.ordered for _, high, _ in shown):
            assert column.dtype == pl.Enum([named[span] for span in shown])
        else:
            assert column.dtype == pl.Categorical()


@given(tables(), st.randoms())
def test_permuted_cells_show_the_value_of_their_source(table, random):
    columns = len(table.attributes) + len(table.sensitive)
    shown_from = np.stack([random.sample(range(table.rows), table.rows) for _ in range(columns)], axis=1)
    alone = np.arange(table.rows, dtype=np.int32)
    release = Release(
        alone,
        *closures(table, alone, table.rows),
        layout=ProposedBuckets(alone % 2, shown_from.astype(np.int32)),
    )
    rendered = render(table, release)
    assert rendered.bucket == "bucket"
    for j, attribute in enumerate((*table.attributes, *table.sensitive)):
        codes = (table.quasi.wide if j < len(table.attributes) else table.secrets.wide)[
            :, j if j < len(table.attributes) else j - len(table.attributes)
        ]
        expected = attribute.hierarchy.leaves.gather(codes[shown_from[:, j]])
        assert rendered.rows[attribute.name].cast(str).to_list() == expected.cast(str).to_list()
    published, _ = read_back(table, rendered)
    assert published.in_buckets


def test_shuffling_keeps_the_rows_with_their_owners_and_changes_their_order():
    rows = pl.DataFrame({"a": range(1000), "b": [row % 100 for row in range(1000)]})
    second = pl.DataFrame({"b": range(100), "c": range(100)})
    mixed = shuffle_rows(
        Rendered(Sheet.of(rows), np.arange(1000, 2000), "b", second), np.random.default_rng(1)
    )
    assert mixed.rows["a"].to_list() != rows["a"].to_list()
    assert sorted(mixed.rows["a"]) == rows["a"].to_list()
    assert mixed.owner.tolist() == [1000 + value for value in mixed.rows["a"]]
    assert mixed.second is not None
    assert mixed.second["c"].to_list() != second["c"].to_list()
    assert sorted(mixed.second["c"]) == second["c"].to_list()
    # Buckets have other numbers, in the order of their first rows, and both tables the same.
    assert mixed.rows["b"].unique(maintain_order=True).to_list() == list(range(100))
    number = dict(zip(mixed.second["c"], mixed.second["b"], strict=True))
    assert [number[row % 100] for row in mixed.rows["a"]] == mixed.rows["b"].to_list()
