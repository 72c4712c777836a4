"""Ordinary graphs that another tool published: masked networks whose super-nodes are single nodes."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.coding.roles import QUASI
from shoal.network.graph import Network, sparse_rows
from shoal.network.masked import BETWEEN, CLUSTER, ENDS, INSIDE, NODES, MaskedNetwork
from shoal.policy import Policy


def single_nodes(network: Network, policy: Policy) -> MaskedNetwork:
    """Return a graph as a masked network: each node is a super-node of its own, and each edge a super-edge.

    Quasi-identifiers belong to the super-nodes, all other columns to their members. O(nodes + edges).
    """
    n = network.nodes
    quasi = [name for name in policy.names(QUASI) if name in network.attributes.columns]
    numbers = pl.DataFrame(
        {CLUSTER: np.arange(n), NODES: np.ones(n, np.int64), INSIDE: np.zeros(n, np.int64)}
    )
    nodes = pl.concat([numbers, network.attributes[quasi]], how="horizontal")
    rest = network.attributes[[name for name in network.attributes.columns if name not in quasi]]
    members = pl.concat([numbers.select(CLUSTER), rest], how="horizontal") if rest.width else None
    a, b = (end.astype(np.int64) for end in network.pairs())
    edges = pl.DataFrame({ENDS[0]: a, ENDS[1]: b, BETWEEN: np.ones(len(a), np.int64)})
    return MaskedNetwork(nodes, members, edges)


def graph_of(masked: MaskedNetwork) -> Network:
    """Return the graph that a masked network of single nodes shows."""
    a, b, _ = masked.between
    return Network(masked.nodes[masked.quasi_columns], *sparse_rows(a, b, masked.clusters))
