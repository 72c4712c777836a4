"""All that a release promises, judged from what left and from the original: `problems`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.oracles import outsider
from tests.oracles.checker.cells import key, letters, same
from tests.oracles.checker.labels import Domain, place
from tests.oracles.checker.models import satisfied
from tests.oracles.checker.perturbed import perturbation
from tests.oracles.checker.readers import Cells

BY_POLICY = ("widths", "grid", "cuts", "mask", "dates", "tree", "file")
"""Kinds of hierarchies whose labels follow from the policy and the value itself, and name no other value."""


@dataclass(frozen=True)
class Asked:
    """What a policy asks for, and what the method may do."""

    columns: Sequence[str]
    """Of the original, in its order."""
    quasi: Mapping[str, Domain]
    sensitive: Mapping[str, Domain]
    plain: Sequence[str]
    models: Sequence[tuple[str, Mapping[str, Any], str | None]]
    """Model, parameters, and the sensitive column that it is about."""
    suppression: float
    tag: str | None = None
    """A plain column that names the owner of each row."""
    relocates: bool = False
    """Some cells may be false; a model limits how many."""
    bucket: str | None = None
    """The column that numbers buckets."""
    together: Sequence[Sequence[str]] | None = None
    """Which columns were shuffled as a unit within buckets."""
    loose: bool = False
    """The original is text without types."""
    perturbed: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Plain columns that show other values than their own: the way, and its setting."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The types that kept columns must have."""


@dataclass(frozen=True)
class Released:
    """What left: a table, and perhaps a second one with the sensitive values by bucket."""

    asked: Asked
    original: Sequence[Mapping[str, Any]]
    table: Cells
    second: Cells | None = None
    population: Sequence[Mapping[str, Any]] = ()

    @property
    def kept(self) -> list[str]:
        """The columns that stand in their owner's row, unchanged."""
        asked = self.asked
        plain = [name for name in asked.plain if name not in asked.perturbed]
        return [*plain, *(() if asked.bucket else asked.sensitive)]

    def shows(self, name: str, cell: Any, value: Any) -> bool:
        """Whether a kept cell is a value."""
        return same(cell, value, self.asked.loose)


def problems(released: Released) -> Iterator[str]:
    """Say all that is wrong with a release; nothing if it keeps its promises."""
    wrong = list(_shape(released))
    if wrong:
        yield from wrong
        return
    owners, wrong = _owners(released)
    yield from wrong
    yield from _types(released)
    if released.asked.bucket:
        yield from _buckets(released, owners)
    if wrong:
        return
    for name, (way, amount) in released.asked.perturbed.items():
        yield from perturbation(released, owners, name, way, amount)
    yield from _secrets(released, owners)
    yield from _models(released, owners)


# Shape ------------------------------------------------------------------------------------------------------


def _shape(released: Released) -> Iterator[str]:
    asked, table = released.asked, released.table
    apart = asked.sensitive if released.second is not None else ()
    roles = {*asked.quasi, *asked.sensitive, *asked.plain} - {*apart}
    wanted = [name for name in asked.columns if name in roles] + [asked.bucket] * bool(asked.bucket)
    if table.columns != wanted and (table.rows or table.columns):
        yield f"columns: {table.columns}, not {wanted}"
        return
    missing = len(released.original) - len(table.rows)
    allowed = int(asked.suppression * len(released.original) + 1e-9)
    if missing < 0:
        yield f"rows: {len(table.rows)}, more than the {len(released.original)} of the original"
    elif missing > allowed:
        yield f"suppressed: {missing} rows, more than {allowed}"


def _types(released: Released) -> Iterator[str]:
    for name, wanted in released.asked.types.items():
        found = released.table.types.get(name, wanted)
        if found != wanted:
            yield f"type: column {name!r} has type {found}, not {wanted}"


# Whose row is whose -----------------------------------------------------------------------------------------


def _owners(released: Released) -> tuple[list[int], list[str]]:
    """Return the owner of each row, and what rows show that their owner does not have."""
    asked, table = released.asked, released.table
    places = {name: table.columns.index(name) for name in released.kept if name in table.columns}
    if asked.tag is None and (asked.bucket or asked.relocates):
        return list(range(len(table.rows))), list(_often_enough(released))
    if asked.tag is None:
        return _matched(released, places)
    tags = {key(row[asked.tag]): at for at, row in enumerate(released.original)}
    at = places[asked.tag]
    values = [row[asked.tag] for row in released.original]
    owners = []
    for row in table.rows:
        found = [tags[key(value)] for value in values if same(row[at], value, asked.loose)]
        if not found:
            return [], ["tag: a row belongs to nobody"]
        owners.append(found[0])
    if len(set(owners)) < len(owners):
        return owners, ["rows: a person has two rows"]
    wrong = []
    for row, owner in zip(table.rows, owners, strict=True):
        person = released.original[owner]
        for name, at in places.items():
            if not released.shows(name, row[at], person[name]):
                wrong.append(f"kept: {name!r} shows {row[at]!r}, not {person[name]!r}")
        if not asked.relocates and not asked.bucket:
            wrong += [
                f"lie: {name!r} ({domain.kind}) shows {row[table.columns.index(name)]!r} for {person[name]!r}"
                for name, domain in asked.quasi.items()
                if not domain.covers(row[table.columns.index(name)], person[name])
            ]
    return owners, wrong


def _often_enough(released: Released) -> Iterator[str]:
    """Without owners: no kept value occurs more often than in the original."""
    table = released.table
    for name in (*released.asked.plain, *released.asked.sensitive):
        if name not in table.columns:
            continue
        left = [row[name] for row in released.original]
        for cell in table.column(name):
            at = next((i for i, value in enumerate(left) if same(cell, value, released.asked.loose)), None)
            if at is None:
                yield f"kept: {name!r} shows {cell!r} more often than the original"
                return
            del left[at]


def _matched(released: Released, places: Mapping[str, int]) -> tuple[list[int], list[str]]:
    """Give each row an owner of its own whom it may stand for."""
    asked, table = released.asked, released.table
    quasi = [(name, table.columns.index(name), domain) for name, domain in asked.quasi.items()]
    known: dict[Any, bool] = {}

    def covers(name: str, domain: Domain, cell: Any, value: Any) -> bool:
        pair = (name, letters(cell), type(cell), key(value), type(value))
        if pair not in known:
            known[pair] = domain.covers(cell, value)
        return known[pair]

    fitting = [
        {
            at
            for at, person in enumerate(released.original)
            if all(released.shows(name, row[place], person[name]) for name, place in places.items())
            and all(covers(name, domain, row[place], person[name]) for name, place, domain in quasi)
        }
        for row in table.rows
    ]
    holder: dict[int, int] = {}

    def put(row: int, seen: set[int]) -> bool:
        for person in fitting[row] - seen:
            seen.add(person)
            if person not in holder or put(holder[person], seen):
                holder[person] = row
                return True
        return False

    lost = [row for row in range(len(fitting)) if not put(row, set())]
    if lost:
        return [], [f"lie: {len(lost)} rows have no owner of their own, such as {table.rows[lost[0]]!r}"]
    owner = {row: person for person, row in holder.items()}
    return [owner[row] for row in range(len(fitting))], []


def _buckets(released: Released, owners: list[int]) -> Iterator[str]:
    """Within a bucket, every unit of columns shows what its members have, each once."""
    asked, table = released.asked, released.table
    if asked.tag is None or not owners:
        return
    at = table.columns.index(asked.bucket)
    members = defaultdict(list)
    for row, owner in zip(table.rows, owners, strict=True):
        members[letters(row[at])].append((row, released.original[owner]))
    units = asked.together or [[name] for name in (*asked.quasi, *asked.sensitive)]
    for bucket, pairs in members.items():
        for unit in units:
            names = [name for name in unit if name in table.columns]
            cells = [[row[table.columns.index(name)] for name in names] for row, _ in pairs]
            left = [[person[name] for name in names] for _, person in pairs]
            if not _dealt(released, names, cells, left):
                yield f"bucket {bucket}: {names} do not show what its members have"
    if released.second is not None:
        yield from _second(
            released, {bucket: [person for _, person in pairs] for bucket, pairs in members.items()}
        )


def _dealt(released: Released, names: list[str], cells: list[list[Any]], left: list[list[Any]]) -> bool:
    """Whether each row of cells can be given a member of its own."""

    def fits(cell: list[Any], values: list[Any]) -> bool:
        for name, own, value in zip(names, cell, values, strict=True):
            domain = released.asked.quasi.get(name)
            if not (domain.covers(own, value) if domain else released.shows(name, own, value)):
                return False
        return True

    return outsider._filled([{i for i, values in enumerate(left) if fits(cell, values)} for cell in cells])


def _second(released: Released, members: Mapping[str, list[Mapping[str, Any]]]) -> Iterator[str]:
    asked, second = released.asked, released.second
    assert second is not None
    shown = defaultdict(list)
    names = list(asked.sensitive)
    for bucket, values in second_rows(released):
        shown[bucket].append(values)
    for bucket, people in members.items():
        left = [[person[name] for name in names] for person in people]
        cells = shown.pop(bucket, [])
        if len(cells) != len(left) or not _dealt(released, names, cells, left):
            yield f"bucket {bucket}: the second table does not show what its members have"
    if shown:
        yield "the second table has buckets that the first one lacks"


def second_rows(released: Released) -> list[tuple[Any, list[Any]]]:
    """Return the bucket and the sensitive values of each person in the second table."""
    asked, second = released.asked, released.second
    assert second is not None
    assert asked.bucket is not None
    places = [second.columns.index(name) for name in asked.sensitive]
    count = next(at for at, name in enumerate(second.columns) if name not in (asked.bucket, *asked.sensitive))
    at = second.columns.index(asked.bucket)
    return [
        (letters(row[at]), [row[place] for place in places])
        for row in second.rows
        for _ in range(int(row[count]))
    ]


# Models -----------------------------------------------------------------------------------------------------


def _models(released: Released, owners: list[int]) -> Iterator[str]:
    asked = released.asked
    readings: dict[str | None, outsider.Reading] = {}
    for name, domain in asked.quasi.items():
        values = [row[name] for row in released.original]
        above = [cell for cell in released.table.column(name) if not domain.allows(cell, values)]
        if above:
            yield f"model: {len(above)} cells of {name!r} are above its limit {domain.limit}, such as {above[0]!r}"
        finer = [cell for cell in released.table.column(name) if not domain.hides(cell)]
        if finer:
            yield f"model: {len(finer)} cells of {name!r} tell apart what the policy hides, such as {finer[0]!r}"
    for model, parameters, column in asked.models:
        if model == "hybrid-k" and asked.tag is None and (asked.bucket or asked.relocates):
            continue  # Whose row a row is cannot be told from outside, so its false cells cannot be counted.
        about = column or next(iter(asked.sensitive), None)
        if about not in readings:
            try:
                readings[about] = reading_of(released, owners, about)
            except LookupError as error:
                yield str(error.args[0])
                return
        suppressed = len(released.original) - len(released.table.rows)
        if released.table.rows and not satisfied(model, readings[about], suppressed, parameters):
            yield f"model: {model} {dict(parameters)} of {column!r} does not hold"


def reading_of(released: Released, owners: list[int], sensitive: str | None) -> outsider.Reading:
    """Read the release for the rules of tests/oracles/outsider.py, with one of its sensitive columns."""
    asked, table = released.asked, released.table
    domains = list(asked.quasi.values())
    tokens: list[list[str]] = []
    names: list[outsider.Names] = []
    for name, domain in asked.quasi.items():
        values = {key(row[name]): row[name] for row in (*released.original, *released.population)}
        own, covering = _tokens(table.column(name), domain, values)
        tokens.append(own)
        names.append(lambda value, covering=covering: covering[value])
    shown: list[str | None] = [None] * len(table.rows)
    second: list[tuple[str, str]] = []
    place_of: dict[str, Any] = {}
    value_names: Any = lambda value: [value]  # noqa: E731
    if sensitive is not None:
        values = {key(row[sensitive]): row[sensitive] for row in released.original}
        place_of = _order(values, asked.sensitive[sensitive])
        if asked.sensitive[sensitive].above is not None:
            value_names = lambda own: asked.sensitive[sensitive].names(values[own])  # noqa: E731
        if released.second is not None:
            at = list(asked.sensitive).index(sensitive)
            second = [
                (bucket, _value(cells[at], values, asked, sensitive))
                for bucket, cells in second_rows(released)
            ]
        else:
            shown = [_value(cell, values, asked, sensitive) for cell in table.column(sensitive)]
    buckets = table.column(asked.bucket) if asked.bucket else [None] * len(table.rows)
    columns = [*asked.quasi, sensitive]
    units = [list(range(len(domains))), [len(domains)]]
    if asked.bucket and asked.together is not None:
        units = [[columns.index(name) for name in unit if name in columns] for unit in asked.together]
        units = [sorted(unit) for unit in units if unit]
        if not any(len(domains) in unit for unit in units):
            units.append([len(domains)])
    return outsider.Reading(
        rows=[
            outsider.Row(
                tuple(own[at] for own in tokens),
                shown[at],
                owner,
                None if bucket is None else letters(bucket),
            )
            for at, (owner, bucket) in enumerate(zip(owners, buckets, strict=True))
        ],
        people=[tuple(key(row[name]) for name in asked.quasi) for row in released.original],
        values=[key(row[sensitive]) for row in released.original] if sensitive is not None else [],
        names=names,
        value_names=value_names,
        order=place_of.__getitem__,
        second=second,
        population=[tuple(key(row[name]) for name in asked.quasi) for row in released.population],
        together=units,
    )


def _tokens(
    cells: list[Any], domain: Domain, values: Mapping[str, Any]
) -> tuple[list[str], dict[str, list[str]]]:
    """Name each cell: by the value that it shows, or by its letters; and say which cells cover each value."""
    covering: dict[str, list[str]] = {own: [] for own in values}
    named: dict[Any, str] = {}
    for cell in cells:
        text = (type(cell).__name__ in ("list", "tuple"), letters(cell))
        if text in named:
            continue
        exact = _shown(cell, values, domain.loose)
        named[text] = exact[0] if len(exact) == 1 and exact[0] not in named.values() else f"label:{text}"
        for own, value in values.items():
            if domain.covers(cell, value):
                covering[own].append(named[text])
    return [named[type(cell).__name__ in ("list", "tuple"), letters(cell)] for cell in cells], covering


def _shown(cell: Any, values: Mapping[str, Any], loose: bool) -> list[str]:
    """Return the values that a cell shows: letter by letter if there is one, else loosely."""
    strict = [own for own, value in values.items() if same(cell, value)]
    return strict or [own for own, value in values.items() if loose and same(cell, value, loose)]


def _value(cell: Any, values: Mapping[str, Any], asked: Asked, name: str) -> str:
    found = _shown(cell, values, asked.loose)
    if not found:
        raise LookupError(f"kept: {name!r} shows {cell!r}, which nobody has")
    return found[0]


def _order(values: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return where each sensitive value stands: by its tree, as numbers, or as text."""
    if domain.above is not None:
        line = list(domain.above)
        return {
            own: line.index("" if value is None else str(letters(value)))
            for own, value in values.items()
            if value is not None
        }
    places = {own: place(value) for own, value in values.items()}
    return {
        own: (at is None or at != at, own == "nan", at if at is not None and at == at else 0)
        for own, at in places.items()
    }


# Secrets ----------------------------------------------------------------------------------------------------


def secrets(released: Released, *, words: bool) -> Iterator[str]:
    """Find secrets in what left, or only those with `words`, if it is known who is published."""
    owners, wrong = _owners(released)
    if not wrong:
        yield from _secrets(released, owners, words)


def _secrets(released: Released, owners: list[int], words: bool = False) -> Iterator[str]:
    """Find what occurs only in suppressed rows or in identifiers, anywhere in the bytes."""
    asked, table = released.asked, released.table
    if asked.tag is None and (asked.bucket or asked.relocates):
        return
    there = {*owners}
    published = [row for at, row in enumerate(released.original) if at in there]
    names = (*asked.quasi, *asked.sensitive, *asked.plain)
    # New numbers may happen to be those of a suppressed row.
    words = words or any(way in ("round", "noise") for way, _ in asked.perturbed.values())
    allowed = {text for row in published for name in names for text in texts_of(row[name])} | {*asked.columns}
    for name, domain in asked.quasi.items():
        if domain.kind in BY_POLICY:
            allowed |= {str(letters(cell)) for cell in table.column(name)}
    hidden = {
        text
        for at, row in enumerate(released.original)
        for name, value in row.items()
        if at not in there or name not in names
        for text in texts_of(value)
        if len(text) >= 3 and (not words or re.search(r"[A-Za-z]{3}", text))
    }
    everything = "\n".join(allowed)
    hidden = {
        text for text in hidden if text not in everything and text.lower() not in ("true", "false", "null")
    }
    if not hidden:
        return
    cells = {str(letters(cell)) for row in table.rows for cell in row}
    haystack = "\n".join([*cells, *table.texts, *(released.second.texts if released.second else ())])
    for text in sorted(hidden):
        if text in haystack and re.search(rf"(?<![\w.-]){re.escape(text)}(?![\w-])", haystack):
            yield f"secret: {text!r} occurs only in suppressed rows or identifiers, and in the bytes"
            return


def texts_of(value: Any) -> set[str]:
    """Return how a value may be written."""
    if isinstance(value, list | tuple):
        return {text for each in value for text in texts_of(each)}
    if isinstance(value, dict):
        return {text for each in value.values() for text in texts_of(each)}
    return set() if value is None else {str(letters(value)), str(value)}


def counts(released: Released) -> Counter[Any]:
    """Return the sizes of the classes."""
    places = [released.table.columns.index(name) for name in released.asked.quasi]
    return Counter(tuple(letters(row[at]) for at in places) for row in released.table.rows)
