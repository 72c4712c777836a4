"""`MaskedNetwork`: what is published of a network: super-nodes, their members' values, super-edges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.errors import DataError, OutputError, did_you_mean
from shoal.io.links import follow_links
from shoal.io.read_errors import as_data_error
from shoal.network.graph import AsShown, Network
from shoal.network.graphml import content_of, graphml, is_xml
from shoal.network.read_network import read_maybe_empty
from shoal.release import Release, closures
from shoal.release.render import render
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.machine.shutdown import journal
from shoal.support.wording import some_values

CLUSTER, NODES, INSIDE = "cluster", "nodes", "edges_inside"
ENDS, BETWEEN = ("cluster_a", "cluster_b"), "edges"
TABLE_FORMATS = ("csv", "tsv", "parquet", "arrow")
GRAPH = "masked.graphml"
"""The file with the same content as the tables."""


@dataclass(frozen=True, eq=False, repr=False)
class MaskedNetwork(Brief):
    """A masked network as an outsider reads it: three tables."""

    nodes: pl.DataFrame
    """One row per super-node: its number, how many nodes and inner edges it stands for, and what they show."""
    members: pl.DataFrame | None
    """One row per node: the number of its super-node, and its sensitive and plain values. None if there are none."""
    edges: pl.DataFrame
    """One row per super-edge: two super-nodes, and how many edges there are between their nodes."""

    @cached_property
    def size(self) -> LongVector:
        """``[super-nodes]`` nodes in each."""
        return self.nodes[NODES].to_numpy().astype(np.int64)

    @cached_property
    def inside(self) -> LongVector:
        """``[super-nodes]`` edges inside each."""
        return self.nodes[INSIDE].to_numpy().astype(np.int64)

    @cached_property
    def between(self) -> tuple[IntVector, IntVector, LongVector]:
        """Super-edges: positions of the two ends among the super-nodes, and how many edges they stand for."""
        place = {name: at for at, name in enumerate(self.nodes[CLUSTER].to_list())}
        a, b = (
            np.array([place[name] for name in self.edges[end].to_list()], np.int32).reshape(-1)
            for end in ENDS
        )
        return a, b, self.edges[BETWEEN].to_numpy().astype(np.int64)

    @property
    def clusters(self) -> int:
        """Number of super-nodes."""
        return self.nodes.height

    @property
    def people(self) -> int:
        """Number of nodes that all super-nodes stand for."""
        return int(self.size.sum())

    @property
    def links(self) -> int:
        """Number of edges that all super-nodes and super-edges stand for."""
        return int(self.inside.sum() + self.between[2].sum())

    @property
    def quasi_columns(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return [name for name in self.nodes.columns if name not in (CLUSTER, NODES, INSIDE)]

    def rows(self) -> tuple[pl.DataFrame, IntVector]:
        """Return one row per node as an outsider can join it, and its super-node. O(nodes)."""
        wanted = [CLUSTER, *self.quasi_columns]
        if self.members is None:
            place = np.repeat(np.arange(self.clusters, dtype=np.int32), self.size)
            return self.nodes.select(self.quasi_columns)[place], place
        known = self.nodes.select(CLUSTER).with_row_index("place")
        found = self.members.select(CLUSTER).join(known, on=CLUSTER, how="left", maintain_order="left")[
            "place"
        ]
        at = found.to_numpy().astype(np.int32)
        cells = self.nodes.select(wanted)[at].drop(CLUSTER)
        return pl.concat([cells, self.members.drop(CLUSTER)], how="horizontal"), at

    def graphml(self) -> str:
        """Return the masked network as GraphML, the values of members as counts: ``asthma x 2; flu x 1``."""
        nodes = self.nodes
        if self.members is not None:
            for name in self.members.columns:
                if name != CLUSTER:
                    counted = (
                        self.members.group_by(
                            CLUSTER, pl.col(name).cast(pl.String).fill_null("null").alias("value")
                        )
                        .agg(pl.len().alias("count"))
                        .sort(CLUSTER, "value")
                        .group_by(CLUSTER, maintain_order=True)
                        .agg(pl.format("{} x {}", "value", "count").str.join("; ").alias(name))
                    )
                    nodes = nodes.join(counted, on=CLUSTER, how="left", maintain_order="left")
        return graphml(nodes, self.edges)

    def with_types(self, as_shown: AsShown, rows: IntVector) -> MaskedNetwork:
        """Return the same network with columns in the types that follow from the published `rows` only."""

        def convert_columns(data: pl.DataFrame) -> pl.DataFrame:
            own = [name for name in data.columns if name not in (CLUSTER, NODES, INSIDE)]
            return data.with_columns(as_shown(data[name], name, rows).alias(name) for name in own)

        members = None if self.members is None else convert_columns(self.members)
        return replace(self, nodes=convert_columns(self.nodes), members=members)

    def differs_from(self, graph: bytes) -> str:
        """Return how a GraphML file differs from the tables, in words that show no value; "" if it does not."""
        text = self.graphml().encode()
        if graph == text and is_xml(graph):
            return ""
        found, own = content_of(graph), content_of(text)
        if found is None or own is None:
            return "it cannot be read as a masked network"
        parts = ("attributes", "super-nodes", "super-edges", "further elements")
        other = [part for part, a, b in zip(parts, found, own, strict=True) if a != b]
        return f"it differs from the tables in: {', '.join(other)}" if other else ""

    def put_into(self, box: NetworkOutbox, folder: Path, kind: str = "csv") -> list[Path]:
        """Prepare all files in an existing folder, and return where they will be.

        Each table and the graph are read back from the disk; `OutputError` if a cell is not what was judged.
        """
        tables = {"nodes": self.nodes, "members": self.members, "edges": self.edges}
        written = []
        for name, data in tables.items():
            if data is not None:
                written.append(folder / f"{name}.{kind}")
                box.publish(data, written[-1])
        return [*written, box.publish_graph(self, folder / GRAPH)]

    def problems(self) -> list[str]:
        """Return what is impossible about the numbers: no network has such a masked one."""
        found = []
        a, b, count = self.between
        pairs = self.size * (self.size - 1) // 2
        if (self.size < 1).any() or (self.inside < 0).any() or (count < 1).any():
            found.append("a super-node stands for no node, or a super-edge for no edge")
        if (self.inside > pairs).any():
            found.append(
                f"{int((self.inside > pairs).sum()):,} super-nodes have more edges inside than pairs of nodes"
            )
        if (count > self.size[a] * self.size[b]).any():
            found.append("super-edges stand for more edges than there are pairs of nodes")
        if (a == b).any():
            found.append("super-edges lead from a super-node to itself; those edges belong in edges_inside")
        keys = np.minimum(a, b).astype(np.int64) * self.clusters + np.maximum(a, b)
        if len(np.unique(keys)) < len(keys):
            found.append("two super-edges join the same super-nodes")
        if self.members is not None:
            own = np.bincount(self.rows()[1], minlength=self.clusters)
            if not np.array_equal(own, self.size):
                found.append("the member table and the super-nodes have different numbers of nodes")
        return found


class NetworkOutbox(io.Outbox):
    """An outbox that also reads back the graph that it wrote."""

    def publish_graph(self, masked: MaskedNetwork, path: Path) -> Path:
        """Prepare the graph next to the tables, and return where it will be. `OutputError` if the file on the disk
        does not have the content of the tables.
        """
        target = self.write_text(path, masked.graphml(), private=False)
        try:
            back = self._waiting[-1][1].path.read_bytes()
        except OSError as error:
            raise OutputError(f"{target} could not be read back: {error.strerror or error}") from None
        reason = masked.differs_from(back)
        if reason:
            raise OutputError(
                f"{target}: GraphML does not give back the masked network ({reason}), so nothing was written; "
                "remove characters that XML cannot hold from the values"
            )
        return target


def mask(
    network: Network, table: CodedTable, cluster_of: IntVector, clusters: int, random: np.random.Generator
) -> tuple[MaskedNetwork, IntVector, IntVector]:
    """Collapse clusters; also return the number of each node's super-node, and the node behind each row of
    `MaskedNetwork.rows`: both are private.

    Numbers of super-nodes are drawn at random: the order in which clusters were made reveals who has many friends.
    O(nodes + edges log edges).
    """
    clash = [name for name in table.columns if name in (CLUSTER, NODES, INSIDE)]
    if clash:
        raise DataError(
            f"the node table has a column '{clash[0]}', a name that the masked network uses: rename it"
        )
    cluster_of = random.permutation(clusters).astype(np.int32)[cluster_of]
    low, high = closures(table, cluster_of, clusters)
    rows = render(table, Release(cluster_of, low, high)).rows
    first = np.unique(cluster_of, return_index=True)[1]
    a, b = network.pairs()
    ca, cb = cluster_of[a], cluster_of[b]
    keys, counts = np.unique(
        np.minimum(ca, cb).astype(np.int64) * clusters + np.maximum(ca, cb), return_counts=True
    )
    one, other = keys // clusters, keys % clusters
    inside = np.zeros(clusters, np.int64)
    inside[one[one == other]] = counts[one == other]
    numbers = {
        CLUSTER: np.arange(clusters),
        NODES: np.bincount(cluster_of, minlength=clusters),
        INSIDE: inside,
    }
    quasi = [attribute.name for attribute in table.attributes]
    nodes = pl.concat([pl.DataFrame(numbers), rows.select(quasi)[first]], how="horizontal")
    members = None
    owner = np.argsort(cluster_of, kind="stable")
    if table.kept.columns:
        own = table.kept.whole.select(pl.Series(CLUSTER, cluster_of.astype(np.int64)), pl.all())
        order = random.permutation(table.rows)
        owner = order[np.argsort(cluster_of[order], kind="stable")]
        members = own[owner]
    apart = one != other
    edges = pl.DataFrame(
        {ENDS[0]: one[apart], ENDS[1]: other[apart], BETWEEN: counts[apart].astype(np.int64)}
    )
    return MaskedNetwork(nodes, members, edges), cluster_of, owner.astype(np.int32)


def is_graph(source: str | Path) -> bool:
    """Whether a path names a GraphML file, which holds an ordinary graph unless Shoal wrote it."""
    path = Path(source)
    if path.suffix.lower() not in (".graphml", ".xml"):
        return False
    if path.is_file() and f'attr.name="{INSIDE}"' in path.read_text(encoding="utf-8", errors="replace"):
        raise DataError(f"{path} is a masked network: give the folder with its tables, {path.parent}")
    return True


def tables_in(folder: str | Path) -> tuple[Path, Path] | None:
    """Return the tables of nodes and edges in a folder that holds an ordinary graph; None if it holds a masked one."""
    place = Path(folder)
    kind = _kind_in(place)
    found = place / f"nodes.{kind}"
    if {NODES, INSIDE} & set(io.read(found).columns):
        return None
    return found, place / f"edges.{kind}"


def _kind_in(place: Path) -> str:
    """Return the format of the tables in a folder."""
    if not place.is_dir():
        raise DataError(
            f"{place}: the folder does not exist; give the one that a masked network was written to"
        )
    kinds = [kind for kind in TABLE_FORMATS if (place / f"nodes.{kind}").is_file()]
    if len(kinds) != 1:
        raise DataError(
            f"{place}: expected one table of super-nodes, nodes.csv or the like, found {len(kinds)}"
        )
    return kinds[0]


def read_masked(folder: str | Path) -> MaskedNetwork:
    """Read a masked network from its folder. Raises DataError if its tables do not belong together."""
    place = Path(folder)
    kind = _kind_in(place)
    nodes = io.read(place / f"nodes.{kind}").data
    edges = read_maybe_empty(place / f"edges.{kind}", None, [*ENDS, BETWEEN])[0]
    members_file = place / f"members.{kind}"
    members = io.read(members_file).data if members_file.is_file() else None
    return check_tables(MaskedNetwork(nodes, members, edges))


def difference_of_graph(folder: str | Path, masked: MaskedNetwork) -> str | None:
    """Return how `masked.graphml` in a folder differs from the tables, "" if it does not; None if there is none."""
    path = Path(folder) / GRAPH
    if not path.is_file():
        return None
    with as_data_error(path, "GraphML"):
        return masked.differs_from(path.read_bytes())


def check_tables(masked: MaskedNetwork) -> MaskedNetwork:
    """Return the masked network if its tables belong together, else raise DataError."""
    nodes, members, edges = masked.nodes, masked.members, masked.edges
    tables = [("super-nodes", nodes, [CLUSTER, NODES, INSIDE]), ("super-edges", edges, [*ENDS, BETWEEN])]
    if members is not None:
        tables.append(("members", members, [CLUSTER]))
    for title, data, wanted in tables:
        for name in wanted:
            if name not in data.columns:
                raise DataError(
                    f"the table of {title} has no column '{name}' ({did_you_mean(name, data.columns)})"
                )
            if data[name].null_count() or not data[name].dtype.is_integer():
                raise DataError(f"the table of {title}: '{name}' must be a whole number in every row")
    if nodes[CLUSTER].is_duplicated().any():
        raise DataError("two super-nodes have the same number")
    known = nodes[CLUSTER].cast(pl.Int64)
    for title, column in [("super-edges", edges[ENDS[0]]), ("super-edges", edges[ENDS[1]])] + (
        [("members", members[CLUSTER])] if members is not None else []
    ):
        unknown = column.cast(pl.Int64).filter(~column.cast(pl.Int64).is_in(known.implode())).unique()
        if len(unknown):
            raise DataError(
                f"the table of {title} refers to super-nodes that do not exist: {some_values(unknown.to_list())}"
            )
    return masked


def make_folder(folder: Path) -> bool:
    """Create the folder of a release if it does not exist; return whether it was created."""
    place = follow_links(folder)
    if place.is_dir():
        return False
    try:
        place.mkdir()
    except FileNotFoundError:
        raise OutputError(f"{folder}: the folder {folder.parent} does not exist; create it first") from None
    except FileExistsError:
        raise OutputError(f"{folder} is a file; name a folder") from None
    except OSError as error:
        raise OutputError(f"{folder} could not be created: {error.strerror or error}") from None
    journal.make(str(folder))
    return True
