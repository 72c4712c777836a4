"""Drawing random graphs that are consistent with a masked network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from shoal import io
from shoal.network.graph import Network, network_from_pairs
from shoal.network.graphml import graphml
from shoal.network.masked import CLUSTER, MaskedNetwork, make_folder
from shoal.support.arrays import LongVector


def sample_network(masked: MaskedNetwork, random: np.random.Generator) -> Network:
    """Draw a graph: each super-node gets its inner edges at random, each super-edge its edges.

    All consistent graphs are equally likely. Attributes are the super-node's number, its cells, and the values of
    its members, in random order. O(nodes + edges) expected.
    """
    rows, cluster = masked.rows()
    order = np.argsort(cluster, kind="stable")
    shown = rows.select(masked.nodes[CLUSTER].gather(cluster), pl.all())[order]
    first = np.cumsum(masked.size) - masked.size
    a, b, between = masked.between
    pairs = masked.size * (masked.size - 1) // 2
    group, slot = _slots(np.concatenate([pairs, masked.size[a] * masked.size[b]]),
                         np.concatenate([masked.inside, between]), random)  # fmt: skip
    inner = group < masked.clusters
    one, other = _triangle(slot[inner])
    here = first[group[inner]]
    edge = group[~inner] - masked.clusters
    row, column = slot[~inner] // masked.size[b][edge], slot[~inner] % masked.size[b][edge]
    ends = (
        np.concatenate([here + one, first[a[edge]] + row]),
        np.concatenate([here + other, first[b[edge]] + column]),
    )
    return network_from_pairs(*ends, shown)


def sample_tables(network: Network) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the node and the edge table of a graph that was drawn."""
    name = "node"
    while name in network.attributes.columns:
        name += "_"
    nodes = network.attributes.select(pl.Series(name, np.arange(network.nodes)), pl.all())
    a, b = network.pairs()
    return nodes, pl.DataFrame({"source": a.astype(np.int64), "target": b.astype(np.int64)})


def _slots(
    room: LongVector, wanted: LongVector, random: np.random.Generator
) -> tuple[LongVector, LongVector]:
    """Draw `wanted` different numbers below `room` for each group; all sets are equally likely.

    If more than half of the numbers are wanted, the others are drawn instead. Numbers that are drawn twice are drawn
    again; each round settles at least about half of them.
    """
    dense = 2 * wanted > room
    drawn = np.where(dense, room - wanted, wanted)
    offset = np.cumsum(room) - room

    def owners(keys: LongVector) -> LongVector:
        # Of groups that begin at the same position, all but the last are empty.
        return np.searchsorted(offset, keys, side="right") - 1

    keys = np.zeros(0, np.int64)
    missing = drawn
    while missing.any():
        group = np.repeat(np.arange(len(room)), missing)
        more = offset[group] + random.integers(0, room[group])
        keys = np.unique(np.concatenate([keys, more]))
        missing = drawn - np.bincount(owners(keys), minlength=len(room))
    listed = np.where(dense, room, 0)
    every = np.repeat(offset - (np.cumsum(listed) - listed), listed) + np.arange(int(listed.sum()))
    kept = np.concatenate([keys[~dense[owners(keys)]], every[~np.isin(every, keys)]])
    owner = owners(kept)
    return owner, kept - offset[owner]


def _triangle(slot: LongVector) -> tuple[LongVector, LongVector]:
    """Return the slot-th pair of 0 < 1 < .., in the order 01, 02, 12, 03, 13, 23, .."""
    high = ((1 + np.sqrt(1 + 8 * slot.astype(np.float64))) // 2).astype(np.int64)
    high -= high * (high - 1) // 2 > slot
    high += high * (high + 1) // 2 <= slot
    return slot - high * (high - 1) // 2, high


def write_sample_network(
    network: Network, folder: Path, *, kind: str = "csv", force: bool = False, masked: Path | None = None
) -> list[Path]:
    """Write a graph that was drawn into a folder, as tables and as GraphML, all or none; never over the tables of the
    `masked` network, a folder, that it was drawn from."""
    read = (
        {} if masked is None else {path: "the masked network" for path in masked.iterdir() if path.is_file()}
    )
    targets = [folder / f"nodes.{kind}", folder / f"edges.{kind}", folder / "graph.graphml"]
    io.check_apart(read, [(path, "the graph") for path in targets])
    nodes, edges = sample_tables(network)
    created = make_folder(folder)
    try:
        with io.Outbox(force=force) as box:
            return [
                box.write(nodes, targets[0]),
                box.write(edges, targets[1]),
                box.write_text(targets[2], graphml(nodes, edges), private=False),
            ]
    except BaseException:
        if created and not any(folder.iterdir()):
            folder.rmdir()
        raise
