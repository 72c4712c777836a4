"""`show = "bounds"`: the ends of cells as columns, verified like everything that leaves."""

from __future__ import annotations

import datetime as dt
import random

import polars as pl
import pytest

import shoal
from shoal.errors import HierarchyError, PolicyError
from shoal.pipeline.anonymize import anonymize_file
from tests.oracles.checker.cells import number
from tests.oracles.checker.labels import Domain

DRAWN = random.Random(11)
ROWS = 240
WHOLE = pl.Series([DRAWN.randint(-30, 90) for _ in range(ROWS)])
REAL = pl.Series([round(DRAWN.uniform(-5, 50), 1) for _ in range(ROWS)])
DAY = pl.Series([dt.date(2000, 1, 1) + dt.timedelta(DRAWN.randint(0, 8000)) for _ in range(ROWS)])
MOMENT = DAY.cast(pl.Datetime("us")) + pl.Series(
    [dt.timedelta(minutes=DRAWN.randint(0, 1400)) for _ in range(ROWS)]
)
CLOCK = pl.Series([dt.time(DRAWN.randint(0, 23), DRAWN.randint(0, 59)) for _ in range(ROWS)])

CASES = {
    "whole, any range": (WHOLE, "none"),
    "whole, auto": (WHOLE, "auto"),
    "whole, widths": (WHOLE, {"widths": [5, 20]}),
    "whole, grid": (WHOLE, {"grid": 7}),
    "real, grid": (REAL, {"grid": 2.5, "origin": 1}),
    "whole, cuts": (WHOLE, {"cuts": [[0, 18, 65], [18]]}),
    "real, any range": (REAL, "none"),
    "real, widths": (REAL, {"widths": [2.5, 5]}),
    "real, cuts": (REAL, {"cuts": [[0, 18.5]]}),
    "days, any range": (DAY, "none"),
    "days, calendar": (DAY, {"dates": ["month", "quarter", "year", "decade"]}),
    "weeks": (DAY, {"dates": ["week"]}),
    "moments, any range": (MOMENT, "none"),
    "moments, calendar": (MOMENT, {"dates": ["day", "month", "year"]}),
    "times, any range": (CLOCK, "none"),
    "text numbers": (WHOLE.cast(pl.String), {"widths": [10]}),
    "text numbers, groups": (WHOLE.cast(pl.String), {"top": 60, "bottom": 18}),
    "text fractions": (REAL.cast(pl.String), {"widths": [5]}),
    "text fractions, cuts": (REAL.cast(pl.String), {"cuts": [[0, 18]]}),
    "text fractions, groups": (REAL.cast(pl.String), {"top": 40, "bottom": 18}),
    "real, groups": (REAL, {"widths": [5], "top": 40, "bottom": 18}),
}


def asked(spec, **more):
    keywords = {"quasi": ["x"], "plain": ["row"], "hierarchies": {"x": spec}, "show": {"x": "bounds"}, "k": 4}
    return shoal.Policy.from_keywords(**{**keywords, **more})


def table(column, nulls=False):
    if nulls:
        column = column.clone().scatter([0, 1, 2, 3, 4], [None])
    return pl.DataFrame({"x": column, "row": range(len(column))})


def outside(value, low, high, label):
    """Whether a value is not between its bounds; the upper end of [a, b) and of a group `<b` is not included."""
    if value is None:
        return (low, high) != (None, None)
    if isinstance(value, str):
        value = float(value) if "." in value else int(value)
    if isinstance(value, dt.datetime) and not isinstance(low if low is not None else high, dt.datetime):
        value = value.date()
    open_end = str(label).endswith(")") or (str(label).startswith("<") and float(label[1:]) == high)
    above = high is not None and (value >= high if open_end else value > high)
    return (low is not None and value < low) or above


def loss_by_hand(values, rows):
    """LM by its definition, from what label and bounds say."""
    lost = 0.0
    for label, low, high in rows.select("x", "x_low", "x_high").iter_rows():
        if label == "*":
            lost += 1
        elif label is not None:
            covered = sum(one is not None and not outside(one, low, high, label) for one in values)
            lost += (covered - 1) / (len(values) - 1)
    return lost / len(rows)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("name", sorted(CASES))
def test_values_lie_between_their_bounds(name, nulls):
    column, spec = CASES[name]
    data = table(column, nulls)
    made = shoal.anonymize(data, asked(spec))
    assert made.table.columns == ["x", "x_low", "x_high", "row"]
    rows = made.table
    wrong = [
        label
        for row, label, low, high in zip(rows["row"], rows["x"], rows["x_low"], rows["x_high"], strict=True)
        if outside(data["x"][row], low, high, label)
    ]
    assert wrong == []
    assert made.measures["lm"] == pytest.approx(loss_by_hand(data["x"].unique().to_list(), rows))
    shown = [label for label in rows["x"] if label is not None and label != "*"]
    bounded = rows.filter(pl.col("x_low").is_not_null() | pl.col("x_high").is_not_null())
    assert len(bounded) == len(shown)
    judged = shoal.audit(made.table, asked(spec), original=data)
    assert judged.holds
    assert judged.classes == made.classes
    assert judged.losses == pytest.approx(made.losses)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ".jsonl", ".arrow"])
@pytest.mark.parametrize("name", ["whole, cuts", "real, widths", "days, calendar", "moments, any range"])
def test_files_with_bounds_are_audited_attacked_and_reported(tmp_path, suffix, name):
    column, spec = CASES[name]
    data = table(column)
    data.write_parquet(tmp_path / "data.parquet")
    out = tmp_path / f"out{suffix}"
    made = anonymize_file(tmp_path / "data.parquet", asked(spec), out)
    judged = shoal.audit(out, asked(spec), original=tmp_path / "data.parquet")
    assert judged.holds
    assert (judged.classes, judged.suppressed) == (made.classes, made.suppressed)
    assert judged.losses == pytest.approx(made.losses)
    assert not any("x_low" in note for note in judged.notes)
    if suffix == ".csv":
        assert shoal.attack(out, asked(spec), original=tmp_path / "data.parquet").at_risk == 0
        assert shoal.report(out, asked(spec), original=tmp_path / "data.parquet").holds
        alone = shoal.audit(out, asked(spec))
        assert alone.classes == made.classes


def test_bounds_that_tell_more_than_labels_are_seen():
    """A tool writes exact values into the bounds: each row is then a class of its own, and people are found."""
    data = table(pl.Series(range(40)))
    policy = asked({"widths": [10]})
    made = shoal.anonymize(data, policy)
    exact = made.table.with_columns(x_low=pl.col("row"), x_high=pl.col("row"))
    for original in (None, data):
        found = shoal.audit(exact, policy, original=original)
        assert not found.holds
        assert found.classes == 40
    hit = shoal.attack(exact, policy, original=data)
    assert hit.at_risk == 40


@pytest.mark.parametrize("side", ["low", "high"])
def test_one_end_is_enough_to_tell_more(side):
    data = table(pl.Series(range(40)))
    made = shoal.anonymize(data, asked({"widths": [10]}))
    exact = made.table.drop("x_low", "x_high").with_columns(pl.col("row").alias(f"x_{side}"))
    found = shoal.audit(exact, asked({"widths": [10]}), original=data)
    assert found.classes == 40


def test_a_policy_that_says_nothing_of_bounds_reads_them_anyway():
    data = table(pl.Series(range(40)))
    made = shoal.anonymize(data, asked({"widths": [10]}))
    exact = made.table.with_columns(x_low=pl.col("row"), x_high=pl.col("row"))
    plain = asked({"widths": [10]}, show=None)
    found = shoal.audit(exact, plain, original=data)
    assert not found.holds
    assert any("x_low, x_high are read as the ends" in note for note in found.notes)
    assert shoal.audit(made.table, plain, original=data).holds


def test_columns_of_the_original_with_such_names_are_not_bounds():
    data = table(pl.Series(range(40))).with_columns(x_low=pl.col("row"))
    policy = asked({"widths": [10]}, show=None, plain=["row", "x_low"])
    made = shoal.anonymize(data, policy)
    assert shoal.audit(made.table, policy, original=data).classes == 4


def test_bounds_that_contradict_their_label_are_untrue():
    data = table(pl.Series(range(40)))
    policy = asked({"widths": [10]})
    made = shoal.anonymize(data, policy)
    first = pl.col("x") == "0-9"
    moved = made.table.with_columns(
        pl.when(first).then(pl.col(end) + 10).otherwise(end).alias(end) for end in ("x_low", "x_high")
    )
    found = shoal.audit(moved, policy, original=data)
    assert not found.holds
    assert any(verdict.model == "truthful" and not verdict.holds for verdict in found.verdicts)


@pytest.mark.parametrize(
    "method", ["agglomerative", "full-domain", "bucketization", "anatomy", "slice-columns"]
)
def test_other_methods_show_bounds(method):
    data = table(WHOLE).with_columns(y=pl.Series(["ab"[row % 2] for row in range(ROWS)]))
    more = {"quasi": ["x"], "sensitive": ["y"]}
    more |= {"k": None, "l": 2} if method in ("bucketization", "anatomy", "slice-columns") else {}
    policy = asked({"widths": [10, 40]}, method=method, **more)
    made = shoal.anonymize(data, policy)
    assert {"x_low", "x_high"} <= set(made.table.columns)
    assert shoal.audit(made.table, policy, original=data, second=made.second, record=made.record).holds


def test_sets_have_bounds():
    data = table(WHOLE)
    made = shoal.anonymize(data, asked("none", method={"name": "mondrian", "show": "sets"}))
    for cell, low, high in zip(made.table["x"], made.table["x_low"], made.table["x_high"], strict=True):
        values = list(cell)
        assert (low, high) == (min(values), max(values))
    assert shoal.audit(made.table, asked("none"), original=data).classes == made.classes


def test_nothing_of_suppressed_rows_is_an_end():
    column = pl.Series([*(row % 20 for row in range(60)), 987_654, -987_654])
    policy = asked("none", quasi=["x", "block"], limits={"block": 0}, suppression=0.1)
    data = table(column).with_columns(block=pl.Series(["a"] * 60 + ["b", "b"]))
    made = shoal.anonymize(data, policy)
    assert made.suppressed == 2
    assert made.table["x_high"].max() == 19
    assert made.table["x_low"].min() == 0


def test_the_codebook_explains_bounds():
    made = shoal.anonymize(table(WHOLE), asked({"widths": [10]}))
    column = made.codebook.by_name["x_high"]
    assert (column.role, column.type) == ("bounds", "integer")
    assert "upper end of each cell of x" in column.published


@pytest.mark.parametrize("spec", [{"mask": "right"}, {"tree": {"a": ["1"], "b": ["2"]}}])
def test_kinds_without_bounds_are_refused(spec):
    with pytest.raises(PolicyError, match="have no bounds"):
        asked(spec)


@pytest.mark.parametrize("spec", ["none", "auto"])
def test_texts_have_no_bounds(spec):
    data = table(pl.Series([f"word {row % 30}" for row in range(ROWS)]))
    with pytest.raises(HierarchyError, match="is for numbers and dates"):
        shoal.anonymize(data, asked(spec))


def test_only_quasi_identifiers_have_bounds():
    with pytest.raises(PolicyError, match="goes with quasi-identifiers"):
        asked("none", show={"row": "bounds"})


@pytest.mark.parametrize("role", ["plain", "drop", "identifier", "sensitive"])
def test_names_that_collide_are_refused(role):
    data = table(WHOLE).with_columns(x_low=pl.col("row"))
    with pytest.raises(PolicyError, match="would add a column 'x_low', but the table has one already"):
        shoal.anonymize(data, asked("none", **{role: ["x_low", *(["row"] if role == "plain" else [])]}))


def test_names_that_two_columns_would_add_are_refused():
    data = pl.DataFrame({"x": WHOLE, "x_low": WHOLE, "row": range(ROWS)})
    policy = shoal.Policy.from_keywords(
        quasi=["x", "x_low"], plain=["row"], show={"x": "bounds", "x_low": "bounds"}, k=3
    )
    with pytest.raises(PolicyError, match="x_low"):
        shoal.anonymize(data, policy)


SHOWS = {"mondrian": ["sets", "ranges"], "agglomerative": ["sets", "ranges"], "hilbert": ["sets", "ranges"]}
NOTIONS = {"nearest": "k-1", "k-k": "k-k"}


def small_column(draw):
    """Return numbers or texts that are numbers: whole, with fractions anywhere or in a group only, or with zeros."""
    kind = draw.choice(["whole", "float", "half", "low half", "text", "text half", "text low half", "zeros"])
    values = [draw.randint(-4, 30) for _ in range(draw.randint(6, 16))]
    if "half" in kind:
        values = [one + draw.choice([0.0, 0.5]) * ("low" not in kind or one < 9) for one in values]
    found = [f"{one:03}" if kind == "zeros" else f"{one:g}" for one in values]
    column = [None if draw.random() < 0.05 else one for one in (found if kind[0] in "tz" else values)]
    return pl.Series(
        "x", column, pl.String if kind[0] in "tz" else pl.Int64 if kind == "whole" else pl.Float64
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_loss_of_groups_and_bounds_is_that_of_its_definition(seed):
    """LM counts the values that the text of a cell covers, read by another reader; bounds leave out none of them."""
    draw = random.Random(seed)
    column = small_column(draw)
    kinds = [("widths", [5]), ("widths", [3, 6]), ("cuts", [[5, 10, 20]]), ("top", None)]
    kind, setting = draw.choice([*kinds, ("none", None)] if column.dtype.is_numeric() else kinds)
    top, bottom = (None, None) if kind == "none" else (draw.choice([18, 24]), draw.choice([9, 4.5]))
    ends = {"top": top, "bottom": bottom}
    spec = "none" if kind == "none" else ends if kind == "top" else {kind: setting, **ends}
    method = draw.choice([*SHOWS, *NOTIONS, "full-domain"])
    policy = asked(
        spec,
        k=2,
        plain=[],
        method={"name": method} | ({"show": draw.choice(SHOWS[method])} if method in SHOWS else {}),
        **({"notion": NOTIONS[method]} if method in NOTIONS else {}),
    )
    made = shoal.anonymize(column.to_frame(), policy)
    domain, values, lost = Domain("none" if kind == "top" else kind, setting, **ends), column.unique(), 0.0
    for label, low, high in made.table.select("x", "x_low", "x_high").iter_rows():
        covered = [one for one in values if domain.covers(label, one)]
        places = [number(one) for one in covered if one is not None]
        assert not [one for one in places if low is not None and one < low], label
        assert not [one for one in places if high is not None and one > high], label
        lost += (len(covered) - 1) / max(len(values) - 1, 1)
    assert made.measures["lm"] == pytest.approx(lost / len(column))
    judged = shoal.audit(made.table, policy, original=column.to_frame())
    assert judged.holds
    assert judged.measures["lm"] == pytest.approx(made.measures["lm"])


@pytest.mark.parametrize("as_text", [False, True])
def test_a_group_does_not_include_its_upper_end(as_text):
    """9.5 is in the group `<10`, and nothing public says whether such a value is."""
    for odd in (9.0, 9.5):
        column = pl.Series("x", [3.0, 5.0, 8.0, odd, 20.0, 20.0, 22.0, 22.0])
        column = column.cast(pl.String).str.strip_suffix(".0") if as_text else column
        made = shoal.anonymize(table(column), asked({"bottom": 10}, k=2)).table
        assert set(made.filter(pl.col("x") == "<10")["x_high"]) == {10}
        assert set(made.filter(pl.col("x") != "<10")["x_high"]) == {20, 22}


def test_a_range_up_to_a_group_is_read_back_if_numbers_are_shown_without_a_fraction():
    """14.0 is shown as 14, also in `[14, 16+]`: without its range, no loss could be measured."""
    column = pl.Series("x", [2.0, 4.0, 11.0, 14.0, 16.0, 20.0])
    made = shoal.anonymize(column.to_frame(), asked({"top": 16, "bottom": 12}, plain=[], k=3))
    assert sorted(made.table["x"].cast(pl.String)) == ["<12"] * 3 + ["[14, 16+]"] * 3
    assert made.measures["lm"] == pytest.approx(2 / 5)
