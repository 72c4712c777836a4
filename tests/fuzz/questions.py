"""What random policies ask for: models with parameters, and which methods are asked for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from shoal.methods import METHODS

Models = list[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Question:
    """The section `[privacy]`, and the models that follow from it."""

    name: str
    privacy: Mapping[str, Any]
    models: Models
    sensitive: bool = False
    """It needs a sensitive column."""
    tree: bool = False
    """It needs a hierarchy of the sensitive column."""
    protects: bool = False
    numbers: bool = False
    """It needs an order of the sensitive column."""
    population: bool = False
    limit: bool = False
    """Some quasi-identifiers have a generalization limit."""
    safe_harbor: bool = False
    """All columns say that they are none of the kinds of HIPAA Safe Harbor."""
    rows: tuple[int, int] = (4, 16)


def _k(random: Random) -> int:
    return random.choice([2, 2, 3, 4])


def _size(random: Random) -> Question:
    k = _k(random)
    return Question("k-anonymity", {"k": k}, [("k-anonymity", {"k": k})], rows=(4, 30))


def _with_k(
    name: str, privacy: Callable[[Random], tuple[dict[str, Any], dict[str, Any]]], **more: Any
) -> Callable[[Random], Question]:
    """Ask for a model about sensitive values, most often together with k."""

    def question(random: Random) -> Question:
        asked, parameters = privacy(random)
        models: Models = [(name, parameters)]
        if random.random() < 0.7:
            asked, models = {"k": 2, **asked}, [("k-anonymity", {"k": 2}), *models]
        return Question(name, asked, models, sensitive=True, **{"rows": (4, 20), **more})

    return question


def _choose(
    key: str, parameter: str, values: list[Any], word: str | None = None, **fixed: Any
) -> Callable[[Random], tuple[dict[str, Any], dict[str, Any]]]:
    def chosen(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
        value = random.choice(values)
        return {key: value if word is None else {word: value}}, {parameter: value, **fixed}

    return chosen


def _recursive(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    c, l = random.choice([1.5, 2, 4]), random.choice([2, 3])  # noqa: E741
    return {"l": {"recursive": [c, l]}}, {"c": c, "l": l}


def _spread(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    k, e = random.choice([2, 3]), random.choice([0.5, 1.0, 2.0])
    return {"ke": [k, e]}, {"k": k, "e": e}


SHARES = [0.34, 0.5, 0.6, 0.75, 0.9]
NUMBERS = [1.2, 1.5, 2, 2.5, 3]
BY_CLASSES: dict[str, Callable[[Random], Question]] = {
    "k-anonymity": _size,
    "distinct-l": _with_k("distinct-l", _choose("l", "l", [2, 3])),
    "probabilistic-l": _with_k("probabilistic-l", _choose("l", "l", NUMBERS, "probabilistic")),
    "entropy-l": _with_k("entropy-l", _choose("l", "l", NUMBERS, "entropy")),
    "recursive-cl": _with_k("recursive-cl", _recursive),
    "t-equal": _with_k("t-equal", _choose("t", "t", [0.2, 0.4, 0.6], "equal")),
    "t-ordered": _with_k("t-ordered", _choose("t", "t", [0.1, 0.25, 0.5], "ordered"), numbers=True),
    "t-hierarchical": _with_k(
        "t-hierarchical", _choose("t", "t", [0.2, 0.4, 0.6], "hierarchical"), tree=True
    ),
    "beta-likeness": _with_k(
        "beta-likeness", _choose("beta", "beta", [0.5, 1, 3], "enhanced", enhanced=True)
    ),
    "basic beta": _with_k("beta-likeness", _choose("beta", "beta", [0.5, 1, 3], "basic", enhanced=False)),
    "delta-disclosure": _with_k(
        "delta-disclosure", _choose("delta", "delta", [1, 2, 3], "strict", strict=True)
    ),
    "present delta": _with_k(
        "delta-disclosure", _choose("delta", "delta", [1, 2, 3], "present", strict=False)
    ),
    "alpha-k": _with_k("alpha-k", _choose("alpha", "alpha", SHARES)),
    "k-e": _with_k("k-e", _spread, numbers=True),
    "p-sensitive": _with_k("p-sensitive", _choose("p", "p", [2, 3])),
}


def _risk(name: str, word: str, values: list[Any]) -> Callable[[Random], Question]:
    """Ask for a limit on the risk, sometimes together with k."""

    def question(random: Random) -> Question:
        value = random.choice(values)
        table = {word: value} | ({"above": random.choice(["1/3", 0.5])} if word == "share" else {})
        models: Models = [(name, table)]
        privacy: dict[str, Any] = {"risk": table}
        if random.random() < 0.3:
            privacy, models = {"k": 2, **privacy}, [("k-anonymity", {"k": 2}), *models]
        return Question(name, privacy, models, rows=(4, 24))

    return question


def _k_map(random: Random) -> Question:
    k = random.choice([2, 3, 4])
    return Question("k-map", {"k_map": k}, [("k-map", {"k": k})], population=True, rows=(4, 16))


BY_CLASSES |= {
    "highest-risk": _risk("highest-risk", "highest", ["1/3", 0.5, 0.33]),
    "average-risk": _risk("average-risk", "average", ["1/3", 0.5, 0.4, "2/7"]),
    "share-at-risk": _risk("share-at-risk", "share", [0, 0.25, 0.5]),
}


def _extended(random: Random) -> Question:
    # Which nodes are protected is known once the column is there; the checker is told by the case.
    return Question(
        "extended-p-sensitive",
        {"k": 2, "p": 2},
        [("k-anonymity", {"k": 2}), ("extended-p-sensitive", {"p": 2})],
        True,
        True,
        True,
    )


def _notion(name: str) -> Callable[[Random], Question]:
    def question(random: Random) -> Question:
        k = random.choice([2, 2, 3])
        more = {"known": random.choice([1, 2, 3, 5])} if name == "k-k" and random.random() < 0.5 else {}
        return Question(name, {"k": k, "notion": name, **more}, [(name, {"k": k, **more})], rows=(4, 12))

    return question


def _candidates(random: Random) -> Question:
    models: Models = [("probabilistic-k", {"k": 2}), ("candidate-l", {"l": 2})]
    return Question("candidate-l", {"k": 2, "notion": "probabilistic-k", "l": 2}, models, True, rows=(4, 10))


NOTIONS = {name: _notion(name) for name in ("1-k", "k-1", "k-k", "global-1-k", "probabilistic-k")}


def _presence(random: Random) -> Question:
    low, high = random.choice([0.0, 0.0, 0.1]), random.choice([0.5, 0.6, 0.75, 0.9])
    return Question(
        "delta-presence",
        {"presence": [low, high]},
        [("delta-presence", {"low": low, "high": high})],
        population=True,
        rows=(2, 4),
    )


def _slicing(random: Random) -> Question:
    l = random.choice([1.2, 1.5, 2])  # noqa: E741
    return Question("slicing-l", {"l": {"slicing": l}}, [("slicing-l", {"l": l})], True, rows=(4, 14))


def _learned(random: Random) -> Question:
    """Of so few people nobody is guessed right too often beyond chance; tests/judging has the others."""
    l = random.choice([1.2, 1.5, 2])  # noqa: E741
    return Question("learned-l", {"l": {"learned": l}}, [("learned-l", {"l": l})], True, rows=(4, 9))


def _few_columns(random: Random) -> Question:
    k, most = _k(random), random.choice([1, 1, 2])
    asked = {"k": k, "keys": {"any": most}}
    return Question("known-columns", asked, [("known-columns", {"k": k, "any": most})], rows=(4, 24))


def _relocation(random: Random) -> Question:
    budget, alpha = random.choice([0.05, 0.1, 0.3]), random.choice([None, 0.01, 0.05])
    exact = alpha is not None and random.random() < 0.5
    relocation = {"budget": budget, **({} if alpha is None else {"exact" if exact else "alpha": alpha})}
    models: Models = [("k-anonymity", {"k": 2}), ("hybrid-k", {"budget": budget})]
    models += [] if alpha is None else [("alpha-hybrid", {"alpha": alpha, "exact": exact})]
    return Question("relocation", {"k": 2, "relocation": relocation}, models, rows=(6, 24))


def _aggregates(random: Random) -> Question:
    """Any question about classes, if all cells may be false."""
    asked = BY_CLASSES[random.choice(list(BY_CLASSES))](random)
    relocation = {"relocation": {"budget": 1.0}}
    return replace(
        asked, privacy={**asked.privacy, **relocation}, models=[*asked.models, ("hybrid-k", {"budget": 1.0})]
    )


def _limits(random: Random) -> Question:
    return Question("generalization-limit", {"k": 2}, [("k-anonymity", {"k": 2})], limit=True, rows=(6, 30))


def _hidden(random: Random) -> Question:
    return Question("hidden-values", {"k": 2}, [("k-anonymity", {"k": 2})], rows=(6, 30))


def _safe_harbor(random: Random) -> Question:
    models: Models = [("k-anonymity", {"k": 2}), ("safe-harbor", {"what": "other"})]
    return Question("safe-harbor", {"k": 2}, models, safe_harbor=True, rows=(6, 30))


def _adversary(random: Random) -> Question:
    name, model = random.choice(ADVERSARIES)
    # Nobody knows more than 10 people of a table with as many rows.
    known = random.choice([1, 2, 4, 10]) if name == "knows-some" else None
    told = {} if known in (None, 10) else {"known": known}
    asked = {"k": 2} if known is None else {"k": 2, "known": known}
    return Question("adversary", {"k": 2, "adversary": name, **told}, [(model, asked)], rows=(4, 10))


ADVERSARIES = [("knows-some", "k-k"), ("knows-members", "global-1-k"), ("knows-algorithm", "probabilistic-k")]
"""What a policy may name instead of a notion, and the notion that stops them."""


OTHERS = {
    "adversary": _adversary,
    "generalization-limit": _limits,
    "hidden-values": _hidden,
    "safe-harbor": _safe_harbor,
    "extended-p-sensitive": _extended,
    "candidate-l": _candidates,
    "delta-presence": _presence,
    "k-map": _k_map,
    "slicing-l": _slicing,
    "learned-l": _learned,
    "known-columns": _few_columns,
    "relocation": _relocation,
    "aggregates": _aggregates,
}
QUESTIONS = BY_CLASSES | NOTIONS | OTHERS
"""Name -> a random question."""
BUCKETS = (
    "distinct-l",
    "probabilistic-l",
    "entropy-l",
    "recursive-cl",
    "t-equal",
    "alpha-k",
    "k-e",
    "slicing-l",
    "p-sensitive",
)


def fitting(method: str) -> list[str]:
    """Return the questions that a method should be able to answer, by what its class says."""
    kind = METHODS[method]
    if method in ONLY:
        return list(ONLY[method])
    if kind.can.presence_only:
        return ["delta-presence"]
    if kind.shows.buckets:
        return list(BUCKETS)
    if kind.shows.notions:
        return [model.name for model in kind.shows.notions]
    if kind.false_cells.how:
        return ["relocation", "relocation", "relocation", *BY_CLASSES]
    return [
        *BY_CLASSES,
        *NOTIONS,
        "extended-p-sensitive",
        "candidate-l",
        "slicing-l",
        "learned-l",
        "relocation",
        "generalization-limit",
        "safe-harbor",
        "adversary",
        "k-map",
        *["known-columns"] * (method == "full-domain"),
    ]


ONLY = {
    "ring": (*NOTIONS, "candidate-l", "adversary"),
    "permute-generalize": ("delta-presence",),
    "microaggregation": ("aggregates",),
}
"""Method -> its questions, where its class does not say so."""


def question_for(random: Random, method: str) -> Question:
    """Return a random question, most often one that the method can answer."""
    names = fitting(method) if random.random() < 0.93 else list(QUESTIONS)
    found = QUESTIONS[random.choice(names)](random)
    if METHODS[method].shows.buckets and len(found.models) > 1 and random.random() < 0.95:
        # Exact quasi-identifiers in buckets are not k-anonymous.
        privacy = {name: value for name, value in found.privacy.items() if name != "k"}
        return replace(found, privacy=privacy, models=found.models[1:])
    return found
