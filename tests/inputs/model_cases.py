"""What each privacy model means, by the book, and the small tables and groups that tests try it on."""

from __future__ import annotations

import math
from dataclasses import fields
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
from hypothesis import strategies as st
from scipy.optimize import linprog

from shoal.coding import Attribute
from shoal.coding.groups import Groups, Histograms
from shoal.coding.hierarchy import Hierarchy, Level
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models import MODELS, GroupModel
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.keys import bounds
from shoal.judging.models.p_sensitive import PSensitive
from shoal.release.published import Published
from tests.inputs.coded_tables import table_of_matrices

PLACE = {"column": 0, "column_name": "disease"}
TREE = Hierarchy(
    pl.Series("leaves", ["flu", "cold", "ulcer", "gastritis"]),
    (
        Level(np.arange(4, dtype=np.int32), pl.Series("n", ["flu", "cold", "ulcer", "gastritis"])),
        Level(np.array([0, 2], np.int32), pl.Series("n", ["lung", "stomach"])),
        Level(np.array([0], np.int32), pl.Series("n", ["*"])),
    ),
)

wholes = st.integers(2, 4)
reals = st.one_of(wholes.map(float), st.fractions(Fraction(7, 6), 4, max_denominator=6).map(float))
shares = st.fractions(Fraction(1, 12), 1, max_denominator=12).map(float)


def values(kind, limits):
    """Small values of a parameter: whole numbers, shares, or both shares and larger numbers, as its bounds permit."""
    if kind is int:
        return st.integers(int(limits.ge), 4)
    if kind is Fraction:
        return st.fractions(Fraction(1, 5), Fraction(4, 5), max_denominator=6)
    return shares if limits.le == 1 else reals if limits.gt == 1 else reals | shares


def instances(kind):
    """Models of a class, with every rule by which a policy may ask for it, and small parameters."""
    column = [field for field in fields(kind) if field.name == "column"]
    places = [PLACE] * bool(column) + [{}] * (not column or column[0].default is None)
    drawn = {name: values(*limits) for name, limits in bounds(kind).items()}
    given = st.sampled_from([{**place, **fixed} for place in places for fixed in kind.rules.values() or [{}]])
    return given.flatmap(lambda fixed: st.builds(partial(kind, **fixed), **drawn))


OPTIONS = {name: instances(kind) for name, kind in MODELS.items() if issubclass(kind, GroupModel)}
"""Model over classes -> models to try."""
models = st.one_of(list(OPTIONS.values()))


def transport(cost, supply, demand):
    """Least cost of turning one distribution into another, as a linear program."""
    m = len(supply)
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)]
    columns = [np.kron(np.ones(m), np.eye(m)[j]) for j in range(m)]
    done = linprog(np.ravel(cost), A_eq=rows + columns, b_eq=[*supply, *demand], method="highs")
    return done.fun


def close_enough(distance, t):
    return distance <= t + 1e-9


def counted(rows):
    """How often each value occurs, largest first."""
    return sorted((rows.count(code) for code in set(rows)), reverse=True)


def distribution(rows, table):
    """The share of each value of the table among some rows, and in the whole table."""
    every = sorted(set(table))
    return [(rows.count(code) / len(rows), table.count(code) / len(table)) for code in every]


def entropy(model, rows, table, distance):
    shares = [count / len(rows) for count in counted(rows)]
    return -sum(share * math.log(share) for share in shares) >= math.log(model.l) - 1e-10


def recursive(model, rows, table, distance):
    counts = counted(rows)
    return Fraction(counts[0]) < Fraction(model.c).limit_denominator(1000) * sum(counts[model.l - 1 :])


def alpha(model, rows, table, distance):
    return len(rows) >= model.k and counted(rows)[0] / len(rows) <= model.alpha + 1e-12


def equal(model, rows, table, distance):
    return close_enough(sum(abs(q - p) for q, p in distribution(rows, table)) / 2, model.t)


def ordered(model, rows, table, distance):
    count = len(set(table))
    cost = [[abs(i - j) / max(count - 1, 1) for j in range(count)] for i in range(count)]
    return close_enough(transport(cost, *zip(*distribution(rows, table), strict=True)), model.t)


def hierarchical(model, rows, table, distance):
    every = sorted(set(table))
    cost = [[distance(a, b) for b in every] for a in every]
    return close_enough(transport(cost, *zip(*distribution(rows, table), strict=True)), model.t)


def spread(model, rows, table, distance):
    return len(set(rows)) >= model.k and max(rows) - min(rows) >= model.e - 1e-9


def beta_likeness(model, rows, table, distance):
    gains = [((q - p) / p, p) for q, p in distribution(rows, table) if q > p]
    most = [min(model.beta, -math.log(p)) if model.enhanced else model.beta for _, p in gains]
    return all(gain <= limit + 1e-9 for (gain, _), limit in zip(gains, most, strict=True))


def delta_disclosure(model, rows, table, distance):
    for value in set(table):
        q, p = Fraction(rows.count(value), len(rows)), Fraction(table.count(value), len(table))
        if (q == 0 and model.strict) or (q > 0 and abs(math.log2(q / p)) >= model.delta):
            return False
    return True


BY_THE_BOOK = {
    "highest-risk": lambda m, rows, *_: Fraction(1, len(rows)) <= m.highest,
    "delta-disclosure": delta_disclosure,
    "beta-likeness": beta_likeness,
    "k-anonymity": lambda model, rows, *_: len(rows) >= model.k,
    "distinct-l": lambda model, rows, *_: len(set(rows)) >= model.l,
    "p-sensitive": lambda model, rows, *_: len(set(rows)) >= model.p,
    "extended-p-sensitive": lambda model, rows, *_: len(set(rows)) >= model.p,
    "probabilistic-l": lambda model, rows, *_: counted(rows)[0] / len(rows) <= 1 / model.l + 1e-12,
    "entropy-l": entropy,
    "recursive-cl": recursive,
    "alpha-k": alpha,
    "k-e": spread,
    "t-equal": equal,
    "t-ordered": ordered,
    "t-hierarchical": hierarchical,
}
"""Model over classes -> its definition: the model, the sensitive codes of a class, those of the whole table, and how
far two codes are apart.
"""


def plain_rule(model, rows, table, distance):
    """Does one class, given as the sensitive codes of its rows, satisfy the model? By the book."""
    name = "k-anonymity" if isinstance(model, KAnonymity) else model.name
    return len(rows) > 0 and bool(BY_THE_BOOK[name](model, rows, table, distance))


def apart(hierarchy):
    """Level of the lowest common node over the height of the root."""
    height = max(min(i for i, level in enumerate(hierarchy.levels) if len(level.starts) == 1), 1)
    low = hierarchy.low
    return lambda a, b: min(i for i in range(len(low)) if low[i, a] == low[i, b]) / height


def satisfies(model, table, rows):
    """Do these rows of a table, as one class, satisfy the model, by the book?"""
    columns = range(len(table.sensitive))
    if isinstance(model, PSensitive):
        wanted = columns if model.column is None else [model.column]
        return len(rows) > 0 and all(
            len({int(table.secrets.wide[row, j]) for row in rows}) >= model.p for j in wanted
        )
    codes = table.secrets.wide[:, 0].tolist()
    distance = apart(table.sensitive[0].hierarchy)
    return plain_rule(model, [codes[row] for row in rows], codes, distance)


def evidence(table, class_of):
    keep = np.flatnonzero(class_of >= 0)
    shown = Published(
        table.attributes,
        table.sensitive,
        np.unique(class_of[keep], return_inverse=True)[1].astype(np.int32),
        np.asfortranarray(table.secrets.wide[keep]),
        None,
        suppressed=table.rows - len(keep),
    )
    return Evidence(shown, table)


def of_counts(*groups, hierarchy=TREE, totals=None):
    """Groups given as full histograms over the codes of one sensitive column."""
    dense = np.array(groups, np.int64)
    g, code = np.nonzero(dense)
    start = np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))]).astype(np.int64)
    own = Histograms(start, code.astype(np.int32), dense[g, code])
    totals = dense.sum(axis=0) if totals is None else np.array(totals, np.int64)
    return Groups(dense.sum(axis=1), (own,), (totals,), (Attribute("disease", hierarchy),))


def simple_table(*columns, hierarchy=TREE, quasi=None):
    """Sensitive columns given as codes; one quasi-identifier, the same for all unless given."""
    rows = len(columns[0])
    quasi = (Attribute("q", TREE), [0] * rows) if quasi is None else quasi
    secret = tuple(Attribute(f"s{j}", hierarchy) for j in range(len(columns)))
    codes = np.asfortranarray(np.array(quasi[1], np.int32).reshape(rows, 1))
    sensitive = np.asfortranarray(np.array(columns, np.int32).T.reshape(rows, len(columns)))
    names = (quasi[0].name, *(a.name for a in secret))
    return table_of_matrices((quasi[0],), codes, secret, sensitive, pl.DataFrame(), names)
