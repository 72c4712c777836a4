"""Each attack on synthetic tables against a plain twin, on tables small enough to look at."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.errors import PolicyError
from shoal.support.run import Run
from shoal.synthetic.copies import find_copies, find_returning_uniques
from shoal.synthetic.inference import blind_success, guess_is_right
from shoal.synthetic.linkability import check_splits, choose_splits, link
from shoal.synthetic.membership import chance_to_be_nearer, guess_membership
from shoal.synthetic.predicates import make_multivariate, make_random, make_univariate
from shoal.synthetic.tables import read_tables
from tests import oracles
from tests.inputs.generators import population


def run(seed=1):
    return Run.start(seed)


def small(rows, seed):
    random = np.random.default_rng(seed)
    number = [None if random.random() < 0.15 else int(random.integers(0, 9)) for _ in range(rows)]
    real = np.round(random.normal(0, 2, rows), 1)
    text = [None if random.random() < 0.1 else str(random.choice(list("abc"))) for _ in range(rows)]
    return pl.DataFrame(
        {"n": number, "r": real, "t": text}, schema={"n": pl.Int64, "r": pl.Float64, "t": pl.String}
    )


def conditions(predicates, place):
    return [
        (int(column), int(low), int(high))
        for column, low, high in zip(
            predicates.column[place], predicates.low[place], predicates.high[place], strict=True
        )
        if column >= 0
    ]


def test_univariate_statements_of_a_worked_example():
    synthetic = pl.DataFrame({"age": [20, 30, 30, 40, None], "town": ["a", "a", "b", "b", "c"]})
    tables = read_tables(synthetic, synthetic)
    found = make_univariate(tables, 100, run())
    told = {found.describe(tables, place) for place in range(found.many)}
    # "age = 20" says the same as "age <= 20" here, and 40 is the largest age of all tables.
    assert told == {"age = 20", "age = 40", "age is empty", "town = c"}


@pytest.mark.parametrize("seed", range(12))
def test_statements_are_counted_as_by_hand(seed):
    tables = read_tables(small(30, seed), small(25, seed + 100), small(25, seed + 200))
    synthetic, original = ([part.codes[:, row].tolist() for row in range(part.count)]
                           for part in (tables.synthetic, tables.original))  # fmt: skip
    for make in (make_univariate, make_multivariate):
        found = make(tables, 200, run(seed))
        told = [tuple(conditions(found, place)) for place in range(found.many)]
        assert len(set(told)) == len(told)
        count, first = found.count_in(tables.original, most=25)
        for place, predicate in enumerate(told):
            rows = [at for at, row in enumerate(original) if oracles.synthetic.holds(predicate, row)]
            assert count[place] == len(rows)
            assert first[place] == (rows[0] if rows else -1)
            isolated = [row for row in synthetic if oracles.synthetic.holds(predicate, row)]
            if make is make_multivariate:
                assert len(isolated) == 1
                assert len(predicate) == min(3, len(tables.columns))
            else:
                assert len(isolated) >= 1


def test_random_statements_are_about_values_of_the_synthetic_table():
    tables = read_tables(small(30, 1), small(25, 2))
    found = make_random(tables, 2, 50, run())
    assert found.column.shape == (50, 2)
    assert (found.column[:, 0] < found.column[:, 1]).all()
    assert (found.low <= found.high).all()


def test_guesses_by_hand():
    truth = [100.0, 100.0, 0.0, 0.0, None, None, -40.0, 7.0]
    guess = [105.0, 106.0, 0.0, 0.1, None, 1.0, -42.0, None]
    tables = read_tables(pl.DataFrame({"x": guess}), pl.DataFrame({"x": truth}))
    found = guess_is_right(tables.columns[0], tables.original.codes[0], tables.synthetic.codes[0])
    by_hand = [oracles.synthetic.right_guess(a, b) for a, b in zip(truth, guess, strict=True)]
    assert found.tolist() == by_hand == [True, False, True, False, True, False, True, False]


@pytest.mark.parametrize("seed", range(6))
def test_a_blind_guess_is_the_share_of_synthetic_values_that_would_be_right(seed):
    synthetic, original = small(40, seed), small(30, seed + 50)
    tables = read_tables(synthetic, original)
    for at, column in enumerate(tables.columns):
        found = blind_success(column, tables.original.codes[at], tables.synthetic.codes[at])
        by_hand = [
            np.mean([oracles.synthetic.right_guess(truth, guess) for guess in synthetic[column.name]])
            for truth in original[column.name]
        ]
        assert found == pytest.approx(by_hand), column.name


def test_dates_are_right_only_if_they_are_equal():
    days = pl.Series("day", ["2001-01-01", "2001-01-02"]).str.to_date()
    tables = read_tables(pl.DataFrame([days]), pl.DataFrame([days.reverse()]))
    assert not guess_is_right(tables.columns[0], tables.original.codes[0], tables.synthetic.codes[0]).any()


@pytest.mark.parametrize("seed", range(5))
def test_membership_by_pairs(seed):
    random = np.random.default_rng(seed)
    train, control = random.integers(0, 20, 37), random.integers(3, 23, 29)
    assert chance_to_be_nearer(train, control) == pytest.approx(
        oracles.synthetic.nearer_pairs(train, control)
    )
    found = guess_membership(train.astype(np.int32), control.astype(np.int32))
    assert found.interval()[0] <= found.area <= found.interval()[1]
    assert found.found.share == pytest.approx(oracles.synthetic.accused(train, control, 0.01))


def test_copies_among_the_holdout_do_not_hide_those_of_the_training_rows():
    """18 % of the holdout and 26 % of the training rows are exact copies: accusing one in 18 of them accuses 1 % of
    the holdout and 1.44 % of the training rows, not nobody.
    """
    train = np.array([0] * 26 + [5] * 74, np.int32)
    control = np.array([0] * 18 + [5] * 82, np.int32)
    assert guess_membership(train, control).found.share == pytest.approx(0.26 / 18)


def test_the_interval_of_the_area_covers_one_half_if_nothing_differs():
    random = np.random.default_rng(3)
    covered = [
        low <= 0.5 <= high
        for low, high in (
            guess_membership(random.integers(0, 30, 200), random.integers(0, 30, 150)).interval()
            for _ in range(500)
        )
    ]
    assert np.mean(covered) >= 0.93


@pytest.mark.parametrize("seed", range(8))
def test_copies_and_rare_combinations_by_hand(seed):
    parts = [small(12, seed + shift) for shift in (0, 100, 200)]
    parts[0] = pl.concat([parts[0], parts[1][:4]])
    tables = read_tables(*parts)
    synthetic, original, holdout = (
        [tuple(part.codes[:, row].tolist()) for row in range(part.count)]
        for part in (tables.synthetic, tables.original, tables.holdout)
    )
    found = find_copies(tables)
    assert found.train.share == np.mean([row in synthetic for row in original])
    assert found.control.share == np.mean([row in synthetic for row in holdout])
    assert {row for row, _ in found.exposed} == {
        at for at, row in enumerate(original) if row in synthetic and original.count(row) == 1
    }
    attempt, largest = find_returning_uniques(tables, run())
    for rate, rows in ((attempt.train, original), (attempt.control, holdout)):
        shares = [
            one for one in oracles.synthetic.returning_uniques(rows, synthetic, largest) if one is not None
        ]
        assert rate.of == len(shares)
        assert rate.share == pytest.approx(np.mean(shares))


def test_equal_rows_are_linked_by_chance_only():
    """Where all rows are equally near, an order that both parts share would link everybody."""
    same = pl.DataFrame({"a": ["x"] * 400, "b": ["y"] * 400})
    tables = read_tables(same, same)
    targets = np.arange(400)
    found = link(tables, (targets, None), [(("a",), ("b",))], run())[0]
    assert found.baseline == 1 / 400
    # All targets are alike, so they are linked all or none; over many draws one in 400 is.
    linked = [
        link(tables, (targets[:1], None), [(("a",), ("b",))], run(seed))[0].train.share for seed in range(300)
    ]
    assert np.mean(linked) < 0.03


def test_halves_of_a_copied_row_are_linked():
    people = population(500, 3)
    tables = read_tables(people, people)
    found = link(
        tables, (np.arange(100), None), [(("age", "pay", "hours"), ("town", "school", "job", "ill"))], run()
    )
    exact = found[0].train.share
    assert exact > 5 * found[0].baseline


def test_splits():
    names = ["a", "b", "c", "d", "e"]
    for split in choose_splits(names, run()):
        assert sorted(split[0] + split[1]) == names
        assert len(split[0]) == 2
    assert choose_splits(["a", "b"], run()) in ([(("a",), ("b",))], [(("b",), ("a",))])
    assert check_splits([(["a"], ["b", "c"])], names) == [(("a",), ("b", "c"))]
    with pytest.raises(PolicyError, match=r"'x' is not audited.*available: a, b"):
        check_splits([(["x"], ["b"])], names)
    with pytest.raises(PolicyError, match="'b' is in both sets"):
        check_splits([(["a", "b"], ["b"])], names)
    with pytest.raises(PolicyError, match="needs two sets of columns"):
        check_splits([(["a"], [])], names)
