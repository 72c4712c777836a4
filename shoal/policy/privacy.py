"""The `[privacy]` section, built from the models: each says which key asks for it, and which values the key takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, create_model, model_validator

from shoal.errors import PolicyError
from shoal.judging.models import MODELS, Model
from shoal.judging.models.k_type import EVERYBODY
from shoal.judging.models.keys import LARGEST, Key, bounds, parameters
from shoal.policy.adversaries import AdversaryName, models_against
from shoal.policy.key_columns import KeysOrNothing
from shoal.policy.problems import WORDS_OF_TAG
from shoal.policy.section import Number, Part, Text, Whole, ratio, wrong
from shoal.policy.toml import value as as_toml
from shoal.support.wording import format_value

KINDS: dict[str, tuple[type[Model], ...]] = {}
"""Key of `[privacy]` -> the models that it can ask for directly, in the order of the registry."""
for _kind in MODELS.values():
    if _kind.asked_in == "privacy":
        KINDS[_kind.key.name] = (*KINDS.get(_kind.key.name, ()), _kind)
OF_COLUMNS = tuple(kind for kind in MODELS.values() if kind.asked_in == "columns")
"""The models that columns ask for."""
STAND_INS = tuple(kind for kind in MODELS.values() if not kind.asked_in)
"""The models that take the place of others."""
NOTION_KEY = next(iter(KINDS))
"""The key whose models have no words of their own: `notion` chooses among them."""
NOTIONS = tuple(kind.name for kind in KINDS[NOTION_KEY])


def about_column(kind: type[Model]) -> bool:
    """Whether a model is about one sensitive column, so that a policy may ask for it per column."""
    return any(entry.name == "column" for entry in fields(kind))  # type: ignore[arg-type]


SENSITIVE_KEYS = tuple(key for key, kinds in KINDS.items() if all(map(about_column, kinds)))
"""The requirements that are about sensitive columns."""


class Rules(Part):
    """The table of a key that several models share: at least one of their words must be given."""

    example: ClassVar[str] = ""
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Words that ask for nothing by themselves -> the words that they go with."""
    kinds: ClassVar[Mapping[str, type[Model]]] = {}
    """Words that ask for something -> the models that they ask for."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Rules:
        if not self.given:
            empty = all(value is None for value in dict(self).values())
            said = "is an empty table" if empty else "asks for nothing"
            raise wrong(said, f"for example {self.example}")
        for option, words in self.options.items():
            if getattr(self, option) is not None and not any(word in self.given for word in words):
                raise wrong(f"`{option}` goes with {' or '.join(words)}", f"for example {self.example}")
        for word, value in self.given.items() if self.options else ():
            try:
                self.kinds[word].from_policy(value, word, **self.given_options(word))
            except PolicyError as error:
                raise wrong(error.problems[0].message, error.problems[0].hint) from None
        return self

    @property
    def given(self) -> dict[str, Any]:
        """The words that ask for something, with their values."""
        return {word: value for word, value in self if value is not None and word not in self.options}

    def given_options(self, word: str) -> dict[str, Any]:
        """The options that go with a word, with their values."""
        mine = (option for option, words in self.options.items() if word in words)
        return {option: own for option in mine if (own := getattr(self, option)) is not None}


@dataclass(frozen=True)
class Asked:
    """One requirement of a policy: a model, its value, and the place of the value in the policy."""

    kind: type[Model]
    value: Any
    rule: str = ""
    column: str | None = None
    """The sensitive column that it is given for; None: all of them, or none."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the model, from the same table."""

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to the value in a policy."""
        inner = (self.column, self.rule or None)
        return ("privacy", self.kind.key.name, *(name for name in inner if name is not None))

    @property
    def title(self) -> str:
        """The requirement in words: ``distinct l of disease``, ``relocation budget``."""
        words = (
            (self.rule, self.kind.key.name) if about_column(self.kind) else (self.kind.key.name, self.rule)
        )
        name = " ".join(filter(None, words))
        return name if self.column is None else f"{name} of {self.column}"

    def models(self, sensitive: Sequence[str]) -> Iterator[Model]:
        """Yield the models: one, or one for each sensitive column concerned."""
        if not about_column(self.kind):
            yield self.kind.from_policy(self.value, self.rule, **self.options)
            return
        for index, name in enumerate(sensitive):
            if self.column in (None, name):
                place = {"column": index, "column_name": name}
                yield self.kind.from_policy(self.value, self.rule, **self.options, **place)


# --- types of values --------------------------------------------------------------------------------------


def _type_with_bounds(kind: type[Model], name: str) -> Any:
    """Return the type of one bounded field in a policy."""
    own, limits = bounds(kind)[name]
    if own is Fraction:
        return ratio(limits)
    return Annotated[Whole if own is int else Number, Field(**limits.given)]  # type: ignore[call-overload]


def _option_type(kind: type[Model], name: str) -> Any:
    """Return the type of an option in a policy: bounded, or one of a few words."""
    return _type_with_bounds(kind, name) if name in bounds(kind) else get_type_hints(kind)[name]


def _value_type(kind: type[Model], rule: str = "") -> Any:
    """Return the type of a value in a policy: a number, or a list of them where the model has several parameters."""
    types = [_type_with_bounds(kind, name) for name in parameters(kind)]
    if len(types) == 1:
        return types[0]
    return Annotated[tuple[tuple(types)], AfterValidator(partial(_buildable, kind, rule))]  # type: ignore[misc]


def _buildable(kind: type[Model], rule: str, value: Any) -> Any:
    """Let the model itself check its parameters against each other."""
    place = {"column": 0, "column_name": ""} if about_column(kind) else {}
    try:
        kind.from_policy(value, rule, **place)
    except PolicyError as error:
        raise wrong(error.problems[0].message, error.problems[0].hint) from None
    return value


def rules_name(key: str) -> str:
    """Return the name of the table of a key: ``LRules``, ``K_mapRules``."""
    return f"{key.capitalize()}Rules"


def _rules(key: Key, kinds: Sequence[type[Model]]) -> Any:
    """Return the type of a key whose models have words: a table, or a bare number where one word is the shorthand."""
    words = {rule: kind for kind in kinds for rule in kind.rules}
    entries: dict[str, Any] = {
        rule: (_value_type(kind, rule) | None, Field(default=None, description=f"{kind.summary}."))
        for rule, kind in words.items()
    }
    options: dict[str, tuple[str, ...]] = {}
    for kind in kinds:
        for option, told in kind.options.items():
            options[option] = (*options.get(option, ()), *kind.rules)
            entries[option] = (_option_type(kind, option) | None, Field(default=None, description=f"{told}."))
    part = create_model(rules_name(key.name), __base__=Rules, __module__=__name__, **entries)
    part.__doc__ = f"{key.meaning}."
    examples = [f"{{ {rule} = {as_toml(kind.usual)} }}" for rule, kind in words.items()]
    part.example = examples[0]
    part.options, part.kinds = options, words

    def spell_out(value: object) -> object:
        if isinstance(value, Mapping | Part):
            return value
        if key.shorthand and isinstance(value, int | float) and not isinstance(value, bool):
            return {key.shorthand: value}
        hint = f"for example {', '.join(examples[:-1])} or {examples[-1]}" if key.shorthand == "" else ""
        raise wrong(f"must be a table, not {format_value(value)}", hint or f"for example {examples[0]}")

    # Policies are pickled for other processes, and pickle finds a class by its name.
    globals()[part.__name__] = part
    return Annotated[part, BeforeValidator(spell_out)]


def _form(key: str, with_words: bool) -> Callable[[object], str]:
    """Return how to recognize values per column: tables; tables of tables if the key itself takes a table."""

    def tag(value: object) -> str:
        inner = value.values() if isinstance(value, Mapping) else ()
        each = (
            any(isinstance(one, Mapping | Part) for one in inner)
            if with_words
            else isinstance(value, Mapping)
        )
        return f"<each {key}>" if each else f"<one {key}>"

    return tag


def _field(key: str, kinds: Sequence[type[Model]]) -> Any:
    """Return the type of a key, and its default: none."""
    with_words = bool(kinds[0].rules)
    own = _rules(kinds[0].key, kinds) if with_words else _value_type(kinds[0])
    if key in SENSITIVE_KEYS:
        one, each = Annotated[own, Tag(f"<one {key}>")], Annotated[dict[str, own], Tag(f"<each {key}>")]  # type: ignore[valid-type]
        own = Annotated[Union[one, each], Discriminator(_form(key, with_words))]  # noqa: UP007
    return own | None, Field(default=None, description=f"{kinds[0].key.meaning}.")


def _adversary_shorthand(value: object) -> object:
    """A single adversary needs no list."""
    return (value,) if isinstance(value, str) else value


def takes_known(notion: str | None, adversaries: Sequence[str] | None) -> bool:
    """Return whether a notion of k, or one of some adversaries, is about a number of known people."""
    named = {notion, *(adversaries or ())}
    return any("known" in kind.options and {kind.about, kind.name} & named for kind in KINDS[NOTION_KEY])


def _known_people(value: object) -> object:
    """Check a number of people, or "all"."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST
    if value is None or value == "all" or whole:
        return value
    message = f'must be a whole number of other people, at least 1, or "all", not {format_value(value)}'
    raise wrong(message, "for example known = 10")


class EarlierRelease(Part):
    """An earlier release of the same people, and what it was made from. Paths are relative to the policy."""

    release: Text
    """The published file."""
    original: Text | None = None
    """What it was made from."""
    record: Text | None = None
    """The private record of the run that made it: it says whose each row is."""


def _earlier_shorthand(value: object) -> object:
    """A release needs no table if nothing else is known about it, and a single one no list."""
    given = value if isinstance(value, list | tuple) else [value]
    return tuple({"release": one} if isinstance(one, str) else one for one in given)


class _Privacy(Part):
    """What a release must guarantee; all requirements hold together.

    Requirements on sensitive values hold for every sensitive column, or are given per column:
    `l = { disease = { distinct = 3 }, salary = { entropy = 2.5 } }`.
    """

    k: int | None = None
    notion: str | None = None
    """What k counts, if not rows of a class: `k-k`, at least k rows match each person, and k people each row; or
    `global-1-k`, the same against an adversary who knows exactly who is in the table. `1-k` and `k-1` alone protect
    against nobody and are for study. `probabilistic-k`: nobody is linked to a row with a probability above 1/k; `l` is
    then about the rows that could belong to a person."""
    adversary: (
        Annotated[tuple[AdversaryName, ...], BeforeValidator(_adversary_shorthand), Field(min_length=1)]
        | None
    ) = None
    """Which adversaries to stop, such as `["knows-members"]`. Shoal derives the models from them: they cannot narrow a
    person down to fewer than k rows. A `notion` next to it is required as well."""

    keys: KeysOrNothing = None
    """Which quasi-identifiers an adversary knows of a person, if not all: `{ any = 3 }`, or
    `{ sets = [["age", "zip"], ["job", "town"]] }`. `k` then holds for an adversary who knows one of these sets."""

    known: Annotated[Annotated[int, Field(ge=1)] | Literal["all"], BeforeValidator(_known_people)] | None = (
        None
    )
    """How many other people of the table the adversary `knows-some`, or of the notion `k-k`, knows: they choose those
    who help most. At least k rows must then be left for everybody. Default: all for the adversary, fewer than k for the
    notion, which is (k,k) itself."""

    earlier: (
        Annotated[tuple[EarlierRelease, ...], BeforeValidator(_earlier_shorthand), Field(min_length=1)] | None
    ) = None
    """Earlier releases of the same people, such as `["january.csv"]`. k and l must also hold against an adversary who
    intersects this release with them. `{ release = "..", original = "..", record = ".." }` says what one was made from;
    with a person column, the original is needed."""
    earlier_adversary: Literal["some", "members"] | None = None
    """Who intersects them: `some` (default) knows that a person is in all of them, `members` knows who else is, too."""
    lasting: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """With earlier releases: the sensitive columns whose value stays the same for a person. Without it, all of them: an
    adversary then keeps only values that every release shows."""

    if TYPE_CHECKING:

        def __getattr__(self, key: str) -> Any:
            """Every key of the models is a field."""

    @model_validator(mode="after")
    def _notion_of_k(self) -> _Privacy:
        if self.notion is not None and self.k is None:
            raise wrong(
                f"asks for {self.notion}, but k is not set", f'for example k = 5, notion = "{self.notion}"'
            )
        return self

    @model_validator(mode="after")
    def _known_by_somebody(self) -> _Privacy:
        if self.known is not None and not takes_known(self.notion, self.adversary):
            takes = (kind for kind in KINDS[NOTION_KEY] if "known" in kind.options)
            raise wrong(
                f"`known` is {self.known}, but the policy names nobody who knows some people",
                " or ".join(f'add adversary = "{kind.about}" or notion = "{kind.name}"' for kind in takes),
            )
        return self

    def options_of(self, kind: type[Model]) -> dict[str, Any]:
        """Return the options of a model that the policy asks for by `k`."""
        if "known" not in kind.options:
            return {}
        if self.known is not None:
            return {"known": EVERYBODY if self.known == "all" else self.known}
        return {"known": EVERYBODY} if kind.about in (self.adversary or ()) else {}

    @property
    def values_by_key(self) -> dict[str, Any]:
        """The requirements that are given, by key."""
        return {key: value for key, value in self if value is not None and key in KINDS}

    @cached_property
    def requirements(self) -> list[Asked]:
        """Every requirement that is given, one by one."""
        found: list[Asked] = []
        for key, value in self.values_by_key.items():
            kinds = KINDS[key]
            words = {rule: kind for kind in kinds for rule in kind.rules}
            for column, own in value.items() if isinstance(value, dict) else [(None, value)]:
                if isinstance(own, Rules):
                    found += [
                        Asked(words[rule], inner, rule, column, own.given_options(rule))
                        for rule, inner in own.given.items()
                    ]
                elif key == NOTION_KEY:
                    notion = MODELS[self.notion or NOTIONS[0]]
                    found.append(Asked(notion, own, options=self.options_of(notion)))
                else:
                    found.append(Asked(kinds[0], own, "", column))
        return found

    def models(
        self, sensitive: Sequence[str], protected: Mapping[str, tuple[str, ...]] | None = None
    ) -> tuple[Model, ...]:
        """Return the models to satisfy; `sensitive` names the sensitive columns in the order of the table, and
        `protected` their protected nodes.
        """
        named = tuple(models_against(self))
        asked = self.requirements
        first = [one for one in asked if one.kind.key.name == NOTION_KEY]
        if self.notion is None and any(model.key.name == NOTION_KEY for model in named):
            first = []  # k is about the adversaries that the policy names.
        notion = tuple(model for one in first for model in one.models(sensitive))
        if self.keys is not None:
            notion = tuple(self.keys.model(model.threshold) for model in notion)
        rest = (one for one in asked if one.kind.key.name != NOTION_KEY)
        links = (*notion, *named) if self.notion is not None else (*named, *notion)
        found = (*links, *(model for one in rest for model in one.models(sensitive)))
        return tuple(_stand_in(model, notion, protected or {}) for model in found)


def _stand_in(model: Model, notions: tuple[Model, ...], protected: Mapping[str, tuple[str, ...]]) -> Model:
    """Return the model that replaces another one, or the model itself."""
    others = (kind.instead_of(model, notions, protected) for kind in STAND_INS)
    return next((other for other in others if other is not None), model)


if TYPE_CHECKING:
    Privacy = _Privacy
else:
    _entries = {key: _field(key, kinds) for key, kinds in KINDS.items()}
    _entries["notion"] = (Literal[NOTIONS] | None, None)
    Privacy = create_model(
        "Privacy", __base__=_Privacy, __module__=__name__, __doc__=_Privacy.__doc__, **_entries
    )

WORDS_OF_TAG.update(
    {
        f"<{form} {key}>": tuple(rule for kind in kinds for rule in kind.rules)
        for key, kinds in KINDS.items()
        for form in ("one", "each")
    }
)
