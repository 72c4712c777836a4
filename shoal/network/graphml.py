"""GraphML in and out: a small part of it, simple graphs with attributes of nodes and edges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.network.graph import Network, network_from_pairs
from shoal.wording import some_values

_SPACE = "http://graphml.graphdrawing.org/xmlns"
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
    keys: dict[str, tuple[str, str, str | None]] = {}
    rows: dict[str, dict[str, str]] = {}
    links: list[tuple[str, str]] = []
    ignored: set[str] = set()
    directed = False
    depth = 0
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        for event, element in ElementTree.iterparse(path, events=("start", "end")):
            tag = element.tag.rpartition("}")[2]
            if event == "start":
                depth += tag == "graph"
                directed |= tag == "graph" and element.get("edgedefault") == "directed"
                if depth > 1 or tag in ("hyperedge", "port"):
                    raise DataError(
                        f"{path}: nested graphs, hyperedges and ports are not supported; flatten the graph"
                    )
                continue
            depth -= tag == "graph"
            if tag == "key":
                _key(element, keys)
            elif tag == "node":
                name = element.get("id", "")
                if name in rows:
                    raise DataError(f"{path}: two nodes have the id {name!r}")
                rows[name] = {
                    data.get("key", ""): data.text or "" for data in element if data.tag.endswith("data")
                }
            elif tag == "edge":
                links.append((element.get("source", ""), element.get("target", "")))
                ignored |= {data.get("key", "") for data in element if data.tag.endswith("data")}
            if tag in ("node", "edge"):
                element.clear()
    except ElementTree.ParseError as error:
        raise DataError(f"{path}: is not well-formed XML: {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not rows:
        raise DataError(f"{path}: the graph has no nodes")
    place = {name: at for at, name in enumerate(rows)}
    unknown = list(dict.fromkeys(end for link in links for end in link if end not in place))
    if unknown:
        raise DataError(
            f"{path}: edges end at {len(unknown):,} nodes that the file does not define: {some_values(unknown)}"
        )
    ends = np.array([(place[a], place[b]) for a, b in links], np.int64).reshape(-1, 2)
    notes = ["directions of edges are ignored"] if directed else []
    if ignored:
        names = sorted(keys[key][0] if key in keys else key for key in ignored)
        notes.append(f"ignored attributes of edges: {', '.join(names)}")
    attributes = _columns(path, keys, rows)
    return network_from_pairs(
        ends[:, 0], ends[:, 1], attributes, kind="graphml", digests=(digest,), notes=notes
    )


def _key(element: ElementTree.Element, keys: dict[str, tuple[str, str, str | None]]) -> None:
    name = element.get("id", "")
    default = next((child.text for child in element if child.tag.endswith("default")), None)
    keys[name] = (element.get("attr.name", name), element.get("attr.type", "string"), default)


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


def graphml(nodes: pl.DataFrame, edges: pl.DataFrame) -> str:
    """Return a graph as GraphML. The first column of `nodes` names them, the first two of `edges` are their ends; all
    other columns are attributes. Nulls are left out. O(cells).
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<graphml xmlns="{_SPACE}">']
    lines += _declared("node", "n", nodes.columns[1:], nodes.dtypes[1:])
    lines += _declared("edge", "e", edges.columns[2:], edges.dtypes[2:])
    lines.append('<graph edgedefault="undirected">')
    for name, *cells in nodes.iter_rows():
        lines.append(f"<node id={quoteattr(str(name))}>{_data('n', cells)}</node>")
    for a, b, *cells in edges.iter_rows():
        ends = f"source={quoteattr(str(a))} target={quoteattr(str(b))}"
        lines.append(f"<edge {ends}>{_data('e', cells)}</edge>" if cells else f"<edge {ends}/>")
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _declared(place: str, letter: str, names: Iterable[str], kinds: Iterable[pl.DataType]) -> list[str]:
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
