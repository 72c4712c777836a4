"""A codebook as a file: Markdown for people, JSON and CSV for programs, and the release described as a dataset."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.coding.hierarchy.meanings import NATURAL, Meaning
from shoal.documents.codebook.book import Codebook, Column, Label
from shoal.documents.codebook.data_packages import catalogue_text, package_text
from shoal.errors import OutputError
from shoal.release.record import NOT_FOR_PUBLICATION
from shoal.support.wording import escape_formula, escape_markdown

Written = Callable[[Codebook, Path, Path | None], str]
"""Makes the text of a codebook for a file, given where the release is."""

LONGEST_LIST = 12
"""A sentence names so many values of a node; JSON and CSV name all."""
CARD_LABELS = 40
"""A card explains the labels of columns with at most so many; the codebook explains all."""
_KEYS = ("label", "kind", "low", "high", "low_included", "high_included", "values", "text", "except")
_HEAD = ("table", "column", "type", "values_are", "role", "published", *_KEYS, "means", "rows")


def codebook_json(book: Codebook) -> str:
    """Write a codebook as JSON: everything."""
    return json.dumps(book.summary(), indent=2, ensure_ascii=False) + "\n"


def codebook_csv(book: Codebook) -> str:
    """Write a codebook as CSV, one line per label; lists are JSON. A column without labels has one line.

    People open it in a spreadsheet, so a text that would be a formula there begins with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEAD)
    for table, columns in ((1, book.columns), (2, book.second)):
        for column in columns:
            start = [
                table,
                *map(_csv_cell, (column.name, column.type, column.values, column.role, column.published)),
            ]
            for label in column.labels or [None]:
                writer.writerow([*start, *_csv_cells(column, label)])
    return out.getvalue()


def _csv_cells(column: Column, label: Label | None) -> list[Any]:
    if label is None:
        return [""] * (len(_KEYS) + 2)
    found = label.summary(column.name)
    return [_csv_cell(found.get(key)) for key in (*_KEYS, "means", "rows")]


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool | list):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else escape_formula(value) if isinstance(value, str) else value


def codebook_markdown(book: Codebook) -> str:
    """Write a codebook as Markdown, for people."""
    lines = [
        "# Codebook",
        "",
        f"What the {book.rows:,} published rows show, made with {book.made_with} from the release and its policy.",
        "",
    ]
    for column in book.columns:
        lines += column_markdown(column, "##")
    if book.second:
        lines += [
            "## The second table",
            "",
            f"{book.second_rows:,} rows, joined to the first table by bucket.",
            "",
        ]
        for column in book.second:
            lines += column_markdown(column, "###")
    if any(label.meaning.kind == "text-range" for column in book.by_name.values() for label in column.labels):
        lines += [f"Natural order of text: {NATURAL}.", ""]
    return "\n".join(lines)


def labels_markdown(book: Codebook) -> str:
    """Return a section for a card: what the labels of generalized columns mean. Empty if there are none."""
    columns = [column for column in book.by_name.values() if column.value_labels]
    lines = ["", "## What the labels mean", ""] if columns else []
    for column in columns:
        lines += column_markdown(replace(column, labels=tuple(map(_on_card, column.labels))), "###")
    return "\n".join(lines)


def _on_card(label: Label) -> Label:
    """Return a label without the values that the policy lists for it: a card is published by everybody, a codebook by
    those who want to publish these lists."""
    if label.meaning.kind == "set" and label.meaning.codes is not None:
        return replace(label, meaning=Meaning("listed"))
    return label


def column_markdown(column: Column, heading: str) -> list[str]:
    """Return the lines about one column."""
    words = "" if column.values == column.type else f", values are {column.values}"
    counts = f"{column.distinct:,} different" + (f", {column.missing:,} empty" if column.missing else "")
    lines = [
        f"{heading} {escape_markdown(column.name)}",
        "",
        f"{column.role}; {escape_markdown(column.published)}. Type {column.type}{words}; {counts}.",
        "",
    ]
    if column.title:
        lines[2:2] = [escape_markdown(column.title), ""]
    if column.low is not None:
        lines += [f"From {escape_markdown(column.low)} to {escape_markdown(column.high)}.", ""]
    if column.labels:
        lines += ["| label | meaning | rows |", "| --- | --- | ---: |"]
        lines += [
            f"| {escape_markdown('(empty)' if label.text is None else label.text)} | "
            f"{escape_markdown(_brief_words(label, column.name))} | {label.rows:,} |"
            for label in column.labels
        ]
        lines.append("")
    return lines + _transitions(column)


def _transitions(column: Column) -> list[str]:
    """Return the probabilities with which values became others, one line per true value."""
    if not column.transitions:
        return []
    names = [escape_markdown(label.text) for label in column.labels if label.text is not None]
    lines = [f"| true \\ shown | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    lines += [
        f"| {name} | {' | '.join(f'{share:.6g}' for share in row)} |"
        for name, row in zip(names, column.transitions, strict=True)
    ]
    return ["Transition matrix:", "", *lines, ""]


def _brief_words(label: Label, name: str) -> str:
    values = label.meaning.values
    if len(values) <= LONGEST_LIST + 1:
        return label.meaning.words(name)
    short = replace(label.meaning, values=values[:LONGEST_LIST]).words(name)
    return f"{short} and {len(values) - LONGEST_LIST:,} more"


_FORMATS: Mapping[str, Written] = {
    ".md": lambda book, _path, _release: codebook_markdown(book),
    ".json": lambda book, _path, _release: codebook_json(book),
    ".csv": lambda book, _path, _release: codebook_csv(book),
    ".jsonld": lambda book, path, release: catalogue_text(book, _beside(path, release)),
}
_NAMED: Mapping[str, Written] = {
    "datapackage.json": lambda book, path, release: package_text(book, _beside(path, release)),
}


def codebook_text(
    book: Codebook, path: Path, release: Path | None = None, *, for_publication: bool = True
) -> str:
    """Write a codebook in the format that the name of its file says. `release` is where the release is. If that is not
    `for_publication`, the codebook says so in the words of the card; CSV has no place for it.
    """
    chosen = _format(path)
    text = chosen(book, path, release)
    if for_publication or chosen is _FORMATS[".csv"]:
        return text
    if chosen is _FORMATS[".md"]:
        title, rest = text.split("\n", 1)
        return f"{title}\n\n> **{NOT_FOR_PUBLICATION}**\n{rest}"
    found = json.loads(text)
    if chosen is _FORMATS[".json"]:
        found = {"for_publication": False, "warning": NOT_FOR_PUBLICATION, **found}
    else:
        key = "dct:description" if chosen is _FORMATS[".jsonld"] else "description"
        found[key] = f"{NOT_FOR_PUBLICATION} {found[key]}"
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def check_codebook_paths(paths: Sequence[Path], release: Any = None) -> None:
    """Refuse names that are no format of a codebook, before the work."""
    for path in paths:
        if _format(path) in (_FORMATS[".jsonld"], *_NAMED.values()):
            _beside(path, release if isinstance(release, Path) else None)


def _format(path: Path) -> Written:
    chosen = _NAMED.get(path.name.lower()) or _FORMATS.get(path.suffix.lower())
    if chosen is None:
        raise OutputError(
            f"{path}: a codebook is {', '.join(_FORMATS)}, or {', '.join(_NAMED)}; choose one of these names"
        )
    return chosen


def _beside(path: Path, release: Path | None) -> str:
    """Return where the release is, seen from a description of it."""
    if release is None:
        raise OutputError(f"{path} describes a file, but the release is none: choose .md, .json or .csv")
    folder, place = path.absolute().parent, release.absolute()
    if not place.is_relative_to(folder):
        raise OutputError(
            f"{path} would name the release by its path, so it must be in the folder of {release}, or above it"
        )
    return place.relative_to(folder).as_posix()
