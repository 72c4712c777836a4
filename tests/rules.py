"""What each privacy model means, by the book, and the small tables and groups that tests try it on."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
from hypothesis import strategies as st
from scipy.optimize import linprog

from shoal.hierarchy import Hierarchy, Level
from shoal.linking.evidence import Evidence
from shoal.models.alpha_k import AlphaK
from shoal.models.extended_p import ExtendedPSensitive
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    ProbabilisticDiversity,
    RecursiveDiversity,
)
from shoal.models.p_sensitive import PSensitive
from shoal.models.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from shoal.release.groups import Groups, Histograms
from shoal.release.published import Published
from shoal.table import Attribute, CodedTable

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
OPTIONS = {
    "k-anonymity": st.builds(KAnonymity, k=wholes),
    "distinct-l": st.builds(partial(DistinctDiversity, **PLACE), l=wholes),
    "probabilistic-l": st.builds(partial(ProbabilisticDiversity, **PLACE), l=reals),
    "entropy-l": st.builds(partial(EntropyDiversity, **PLACE), l=reals),
    "recursive-cl": st.builds(partial(RecursiveDiversity, **PLACE), c=reals | shares, l=wholes),
    "t-equal": st.builds(partial(EqualCloseness, **PLACE), t=shares),
    "t-ordered": st.builds(partial(OrderedCloseness, **PLACE), t=shares),
    "t-hierarchical": st.builds(partial(HierarchicalCloseness, **PLACE), t=shares),
    "alpha-k": st.builds(partial(AlphaK, **PLACE), alpha=shares, k=st.integers(1, 3)),
    "p-sensitive": st.builds(PSensitive, p=wholes) | st.builds(partial(PSensitive, **PLACE), p=wholes),
    "extended-p-sensitive": st.builds(partial(ExtendedPSensitive, **PLACE), p=wholes),
}
models = st.one_of(list(OPTIONS.values()))
LOOSEST = {
    "k-anonymity": KAnonymity(k=2),
    "distinct-l": DistinctDiversity(l=2, **PLACE),
    "probabilistic-l": ProbabilisticDiversity(l=1.1, **PLACE),
    "entropy-l": EntropyDiversity(l=1.1, **PLACE),
    "recursive-cl": RecursiveDiversity(c=99, l=2, **PLACE),
    "t-equal": EqualCloseness(t=1, **PLACE),
    "t-ordered": OrderedCloseness(t=1, **PLACE),
    "t-hierarchical": HierarchicalCloseness(t=1, **PLACE),
    "alpha-k": AlphaK(alpha=1, **PLACE),
    "p-sensitive": PSensitive(p=2, **PLACE),
    "extended-p-sensitive": ExtendedPSensitive(p=2, **PLACE),
}


def transport(cost, supply, demand):
    """Least cost of turning one distribution into another, as a linear program."""
    m = len(supply)
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)]
    columns = [np.kron(np.ones(m), np.eye(m)[j]) for j in range(m)]
    done = linprog(np.ravel(cost), A_eq=rows + columns, b_eq=[*supply, *demand], method="highs")
    return done.fun


def close_enough(distance, t):
    return distance <= t + 1e-9


def plain_rule(model, rows, table, codes_of):
    """Does one class, given as the sensitive codes of its rows, satisfy the model? By the book."""
    counts = sorted((rows.count(code) for code in set(rows)), reverse=True)
    size = len(rows)
    if size == 0:
        return False
    if isinstance(model, KAnonymity):
        return size >= model.k
    if isinstance(model, DistinctDiversity):
        return len(counts) >= model.l
    if isinstance(model, ExtendedPSensitive):
        return len(counts) >= model.p
    if isinstance(model, ProbabilisticDiversity):
        return all(count / size <= 1 / model.l + 1e-12 for count in counts)
    if isinstance(model, EntropyDiversity):
        return -sum(c / size * math.log(c / size) for c in counts) >= math.log(model.l) - 1e-10
    if isinstance(model, RecursiveDiversity):
        return Fraction(counts[0]) < Fraction(model.c).limit_denominator(1000) * sum(counts[model.l - 1 :])
    if isinstance(model, AlphaK):
        return size >= model.k and all(count / size <= model.alpha + 1e-12 for count in counts)
    every = sorted(set(table))
    own = [rows.count(code) / size for code in every]
    whole = [table.count(code) / len(table) for code in every]
    if isinstance(model, EqualCloseness):
        return close_enough(sum(abs(p - q) for p, q in zip(own, whole, strict=True)) / 2, model.t)
    if isinstance(model, OrderedCloseness):
        cost = [[abs(i - j) / max(len(every) - 1, 1) for j in range(len(every))] for i in range(len(every))]
        return close_enough(transport(cost, own, whole), model.t)
    assert isinstance(model, HierarchicalCloseness)
    cost = [[codes_of(a, b) for b in every] for a in every]
    return close_enough(transport(cost, own, whole), model.t)


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
            len({int(table.sensitive_codes[row, j]) for row in rows}) >= model.p for j in wanted
        )
    codes = table.sensitive_codes[:, 0].tolist()
    distance = apart(table.sensitive[0].hierarchy)
    return plain_rule(model, [codes[row] for row in rows], codes, distance)


def evidence(table, class_of):
    keep = np.flatnonzero(class_of >= 0)
    shown = Published(
        table.attributes,
        table.sensitive,
        np.unique(class_of[keep], return_inverse=True)[1].astype(np.int32),
        np.asfortranarray(table.sensitive_codes[keep]),
        None,
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
    return CodedTable((quasi[0],), codes, secret, sensitive, pl.DataFrame(), names)
