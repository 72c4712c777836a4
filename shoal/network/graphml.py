"""GraphML in and out: a small part of it, simple graphs with attributes of nodes and edges."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.io.read_errors import as_data_error
from shoal.network.graph import Network, network_from_pairs
from shoal.support.wording import some_values

_SPACE = "http://graphml.graphdrawing.org/xmlns"
_NUMBER = re.compile(r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$", re.ASCII)
_TIME = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+", re.ASCII)
_TYPES: dict[str, Any] = {
    "int": pl.Int64,
    "long": pl.Int64,
    "float": pl.Float64,
    "double": pl.Float64,
    "boolean": pl.Boolean,
}


def read_graphml(path: Path) -> Network:
    """Read a graph. Attributes and directions of edges are ignored; nested graphs and hyperedges are refused.

    O(size of the file).
    """
    if not path.is_file():
        raise DataError(f"{path}: the file does not exist")
    graph = _Reading(path)
    with as_data_error(path, "GraphML"):
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            for event, element in ElementTree.iterparse(path, events=("start", "end")):
                if event == "start":
                    graph.begin_element(element)
                else:
                    graph.end_element(element)
        except ElementTree.ParseError as error:
            raise DataError(f"{path}: is not well-formed XML: {error}") from None
    if not graph.rows:
        raise DataError(f"{path}: the graph has no nodes")
    ends = graph.number_ends()
    attributes = _columns(path, graph.keys, graph.rows)
    return network_from_pairs(
        ends[:, 0], ends[:, 1], attributes, kind="graphml", digests=(digest,), notes=graph.notes()
    )


class _Reading:
    """What the elements of a file say, one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: dict[str, tuple[str, str, str | None]] = {}
        self.rows: dict[str, dict[str, str]] = {}
        self.links: list[tuple[str, str]] = []
        self.ignored: set[str] = set()
        self.directed = False
        self.depth = 0

    def begin_element(self, element: ElementTree.Element) -> None:
        """Reject what Shoal does not read, before its content is read."""
        tag = _tag(element)
        if tag == "graph":
            self.depth += 1
            self.directed |= element.get("edgedefault") == "directed"
        if self.depth > 1 or tag in ("hyperedge", "port"):
            raise DataError(
                f"{self.path}: nested graphs, hyperedges and ports are not supported; flatten the graph"
            )

    def end_element(self, element: ElementTree.Element) -> None:
        """Take over a whole element."""
        match _tag(element):
            case "graph":
                self.depth -= 1
            case "key":
                self._add_key(element)
            case "node":
                self._add_node(element)
                element.clear()
            case "edge":
                self.links.append((element.get("source", ""), element.get("target", "")))
                self.ignored |= {key for key, _ in _cells(element)}
                element.clear()

    def _add_key(self, element: ElementTree.Element) -> None:
        name = element.get("id", "")
        default = next((child.text for child in element if child.tag.endswith("default")), None)
        self.keys[name] = (element.get("attr.name", name), element.get("attr.type", "string"), default)

    def _add_node(self, element: ElementTree.Element) -> None:
        name = element.get("id", "")
        if name in self.rows:
            raise DataError(f"{self.path}: two nodes have the id {name!r}")
        self.rows[name] = dict(_cells(element))

    def number_ends(self) -> NDArray[np.int64]:
        """Return the numbers of the two nodes of each edge."""
        place = {name: at for at, name in enumerate(self.rows)}
        unknown = list(dict.fromkeys(end for link in self.links for end in link if end not in place))
        if unknown:
            raise DataError(
                f"{self.path}: edges end at {len(unknown):,} nodes that the file does not define: "
                + some_values(unknown)
            )
        return np.array([(place[a], place[b]) for a, b in self.links], np.int64).reshape(-1, 2)

    def notes(self) -> list[str]:
        """Return what of the file was ignored."""
        notes = ["directions of edges are ignored"] if self.directed else []
        if self.ignored:
            names = sorted(self.keys[key][0] if key in self.keys else key for key in self.ignored)
            notes.append(f"ignored attributes of edges: {', '.join(names)}")
        return notes


def _columns(
    path: Path, keys: dict[str, tuple[str, str, str | None]], rows: dict[str, dict[str, str]]
) -> pl.DataFrame:
    used = list(dict.fromkeys(key for row in rows.values() for key in row))
    columns: dict[str, pl.Series] = {}
    for key in used:
        name, kind, default = keys.get(key, (key, "string", None))
        text = pl.Series(name, [row.get(key, default) for row in rows.values()], dtype=pl.String)
        if kind == "boolean":
            columns[name] = (text.str.strip_chars().str.to_lowercase() == "true").alias(name)
            continue
        try:
            columns[name] = text.str.strip_chars().cast(_TYPES[kind]) if kind in _TYPES else text
        except pl.exceptions.PolarsError:
            raise DataError(f"{path}: not all values of '{name}' are of its type, {kind}") from None
    if not columns:
        raise DataError(f"{path}: the nodes have no attributes, so there is nothing to generalize")
    return pl.DataFrame(columns)


def is_xml(file: bytes) -> bool:
    """Whether any program can read a file as XML. Takes far less time than `content_of`."""
    try:
        expat.ParserCreate().Parse(file, True)
    except expat.ExpatError:
        return False
    return True


def content_of(file: bytes) -> tuple[Any, Any, Any, Any] | None:
    """Return what a GraphML file contains, to be compared: its attributes; the nodes and the edges with theirs; and
    elements other than these. None if it is not a GraphML file. O(size of the file), 0.1 ms per node or edge.

    Numbers and times are compared as such, because formats of tables write them in different ways.
    """
    try:
        root = ElementTree.fromstring(file)
    except (ElementTree.ParseError, ValueError, LookupError):
        return None
    graphs = [child for child in root if _tag(child) == "graph"]
    if _tag(root) != "graphml" or len(graphs) != 1:
        return None
    keys = {own.get("id", ""): _declaration(own) for own in root if _tag(own) == "key"}
    nodes: Counter[Any] = Counter()
    edges: Counter[Any] = Counter()
    more = sorted(_tag(child) for child in root if _tag(child) not in ("key", "graph"))
    if graphs[0].get("edgedefault") != "undirected":
        more.append("directions")
    for own in graphs[0]:
        cells = tuple(sorted((keys.get(key, ()), _parts(text)) for key, text in _cells(own)))
        more += [_tag(cell) for cell in own.iter() if cell is not own and (_tag(cell) != "data" or len(cell))]
        if _tag(own) == "node":
            nodes[own.get("id"), cells] += 1
        elif _tag(own) == "edge":
            edges[tuple(sorted((own.get("source", ""), own.get("target", "")))), cells] += 1
            more += ["directions"] if own.get("directed", "false") != "false" else []
        else:
            more.append(_tag(own))
    return Counter(keys.values()), nodes, edges, more


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _cells(element: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yield the key and the text of each attribute of a node or an edge."""
    for cell in element:
        if _tag(cell) == "data":
            yield cell.get("key", ""), cell.text or ""


def _declaration(key: ElementTree.Element) -> tuple[str, ...]:
    """Return what a key declares, and not its type: that follows from the format of the tables."""
    children = [f"{_tag(child)} {child.text}" for child in key]
    return (key.get("for", ""), key.get("attr.name", ""), *children)


def _parts(cell: str) -> tuple[tuple[str, str], ...]:
    """Return a cell in one notation; counts such as ``1700 x 1; 1800 x 2`` as pairs, in one order."""
    pairs = [part.rpartition(" x ") for part in cell.split("; ")]
    return tuple(
        sorted((_plain(value), count) if times else (_plain(count), "") for value, times, count in pairs)
    )


def _plain(text: str) -> str:
    """Return a number or a time in one notation, and other texts as they are."""
    if _TIME.match(text):
        seconds = text.replace("T", " ")
        seconds = seconds.rstrip("0").rstrip(".") if "." in seconds else seconds
        return seconds.removesuffix(" 00:00:00")
    if _NUMBER.match(text):
        return text if text.lstrip("+-").isdigit() else repr(float(text))
    return text


def graphml(nodes: pl.DataFrame, edges: pl.DataFrame) -> str:
    """Return a graph as GraphML. The first column of `nodes` names them, the first two of `edges` are their ends; all
    other columns are attributes. Nulls are left out. O(cells).
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<graphml xmlns="{_SPACE}">']
    lines += _declare_keys("node", "n", nodes.columns[1:], nodes.dtypes[1:])
    lines += _declare_keys("edge", "e", edges.columns[2:], edges.dtypes[2:])
    lines.append('<graph edgedefault="undirected">')
    for name, *cells in nodes.iter_rows():
        lines.append(f"<node id={quoteattr(str(name))}>{_data('n', cells)}</node>")
    for a, b, *cells in edges.iter_rows():
        ends = f"source={quoteattr(str(a))} target={quoteattr(str(b))}"
        lines.append(f"<edge {ends}>{_data('e', cells)}</edge>" if cells else f"<edge {ends}/>")
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _declare_keys(place: str, letter: str, names: Iterable[str], kinds: Iterable[pl.DataType]) -> list[str]:
    def word(kind: pl.DataType) -> str:
        return (
            "long"
            if kind.is_integer()
            else "double"
            if kind.is_float()
            else "boolean"
            if kind == pl.Boolean
            else "string"
        )

    return [
        f'<key id="{letter}{at}" for="{place}" attr.name={quoteattr(name)} attr.type="{word(kind)}"/>'
        for at, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]


def _data(letter: str, cells: list[Any]) -> str:
    return "".join(
        f'<data key="{letter}{at}">{_text(cell)}</data>' for at, cell in enumerate(cells) if cell is not None
    )


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    # XML cannot represent control characters.
    return escape(
        "".join(one if one >= " " or one in "\t\n\r" else "\N{REPLACEMENT CHARACTER}" for one in str(cell))
    )
