"""Networks from tables, GraphML files, networkx and igraph graphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import io
from shoal.coding.roles import IDENTIFIER
from shoal.errors import DataError, did_you_mean
from shoal.io import ReadOptions
from shoal.io.read_errors import as_data_error
from shoal.network.graph import Network, network_from_pairs
from shoal.network.graphml import read_graphml
from shoal.policy import Policy
from shoal.support.arrays import IntVector, LongVector
from shoal.support.wording import either, some_values

USUAL_IDS = ("id", "node", "node_id", "name")
IGRAPH_NAMES = ("name", "_nx_name")
"""Attributes in which igraph keeps the name of a vertex; the second comes from networkx. They identify people."""
DELIMITERS = ",;|\t"
COMMENTS = ("#", "%")
"""How lines of edge lists begin that hold no edge."""


def read_network(
    nodes: Any,
    edges: Any = None,
    *,
    id: str | None = None,
    identifiers: Sequence[str] = (),
    ends: tuple[str, str] | None = None,
    options: ReadOptions | None = None,
) -> Network:
    """Read a network.

    `nodes` and `edges` are tables (paths or frames); or `nodes` alone is a GraphML file, or a networkx or igraph graph.
    `id` names the column of the node table that edges refer to; by default the only one of `identifiers`, or one with
    a usual name. `ends` names the two columns of the edge table; by default the first two. Raises DataError if an edge
    ends at an unknown node, and lists these nodes.
    """
    library = type(nodes).__module__.partition(".")[0]
    if is_library_graph(nodes):
        if edges is not None:
            raise DataError(f"a {library} graph has its own edges: do not give others")
        return _from_networkx(nodes) if library == "networkx" else _from_igraph(nodes)
    if isinstance(nodes, str | Path) and Path(nodes).suffix.lower() in (".graphml", ".xml"):
        if edges is not None:
            raise DataError(f"{nodes} has its own edges: do not give others")
        return read_graphml(Path(nodes))
    table = io.read(nodes, options)
    column = _id_column(table.columns, id, identifiers)
    data = table.data
    ids = data[column]
    if ids.null_count():
        raise DataError(f"{ids.null_count():,} nodes have no {column}: fill it in, or remove these nodes")
    twice = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    if len(twice):
        raise DataError(f"'{column}' names more than one node: {some_values(twice.to_list())}")
    if ends is None and (options is None or options.delimiter is None):
        edges = _split_at_blanks(edges, ids)
    links, digest, ignored = _edge_table(edges, ends, options)
    a, b = _locate_ends(ids, links)
    notes = [f"ignored columns of the edge table: {', '.join(ignored)}"] if ignored else []
    attributes = data.drop(column)
    if not attributes.width:
        raise DataError(
            "the node table has no column except the names of the nodes, so there is nothing to generalize"
        )
    return network_from_pairs(
        a,
        b,
        attributes,
        id_column=column,
        kind=table.kind,
        digests=(table.digest, digest),
        notes=notes,
        as_shown=table.as_shown,
    )


def read_for(
    policy: Policy,
    nodes: Any,
    edges: Any = None,
    *,
    id: str | None = None,
    ends: tuple[str, str] | None = None,
) -> Network:
    """Read a network as its policy says."""
    names, options = policy.names(IDENTIFIER), policy.read_options()
    return read_network(nodes, edges, id=id, identifiers=names, ends=ends, options=options)


def is_library_graph(source: Any) -> bool:
    """Whether it is a networkx or an igraph graph."""
    return type(source).__module__.partition(".")[0] in ("networkx", "igraph")


def _id_column(columns: Sequence[str], given: str | None, identifiers: Sequence[str]) -> str:
    if given is not None:
        if given not in columns:
            raise DataError(f"the node table has no column '{given}' ({did_you_mean(given, columns)})")
        return given
    named = [name for name in identifiers if name in columns]
    usual = [name for name in columns if name.lower() in USUAL_IDS]
    for found in ([name for name in usual if name in named], named, usual):
        if len(found) == 1:
            return found[0]
    raise DataError(
        f"name the column that identifies the nodes with {either(command='--id', python='id=..')}; the node table has: "
        + ", ".join(columns[:12])
    )


def read_maybe_empty(
    source: Any, options: ReadOptions | None, columns: Sequence[str]
) -> tuple[pl.DataFrame, str | None]:
    """Read a table that may have no rows, unlike tables of people: a network may have no edges."""
    if source is None or (hasattr(source, "__len__") and not isinstance(source, str) and len(source) == 0):
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64)), None
    if isinstance(source, str | Path) and Path(source).is_file() and Path(source).stat().st_size < 4096:
        path = Path(source)
        if path.suffix.lower() in (".csv", ".tsv", ".txt"):
            lines = path.read_bytes().strip().splitlines()
            if len(lines) == 1:
                return pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64)), None
        elif path.suffix.lower() in (".parquet", ".pq"):
            with as_data_error(path, "Parquet"):
                if pl.scan_parquet(path).select(pl.len()).collect().item() == 0:
                    return pl.read_parquet(path), None
    table = io.read(source, options)
    return table.data, table.digest


def _split_at_blanks(edges: Any, ids: pl.Series) -> Any:
    """Return the edges of a text file whose lines hold two names separated by blanks, as network libraries write them;
    anything else unchanged. Such files have comments, and no head, unless the first line names no node.
    """
    path = Path(edges) if isinstance(edges, str | Path) else None
    if (
        path is None
        or not path.is_file()
        or path.suffix.lower() not in (".txt", ".edges", ".edgelist", ".ncol")
    ):
        return edges
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file]
    found = [line.split() for line in lines if line and not line.startswith(COMMENTS)]
    if not found or len(found[0]) < 2 or any(mark in " ".join(found[0]) for mark in DELIMITERS[:3]):
        return edges
    short = sum(len(fields) < 2 for fields in found)
    if short:
        raise DataError(f"{short:,} lines of the edge list name fewer than two nodes, which blanks separate")
    known = set(ids.cast(pl.String).to_list())
    if not known.intersection(found[0][:2]):
        found = found[1:]
    columns = {name: [fields[at] for fields in found] for at, name in enumerate(("source", "target"))}
    return pl.DataFrame(columns, schema={"source": pl.String, "target": pl.String})


def _edge_table(
    edges: Any, ends: tuple[str, str] | None, options: ReadOptions | None
) -> tuple[pl.DataFrame, str | None, list[str]]:
    data, digest = read_maybe_empty(edges, options, ends or ("source", "target"))
    if ends is not None:
        for name in ends:
            if name not in data.columns:
                raise DataError(f"the edge table has no column '{name}' ({did_you_mean(name, data.columns)})")
    elif data.width < 2:
        raise DataError(f"the edge table has {data.width} column, but an edge needs two: one for each end")
    chosen = list(ends) if ends is not None else data.columns[:2]
    links = pl.DataFrame([data.get_column(name) for name in chosen])  # select takes `*` for all columns
    missing = int(links.select(pl.any_horizontal(pl.all().is_null())).to_series().sum())
    if missing:
        raise DataError(f"{missing:,} edges lack one of their ends: fill it in, or remove these edges")
    return links, digest, [name for name in data.columns if name not in chosen]


def _locate_ends(ids: pl.Series, links: pl.DataFrame) -> tuple[LongVector, LongVector]:
    """Return the positions of the ends of all edges. O(nodes + edges)."""
    kinds = {ids.dtype, *links.dtypes}
    common: Any = ids.dtype
    if len(kinds) > 1:
        common = pl.Int64 if all(kind.is_integer() for kind in kinds) else pl.String
    known = pl.DataFrame({"id": ids.cast(common), "place": np.arange(len(ids))})
    ends, unknown = [], []
    for column in links:
        wanted = pl.DataFrame({"id": column.cast(common)})
        found = wanted.join(known, on="id", how="left", maintain_order="left")["place"]
        unknown.append(wanted["id"].filter(found.is_null()))
        ends.append(found.fill_null(-1).to_numpy().astype(np.int64))
    strangers = pl.concat(unknown).unique(maintain_order=True)
    if len(strangers):
        raise DataError(
            f"edges end at {len(strangers):,} nodes that the node table does not have: "
            f"{some_values(strangers.to_list())}; add them, or remove their edges"
        )
    return ends[0], ends[1]


def _from_networkx(graph: Any) -> Network:
    names = list(graph.nodes)
    place = {name: at for at, name in enumerate(names)}
    links = np.array([(place[a], place[b]) for a, b in graph.edges()], np.int64).reshape(-1, 2)
    columns = list(dict.fromkeys(key for _, values in graph.nodes(data=True) for key in values))
    data = {str(key): [values.get(key) for _, values in graph.nodes(data=True)] for key in columns}
    return _from_library("networkx", data, len(names), links, bool(graph.is_directed()))


def _from_igraph(graph: Any) -> Network:
    links = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    data = {str(key): list(graph.vs[key]) for key in graph.vs.attributes() if key not in IGRAPH_NAMES}
    return _from_library("igraph", data, int(graph.vcount()), links, bool(graph.is_directed()))


def _from_library(
    kind: str, data: dict[str, list[Any]], nodes: int, links: LongVector, directed: bool
) -> Network:
    if not nodes:
        raise DataError(f"the {kind} graph has no nodes")
    if not data:
        raise DataError(
            f"the nodes of the {kind} graph have no attributes, so there is nothing to generalize"
        )
    try:
        attributes = pl.DataFrame({name: pl.Series(values, strict=True) for name, values in data.items()})
    except (TypeError, pl.exceptions.PolarsError):
        raise DataError(
            f"an attribute of the {kind} graph mixes types: give all nodes values of one type"
        ) from None
    notes = ["directions of edges are ignored"] if directed else []

    def as_shown(values: pl.Series, name: str, rows: IntVector) -> pl.Series:
        """Return values in the type that the published nodes have by themselves: graphs declare no types."""
        if values.dtype != attributes[name].dtype:
            return values  # generalized
        try:
            dtype = pl.Series([data[name][row] for row in rows], strict=True).dtype
        except (TypeError, pl.exceptions.PolarsError):  # whole numbers and fractions, in this order
            return values
        return values.cast(pl.String if dtype == pl.Null else dtype)

    return network_from_pairs(
        links[:, 0], links[:, 1], attributes, kind=kind, digests=(None,), notes=notes, as_shown=as_shown
    )
