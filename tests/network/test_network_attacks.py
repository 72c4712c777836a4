"""Attacks on masked networks and on graphs of other tools: they find people where people can be found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError
from shoal.network.judge_network import Original, encode_nodes, network_case
from shoal.network.network_disclosure import Attributes
from shoal.network.ordinary import single_nodes
from shoal.network.read_network import read_network
from shoal.network.structure_attacks import attack_network

ROLES = {"quasi": ["age"], "sensitive": ["disease"], "identifier": ["id"]}
DISEASES = ("flu", "asthma", "cancer")


def graph(n, pairs, diseases=None, ages=None):
    """A node table and an edge table."""
    nodes = {
        "id": [f"n{x}" for x in range(n)],
        "age": ages or [40] * n,
        "disease": diseases or ["flu"] * n,
    }
    ends = {"a": [f"n{a}" for a, _ in pairs], "b": [f"n{b}" for _, b in pairs]}
    return pl.DataFrame(nodes), pl.DataFrame(ends, schema={"a": pl.String, "b": pl.String})


def plain_keys(n, pairs):
    """What the two simpler adversaries know about each node, by the definition."""
    around = {x: {b for a, b in both(pairs) if a == x} for x in range(n)}
    degree = {x: len(around[x]) for x in range(n)}
    return {
        "degree": degree,
        "neighbour-degrees": {x: tuple(sorted(degree[y] for y in around[x])) for x in range(n)},
    }


def both(pairs):
    return {(a, b) for a, b in pairs} | {(b, a) for a, b in pairs}


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 9))
    every = [(a, b) for b in range(n) for a in range(b)]
    pairs = [pair for pair in every if draw(st.booleans())]
    diseases = draw(st.lists(st.sampled_from(DISEASES), min_size=n, max_size=n))
    ages = draw(st.lists(st.integers(40, 42), min_size=n, max_size=n))
    return n, pairs, diseases, ages


@settings(max_examples=60)
@given(graphs(), st.integers(2, 4))
def test_a_published_graph_is_attacked_as_the_definition_says(case, k):
    """Another tool published the graph as it is: candidates are the nodes that look alike, by brute force."""
    n, pairs, diseases, ages = case
    nodes, edges = graph(*case)
    policy = shoal.Policy.from_keywords(**ROLES, k=k)
    network = read_network(nodes, edges, identifiers=["id"])
    table = encode_nodes(network, policy)
    masked = single_nodes(network, policy)
    published = network_case(masked, policy, Original(network, table)).published
    found = attack_network(network, masked, Attributes(table, published, {0: 2}), k, np.random.default_rng(1))
    exposures = {one.knowledge: one for one in found.exposures}
    disclosures = {one.knowledge: one for one in found.disclosures}
    for name, key in plain_keys(n, pairs).items():
        for attributes in (False, True):
            known = {x: (key[x], ages[x] if attributes else 0) for x in range(n)}
            alike = {x: [y for y in range(n) if known[y] == known[x]] for x in range(n)}
            sizes = [len(alike[x]) for x in range(n)]
            word = f"{name} + attributes" if attributes else name
            one = exposures[word]
            assert (one.after_least, one.at_risk) == (min(sizes), sum(size < k for size in sizes))
            assert (one.before_least, one.before_unique) == (min(sizes), sizes.count(1))
            assert one.unmatched == 0
            shown = {x: Counter(diseases[y] for y in alike[x]) for x in range(n)}
            other = disclosures[word]
            certain = sum(len(shown[x]) == 1 for x in range(n))
            assert (other.certain, other.before_certain, other.at_risk) == (certain, certain, certain)
            assert other.fewest_values == min(len(shown[x]) for x in range(n))
            assert other.largest == pytest.approx(max(max(shown[x].values()) / sizes[x] for x in range(n)))
            right = [shown[x][diseases[x]] / sizes[x] for x in range(n)]
            assert other.named == pytest.approx(sum(right) / n)
            whole = Counter(diseases)
            assert other.blind == pytest.approx(sum(whole[value] for value in diseases) / n / n)


@settings(max_examples=40)
@given(st.integers(8, 30), st.integers(0, 99), st.integers(2, 4))
def test_what_candidates_reveal_by_degree(n, seed, k):
    """In a masked network: the values of all super-nodes that can hold a node of the target's degree."""
    random = np.random.default_rng(seed)
    every = [(a, b) for b in range(n) for a in range(b)]
    pairs = [pair for pair in every if random.random() < 2 / n]
    nodes, edges = graph(n, pairs, random.choice(DISEASES, n).tolist(), random.integers(20, 60, n).tolist())
    result = shoal.anonymize_network(nodes, edges, **ROLES, k=k)
    from shoal.network.structure_attacks import degree_ranges

    ranges = degree_ranges(result.masked)
    degree = plain_keys(n, pairs)["degree"]
    members = result.masked.members
    place = {number: at for at, number in enumerate(result.masked.nodes["cluster"].to_list())}
    shown = []
    for x in range(n):
        fits = (ranges.low <= degree[x]) & (degree[x] <= ranges.high)
        rows = zip(members["cluster"].to_list(), members["disease"].to_list(), strict=True)
        shown.append(Counter(value for number, value in rows if fits[place[number]]))
    found = next(one for one in result.disclosures if one.knowledge == "degree")
    assert found.fewest_values == min(map(len, shown))
    assert found.certain == sum(len(own) == 1 for own in shown)
    assert found.largest == pytest.approx(max(max(own.values()) / own.total() for own in shown))


def test_equal_degrees_do_not_protect_from_who_knows_more():
    """A graph in which everybody shares a degree with another, as tools for k-degree anonymity publish.

    Degrees are 2, 2, 2, 2, 1, 1: a triangle 0 1 2 with nobody else has degrees of its own only by the neighbours of 3.
    """
    pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (3, 5)]
    nodes, edges = graph(6, pairs, ["flu", "asthma", "flu", "cancer", "flu", "asthma"])
    judged = shoal.audit_network(
        _as_networkx(nodes, edges), quasi=["age"], sensitive=["disease"], k=2, p=2, nodes=nodes, edges=edges
    )
    found = {one.knowledge: one for one in judged.attacks}
    assert (found["degree"].after_least, found["degree"].at_risk) == (2, 0)
    # The neighbours of 3 have degree 1, those of 0, 1 and 2 have degree 2.
    assert (found["neighbour-degrees"].after_least, found["neighbour-degrees"].at_risk) == (1, 1)
    told = {one.knowledge: one for one in judged.disclosures}
    assert told["degree"].fewest_values == 2
    assert (told["neighbour-degrees"].fewest_values, told["neighbour-degrees"].certain) == (1, 1)
    failed = {verdict.model for verdict in judged.verdicts if not verdict.holds}
    assert {"candidates by structure", "values by structure: disease"} <= failed


def _as_networkx(nodes, edges):
    networkx = pytest.importorskip("networkx")
    made = networkx.Graph()
    for number, row in enumerate(nodes.drop("id").to_dicts()):
        made.add_node(number, **row)
    made.add_edges_from([(int(a[1:]), int(b[1:])) for a, b in edges.rows()])
    return made


def test_people_whom_a_changed_graph_does_not_show_count_as_at_risk():
    """Another tool has added edges: 0 has degree 1 in truth and 2 in the release, as everybody else."""
    nodes, edges = graph(4, [(0, 1), (1, 2), (2, 3)])
    changed = graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    judged = shoal.audit_network(
        _as_networkx(*changed), quasi=["age"], sensitive=["disease"], k=2, nodes=nodes, edges=edges
    )
    by_degree = next(one for one in judged.attacks if one.knowledge == "degree")
    assert (by_degree.unmatched, by_degree.at_risk, by_degree.after_least) == (2, 2, 0)
    assert "all edges" in {verdict.model for verdict in judged.verdicts if not verdict.holds}


def test_small_clusters_of_another_tool_are_found_out():
    """Two super-nodes of one and three people: the one has degree 3, and nobody else can."""
    nodes, edges = graph(4, [(0, 1), (0, 2), (0, 3)], ["cancer", "flu", "asthma", "flu"])
    masked = shoal.network.masked.MaskedNetwork(
        pl.DataFrame({"cluster": [0, 1], "nodes": [1, 3], "edges_inside": [0, 0], "age": ["40", "40"]}),
        pl.DataFrame({"cluster": [0, 1, 1, 1], "disease": ["cancer", "flu", "asthma", "flu"]}),
        pl.DataFrame({"cluster_a": [0], "cluster_b": [1], "edges": [3]}),
    )
    judged = shoal.audit_network(masked, **ROLES, k=2, p=2, nodes=nodes, edges=edges)
    for one in judged.attacks:
        assert (one.after_least, one.at_risk, one.unmatched) == (1, 1, 0)
    for told in judged.disclosures:
        assert (told.certain, told.fewest_values, told.largest) == (1, 1, 1.0)
    failed = {verdict.model for verdict in judged.verdicts if not verdict.holds}
    assert {"candidates by structure", "values by structure: disease"} <= failed


def test_files_of_a_graph_are_audited(tmp_path):
    nodes, edges = graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], list(DISEASES) * 2)
    policy = shoal.Policy.from_keywords(**ROLES, k=2)
    for name, data in (("nodes", nodes.with_columns(id=pl.Series(range(6)))), ("edges", edges)):
        if name == "edges":
            data = data.select(pl.all().str.slice(1).cast(pl.Int64))
        data.write_csv(tmp_path / f"{name}.csv")
    judged = shoal.audit_network(tmp_path, policy, nodes=nodes, edges=edges)
    # A ring: everybody looks like everybody. But its table has the column of the names.
    assert all(one.after_least == 6 for one in judged.attacks)
    assert "identifiers removed" in {verdict.model for verdict in judged.verdicts if not verdict.holds}
    result = shoal.anonymize_network(nodes, edges, policy)
    result.write(tmp_path / "masked")
    with pytest.raises(DataError, match="give the folder with its tables"):
        shoal.audit_network(tmp_path / "masked" / "masked.graphml", policy)
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    shoal.network.random_graphs.write_sample_network(result.network, tmp_path / "as_it_is")
    command = [
        "network",
        "audit",
        str(tmp_path / "as_it_is" / "graph.graphml"),
        "-p",
        str(tmp_path / "policy.toml"),
    ]
    nodes.write_csv(tmp_path / "people.csv")
    edges.write_csv(tmp_path / "friends.csv")
    command += ["--nodes", str(tmp_path / "people.csv"), "--edges", str(tmp_path / "friends.csv")]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 5, told.output
    assert "blindly" in told.output


def test_numbers_with_a_tree_lose_by_the_tree():
    """Codes of places are names, whether a file has them as numbers or as text: they lose a level of the tree."""
    pairs = [(x, (x + 1) % 8) for x in range(8)]
    nodes, edges = graph(8, pairs)
    codes = [10, 11, 12, 13, 90, 91, 92, 93]
    tree = {"tree": {"north": [10, 11, 12, 13], "south": [90, 91, 92, 93]}}
    words = {"tree": {key: [str(code) for code in own] for key, own in tree["tree"].items()}}
    found = []
    for values, hierarchy in ((codes, tree), ([str(code) for code in codes], words)):
        people = nodes.with_columns(age=pl.Series(values))
        result = shoal.anonymize_network(
            people, edges, **ROLES, k=4, alpha=1.0, hierarchies={"age": hierarchy}, seed=1
        )
        assert sorted(result.nodes["age"].to_list()) == ["north", "south"]
        found.append(result.measures["ngil"])
    # One of two levels in every cell.
    assert found == [pytest.approx(0.5)] * 2
