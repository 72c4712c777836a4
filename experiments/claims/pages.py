"""The pages of the experiments, read back: their tables, and the numbers in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1]
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def numbers(cell):
    """All numbers of a cell: ``"0.0100 ± 0.0003"`` has two, ``"18 of 20"`` too, ``"2.9% to 4.2%"`` too."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(cell)]


def number(cell):
    """The first number of a cell; percents stay percents."""
    return numbers(cell)[0]


def ends(cell):
    """The lower and the upper end of ``mean ± half``, or twice the number without an interval."""
    mean, half = (*numbers(cell), 0.0)[:2] if "±" in cell else (number(cell), 0.0)
    return mean - half, mean + half


@dataclass(frozen=True)
class Table:
    """A table of a page, with the headings and the line of text above it."""

    section: str
    title: str
    caption: str
    head: list[str]
    rows: list[list[str]]

    def column(self, name):
        """The cells below a head."""
        place = self.head.index(name)
        return [row[place] for row in self.rows]

    def numbers(self, name):
        """The first number of each cell below a head."""
        return [number(cell) for cell in self.column(name)]

    def where(self, **wanted):
        """The rows with these cells, as dictionaries; ``_`` stands for a blank in a head."""
        found = (dict(zip(self.head, row, strict=True)) for row in self.rows)
        return [row for row in found if all(row[k.replace("_", " ")] == v for k, v in wanted.items())]

    def row(self, first):
        """The cells of the row that begins with this one, without it."""
        return next(row[1:] for row in self.rows if row[0] == first)


class Page:
    """A page: its text and its tables, in order."""

    def __init__(self, text):
        self.text = text
        self.tables = []
        section = title = caption = ""
        block = []
        for line in [*text.splitlines(), ""]:
            if line.startswith("|"):
                block.append([cell.strip() for cell in line.strip().strip("|").split("|")])
                continue
            if block:
                self.tables.append(Table(section, title, caption, block[0], block[2:]))
                block = []
            if line.startswith("#"):
                title = line.lstrip("# ")
                section = title if line.startswith("## ") else section
                caption = ""
            elif line.strip():
                caption = line.strip()

    def find(self, section="", caption="", head=""):
        """The tables whose section and caption begin like this, and that have this head."""
        return [
            table
            for table in self.tables
            if (table.section.startswith(section) or table.title.startswith(section))
            and table.caption.startswith(caption)
            and (not head or head in table.head)
        ]

    def one(self, section="", caption="", head=""):
        """The first of these tables."""
        return self.find(section, caption, head)[0]


class Pages:
    """The pages of a folder, read when they are asked for: ``pages["hybrid"]``."""

    def __init__(self, folder=FOLDER):
        self.folder = folder
        self._read = {}

    def __getitem__(self, name):
        if name not in self._read:
            self._read[name] = Page((self.folder / f"{name}.md").read_text())
        return self._read[name]


def counted(held):
    """``"18 of 20"``, from whether each case holds."""
    held = list(held)
    return f"{sum(held)} of {len(held)}"


OTHER_DATA = "not reproduced on other data"
"""A figure of a paper that does not come out here. Our data or our variant of the algorithm differ from the paper's,
so it is not refuted; *contradicted* is kept for claims that a counterexample or an attack refutes."""


def verdict(held):
    """``confirmed`` if all cases hold, `OTHER_DATA` if none does, else how many do."""
    held = list(held)
    share = sum(held) / len(held)
    word = (
        "confirmed"
        if share == 1
        else OTHER_DATA
        if share == 0
        else "mostly"
        if share > 0.5
        else "reproduced in part"
    )
    return f"{word}: {counted(held)}"
