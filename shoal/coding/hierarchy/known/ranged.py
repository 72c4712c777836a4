"""`Ranged`: code systems whose categories lie in blocks, and whose blocks lie in chapters, which are ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place, starts_with
from shoal.coding.hierarchy.meanings import ANY, Meaning


class Category(NamedTuple):
    """Where a category is."""

    at: int
    block: str
    chapter: str


class Scheme:
    """All categories of a system with their blocks and chapters."""

    def __init__(self, categories: Sequence[str], blocks: str, chapters: str) -> None:
        """Read blocks and chapters, written ``A00-A09``, or ``C50`` for a single category, with spaces between them.

        Categories that lie in none become ranges of their own, so that a code that an edition of the system has added
        in a gap is never under a wrong name.
        """
        place = {category: at for at, category in enumerate(categories)}
        self.categories: dict[str, Category] = {}
        self.inside: dict[str, tuple[str, ...]] = {}
        for chapter in _ranges(chapters.split(), categories, place):
            first, last = place[chapter[0]], place[chapter[-1]]
            wanted = [block for block in blocks.split() if first <= place[block.partition("-")[0]] <= last]
            for block in _ranges(wanted, chapter, {one: at for at, one in enumerate(chapter)}):
                for category in block:
                    names = name_range(block), name_range(chapter)
                    self.categories[category] = Category(place[category], *names)
        for category, found in self.categories.items():
            for name in {found.block, found.chapter}:
                self.inside[name] = (*self.inside.get(name, ()), category)


def _ranges(
    names: Sequence[str], categories: Sequence[str], place: Mapping[str, int]
) -> Iterator[Sequence[str]]:
    """Yield the categories of each named range, and those between two of them."""
    after = 0
    for name in names:
        first, _, last = name.partition("-")
        begin, end = place[first], place[last or first] + 1
        if begin > after:
            yield categories[after:begin]
        yield categories[begin:end]
        after = end
    if after < len(categories):
        yield categories[after:]


def name_range(categories: Sequence[str]) -> str:
    """Return the name of a range of categories; a single one is named as its own node."""
    first, last = categories[0], categories[-1]
    return f"{first}{ANY}" if first == last else f"{first}-{last}"


@dataclass(frozen=True)
class Ranged(CodeSystem):
    """A code system with categories, blocks and chapters."""

    scheme: ClassVar[Scheme]

    def category_of(self, text: str) -> str | None:
        """Return the category that a code begins with; None if it is not a code."""
        raise NotImplementedError

    def place(self, text: str) -> Place | None:
        """Return the category, the block and the chapter of a code."""
        category = self.category_of(text)
        found = None if category is None else self.scheme.categories.get(category)
        if found is None:
            return None
        return Place((found.at, text), (f"{category}{ANY}", found.block, found.chapter))

    def contents(self, label: str) -> Meaning | None:
        """Return the codes of a category, a block or a chapter."""
        if label.removesuffix(ANY) in self.scheme.categories and label.endswith(ANY):
            return starts_with(label.removesuffix(ANY))
        inside = self.scheme.inside.get(label)
        return None if inside is None else starts_with(*inside)
