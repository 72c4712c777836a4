"""The network kernels against their plain twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.requirements import Requirements
from shoal.kernels import graph_structure
from shoal.kernels import network_clusters as kernels
from shoal.network import node_clusters as clustering
from shoal.network.graph import network_from_pairs
from shoal.support.run import Run
from tests import oracles
from tests.inputs.coded_tables import with_changes
from tests.inputs.strategies import tables


@st.composite
def networks(draw, nodes=st.integers(1, 9)):
    """Small graphs: isolated nodes, several components, complete ones."""
    n = draw(nodes)
    pairs = [(a, b) for a in range(n) for b in range(a)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    ends = np.array(chosen, np.int64).reshape(-1, 2)
    return network_from_pairs(ends[:, 0], ends[:, 1], pl.DataFrame({"q": np.arange(n)}))


@settings(max_examples=150)
@given(st.data())
def test_growing(data):
    table = data.draw(tables(rows=st.integers(1, 11), columns=st.integers(1, 3)))
    graph = data.draw(networks(st.just(table.rows)))
    if data.draw(st.booleans()):  # limits: blocks that never share a cluster
        first = table.attributes[0]
        if not first.hierarchy.free and first.hierarchy.height > 1:
            limited = first.hierarchy.with_limit(first.hierarchy.height - 1)
            if limited.leaves.equals(first.hierarchy.leaves):
                table = with_changes(
                    table, attributes=(replace(first, hierarchy=limited), *table.attributes[1:])
                )
    models = [KAnonymity(k=data.draw(st.integers(2, 4)))]
    if data.draw(st.booleans()):
        models.append(PSensitive(p=data.draw(st.integers(2, 3))))
    alpha = data.draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))
    work = clustering._Work(graph, table, Requirements(models=tuple(models)), alpha, Run.start(1))
    ours, clusters = work.grow_clusters()
    compiled = kernels.grow_network_clusters
    kernels.grow_network_clusters = oracles.network_clusters.grow_network_clusters
    try:
        plain, expected = work.grow_clusters()
    finally:
        kernels.grow_network_clusters = compiled
    assert ours.tolist() == plain.tolist()
    assert clusters == expected


@given(networks(), st.data())
def test_growing_in_pieces(graph, data):
    """Stopping and going on changes nothing."""
    table = data.draw(tables(rows=st.just(graph.nodes)))
    work = clustering._Work(graph, table, Requirements(models=(KAnonymity(k=2),)), 0.5, Run.start(1))
    whole = work.grow_clusters()[0]
    usual, clustering.PATIENCE = clustering.PATIENCE, 1
    try:
        assert work.grow_clusters()[0].tolist() == whole.tolist()
    finally:
        clustering.PATIENCE = usual


@given(networks(), st.data())
def test_contacts(graph, data):
    cluster_of = np.array(
        data.draw(st.lists(st.integers(-1, 2), min_size=graph.nodes, max_size=graph.nodes)), np.int32
    )
    members = np.array(data.draw(st.lists(st.integers(0, graph.nodes - 1), unique=True)), np.int32)
    given_ = graph.start, graph.neighbours, cluster_of, members, 3
    assert (
        kernels.network_contacts(*given_).tolist()
        == oracles.network_clusters.network_contacts(*given_).tolist()
    )


@given(networks())
def test_common_neighbours(graph):
    ours = graph_structure.common_neighbours(graph.start, graph.neighbours)
    assert ours.tolist() == oracles.graph_structure.common_neighbours(graph.start, graph.neighbours).tolist()


@given(networks())
def test_ego_keys(graph):
    common = graph_structure.common_neighbours(graph.start, graph.neighbours)
    noise = np.random.default_rng(1).integers(0, 2**64, graph.nodes + 1, dtype=np.uint64)
    ours = graph_structure.ego_keys(graph.start, graph.neighbours, common, noise)
    plain = oracles.graph_structure.ego_keys(graph.start, graph.neighbours, common, noise)
    assert np.array_equal(ours[:, None] == ours, plain[:, None] == plain)


@given(networks(st.integers(1, 7)))
def test_pivot_centrality(graph):
    pivots = np.arange(0, graph.nodes, 2, dtype=np.int32)
    ours = graph_structure.pivot_centrality(graph.start, graph.neighbours, pivots)
    plain = oracles.graph_structure.pivot_centrality(graph.start, graph.neighbours, pivots)
    for one, other in zip(ours, plain, strict=True):
        assert np.allclose(one, other)


@settings(max_examples=300)
@given(st.data())
def test_neighbours_fit(data):
    clusters = data.draw(st.integers(1, 4))
    numbers = st.lists(st.integers(0, 4), min_size=clusters, max_size=clusters)
    low = np.array(data.draw(numbers), np.int64)
    high = low + np.array(data.draw(numbers), np.int64)
    start, other, room = [0], [], []
    for _ in range(clusters):
        beside = data.draw(st.lists(st.integers(0, clusters - 1), unique=True))
        other += sorted(beside, key=lambda d: low[d])
        room += data.draw(st.lists(st.integers(1, 3), min_size=len(beside), max_size=len(beside)))
        start.append(len(other))
    here = np.repeat(np.arange(clusters), np.diff(start))
    others = np.array(other, np.int32)
    by_high = np.lexsort((-high[others], here)).astype(np.int64)
    degrees = np.sort(np.array(data.draw(st.lists(st.integers(1, 7), max_size=4)), np.int64))
    given_ = (degrees, low, high, np.array(start, np.int64), others, np.array(room, np.int64), by_high)
    assert (
        graph_structure.neighbours_match(*given_).tolist()
        == oracles.graph_structure.neighbours_match(*given_).tolist()
    )
