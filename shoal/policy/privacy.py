"""The `[privacy]` section, and the models that it asks for.

A further requirement is a field of `Privacy` and, in `_BUILDERS`, a function from its value to models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag, model_validator

from shoal.policy.adversaries import AdversaryName, about_links, models_against
from shoal.policy.part import Number, Part, Whole, shown, wrong

if TYPE_CHECKING:
    from shoal.models import Model

T = TypeVar("T")


class Diversity(Part):
    """l-diversity: how many sensitive values each class must show, and how evenly. Several rules may be given."""

    distinct: Annotated[Whole, Field(ge=2)] | None = None
    """At least so many different values."""
    entropy: Annotated[Number, Field(gt=1)] | None = None
    """The entropy of the values is at least log(l)."""
    probabilistic: Annotated[Number, Field(gt=1)] | None = None
    """No value has a share of more than 1/l."""
    recursive: tuple[Annotated[Number, Field(gt=0)], Annotated[Whole, Field(ge=2)]] | None = None
    """`[c, l]`: the most frequent value occurs less than c times as often as the values from the l-th on
    together."""
    slicing: Annotated[Number, Field(gt=1)] | None = None
    """For sliced tables: over all buckets that a person may be in, no value is more likely than 1/l."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Diversity:
        return _one_given(self, "{ distinct = 3 }")


class Closeness(Part):
    """t-closeness: how far the sensitive values of a class may lie from those of the whole table."""

    equal: Annotated[Number, Field(ge=0, le=1)] | None = None
    """All values are equally far from each other."""
    ordered: Annotated[Number, Field(ge=0, le=1)] | None = None
    """Values lie on a line, for numbers and dates."""
    hierarchical: Annotated[Number, Field(ge=0, le=1)] | None = None
    """Values are as far from each other as their lowest common node is high."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Closeness:
        return _one_given(self, "{ equal = 0.2 }")


class Relocation(Part):
    """How far cells may be untrue, for methods that change some outright; judged with the original at hand."""

    budget: Annotated[Number, Field(ge=0, le=1)] | None = None
    """Largest share of quasi-identifier cells that do not hold their owner's value."""
    alpha: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """Significance level at which the sizes of classes must pass for chance."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Relocation:
        return _one_given(self, "{ budget = 0.01 }")


P = TypeVar("P", bound=Part)


def _one_given(part: P, example: str) -> P:
    if all(value is None for value in dict(part).values()):
        raise wrong("is an empty table", f"for example {example}")
    return part


def _l_shorthand(value: object) -> object:
    """A bare number l means distinct l-diversity."""
    if isinstance(value, int) and not isinstance(value, bool):
        return {"distinct": value}
    if not isinstance(value, Mapping | Part):
        raise wrong(f"must be a table, not {shown(value)}", "for example { distinct = 3 }")
    return value


def _t_shorthand(value: object) -> object:
    if not isinstance(value, Mapping | Part):
        raise wrong(
            f"must be a table that names the distance, not {shown(value)}",
            "{ equal = .. } for categories, { ordered = .. } for numbers, { hierarchical = .. } for trees",
        )
    return value


def _form(value: object) -> Literal["<one>", "<each>"]:
    """Per column, where the value is a table whose values are tables (l, t)."""
    nested = isinstance(value, Mapping) and any(isinstance(inner, Mapping | Part) for inner in value.values())
    return "<each>" if nested else "<one>"


def _tag_of(name: str) -> Callable[[object], str]:
    return lambda value: _form(value).replace(">", f" {name}>")


def _scalar_form(value: object) -> str:
    """Per column, where the value is a table at all (alpha, p)."""
    return "<each>" if isinstance(value, Mapping) else "<one>"


def _adversary_shorthand(value: object) -> object:
    """A single adversary needs no list."""
    return (value,) if isinstance(value, str) else value


_Alpha = Annotated[Number, Field(gt=0, le=1)]
_P = Annotated[Whole, Field(ge=2)]
_L = Annotated[Diversity, BeforeValidator(_l_shorthand)]
_T = Annotated[Closeness, BeforeValidator(_t_shorthand)]

PART_OF_TAG: dict[str, type[BaseModel]] = {
    "<one l>": Diversity,
    "<each l>": Diversity,
    "<one t>": Closeness,
    "<each t>": Closeness,
}


class Privacy(Part):
    """What a release must guarantee; all requirements hold together.

    Requirements on sensitive values hold for every sensitive column, or are given per column:
    `l = { disease = { distinct = 3 }, salary = { entropy = 2.5 } }`.
    """

    k: Annotated[Whole, Field(ge=2)] | None = None
    """k-anonymity: every class has at least so many rows."""
    notion: Literal["k-anonymity", "1-k", "k-1", "k-k", "global-1-k", "probabilistic-k"] | None = None
    """What k is about, if not classes: `k-k`, at least k rows fit each person, and k people each row; or
    `global-1-k`, the same for whoever knows exactly who is in the table. `1-k` and `k-1` alone protect against
    nobody and are for study. `probabilistic-k`: nobody is tied to a row with more than 1/k; `l` is then about the
    rows that could be a person's."""
    adversary: (
        Annotated[tuple[AdversaryName, ...], BeforeValidator(_adversary_shorthand), Field(min_length=1)]
        | None
    ) = None
    """Who is to be stopped, `["knows-members"]`: the models follow from it, and k is the number of people who might
    be meant. A `notion` beside it is required as well."""
    l: (  # noqa: E741
        Annotated[
            Annotated[_L, Tag("<one l>")] | Annotated[dict[str, _L], Tag("<each l>")],
            Discriminator(_tag_of("l")),
        ]
        | None
    ) = None
    """l-diversity: distinct, entropy, probabilistic or recursive."""
    t: (
        Annotated[
            Annotated[_T, Tag("<one t>")] | Annotated[dict[str, _T], Tag("<each t>")],
            Discriminator(_tag_of("t")),
        ]
        | None
    ) = None
    """t-closeness by equal, ordered or hierarchical distance."""
    alpha: (
        Annotated[
            Annotated[_Alpha, Tag("<one>")] | Annotated[dict[str, _Alpha], Tag("<each>")],
            Discriminator(_scalar_form),
        ]
        | None
    ) = None
    """(alpha,k)-anonymity: no sensitive value has a larger share of a class."""
    p: (
        Annotated[
            Annotated[_P, Tag("<one>")] | Annotated[dict[str, _P], Tag("<each>")],
            Discriminator(_scalar_form),
        ]
        | None
    ) = None
    """p-sensitivity: at least so many different sensitive values in every class."""
    presence: tuple[Annotated[Number, Field(ge=0, le=1)], Annotated[Number, Field(ge=0, le=1)]] | None = None
    """delta-presence, `[0.0, 0.5]`: for everybody in the population, the least and the highest permitted chance to be
    in the table. Needs a `[population]`."""
    relocation: Relocation | None = None
    """Limits for untrue cells: `{ budget = 0.01, alpha = 0.05 }`. Without it, none are checked."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Privacy:
        if self.presence is not None and self.presence[0] > self.presence[1]:
            low, high = self.presence
            raise wrong(f"presence has its higher bound first: [{low}, {high}]", f"[{high}, {low}]")
        return self

    @model_validator(mode="after")
    def _notion_of_k(self) -> Privacy:
        if self.notion is not None and self.k is None:
            raise wrong(
                f"asks for {self.notion}, but for no k", f'for example k = 5, notion = "{self.notion}"'
            )
        return self

    @property
    def asked(self) -> dict[str, Any]:
        """The requirements that are given, by key."""
        return {key: value for key, value in self if value is not None and key not in ("notion", "adversary")}

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Per requirement given per column, the columns it names."""
        return {key: tuple(value) for key, value in self.asked.items() if isinstance(value, dict)}

    def models(self, sensitive: Sequence[str]) -> tuple[Model, ...]:
        """Return the models to satisfy; `sensitive` names the sensitive columns in the order of the table."""
        asked = self.asked
        first: tuple[Model, ...] = ()
        if self.notion is not None:
            from shoal.models import MODELS

            notion: Any = MODELS[self.notion]
            first = (notion(k=asked.pop("k")),)
            if self.notion == "probabilistic-k" and "l" in asked:
                first += tuple(_candidate_l(asked.pop("l"), sensitive))
        if self.adversary is not None:
            first += tuple(models_against(self))
            if about_links(self):
                asked.pop("k", None)
        return first + tuple(
            model for key, value in asked.items() for model in _BUILDERS[key](value, sensitive)
        )


SENSITIVE_KEYS = ("l", "t", "alpha", "p")
"""The requirements that are about sensitive columns."""


def _per_column(value: T | dict[str, T], sensitive: Sequence[str]) -> Iterator[tuple[dict[str, Any], T]]:
    """Yield, per sensitive column concerned, how models name it, and what is asked of it."""
    for index, name in enumerate(sensitive):
        if not isinstance(value, dict):
            yield {"column": index, "column_name": name}, value
        elif name in value:
            yield {"column": index, "column_name": name}, value[name]


def _k(value: int, sensitive: Sequence[str]) -> Iterator[Model]:
    from shoal.models.k_anonymity import KAnonymity

    yield KAnonymity(k=value)


def _l(value: Diversity | dict[str, Diversity], sensitive: Sequence[str]) -> Iterator[Model]:
    from shoal.models import l_diversity as rules

    for place, rule in _per_column(value, sensitive):
        if rule.distinct is not None:
            yield rules.DistinctDiversity(l=rule.distinct, **place)
        if rule.entropy is not None:
            yield rules.EntropyDiversity(l=rule.entropy, **place)
        if rule.probabilistic is not None:
            yield rules.ProbabilisticDiversity(l=rule.probabilistic, **place)
        if rule.recursive is not None:
            c, l = rule.recursive  # noqa: E741
            yield rules.RecursiveDiversity(c=c, l=l, **place)
        if rule.slicing is not None:
            from shoal.models.slicing_l import SlicingDiversity

            yield SlicingDiversity(l=rule.slicing, **place)


def _candidate_l(value: Diversity | dict[str, Diversity], sensitive: Sequence[str]) -> Iterator[Model]:
    """Rules about rows that could be a person's, where they can be said so; rules about classes otherwise."""
    from shoal.models.probabilistic_k import CandidateDiversity

    for place, rule in _per_column(value, sensitive):
        for l in (rule.distinct, rule.probabilistic):  # noqa: E741
            if l is not None:
                yield CandidateDiversity(l=l, **place)
        rest = rule.model_copy(update={"distinct": None, "probabilistic": None})
        yield from _l({place["column_name"]: rest}, sensitive)


def _t(value: Closeness | dict[str, Closeness], sensitive: Sequence[str]) -> Iterator[Model]:
    from shoal.models import t_closeness as rules

    for place, rule in _per_column(value, sensitive):
        if rule.equal is not None:
            yield rules.EqualCloseness(t=rule.equal, **place)
        if rule.ordered is not None:
            yield rules.OrderedCloseness(t=rule.ordered, **place)
        if rule.hierarchical is not None:
            yield rules.HierarchicalCloseness(t=rule.hierarchical, **place)


def _alpha(value: float | dict[str, float], sensitive: Sequence[str]) -> Iterator[Model]:
    from shoal.models.alpha_k import AlphaK

    for place, alpha in _per_column(value, sensitive):
        yield AlphaK(alpha=alpha, **place)


def _p(value: int | dict[str, int], sensitive: Sequence[str]) -> Iterator[Model]:
    from shoal.models.p_sensitive import PSensitive

    for place, p in _per_column(value, sensitive):
        yield PSensitive(p=p, **place)


def _relocation(value: Relocation, sensitive: Sequence[str]) -> Iterator[Model]:
    from shoal.models.hybrid import AlphaHybrid, HybridK

    if value.budget is not None:
        yield HybridK(budget=value.budget)
    if value.alpha is not None:
        yield AlphaHybrid(alpha=value.alpha)


def _presence(value: tuple[float, float], sensitive: Sequence[str]) -> Iterator[Model]:
    from shoal.models.delta_presence import DeltaPresence

    yield DeltaPresence(low=value[0], high=value[1])


_BUILDERS: dict[str, Callable[[Any, Sequence[str]], Iterator[Model]]] = {
    "k": _k,
    "l": _l,
    "t": _t,
    "alpha": _alpha,
    "p": _p,
    "relocation": _relocation,
    "presence": _presence,
}
