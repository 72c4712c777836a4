"""Masked networks: definitions by brute force on small graphs, the whole story, odd and bad input."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, InfeasibleError, OutputError, PolicyError
from shoal.network.graphml import graphml, read_graphml
from shoal.network.masked import MaskedNetwork, read_masked
from shoal.network.network_losses import nsil
from shoal.network.random_graphs import _slots, _triangle, sample_network
from shoal.network.read_network import read_network
from shoal.network.structure import differences, structure_of
from shoal.network.structure_attacks import attack_network, degree_candidates, degree_ranges

ROLES = {"quasi": ["age", "sex"], "sensitive": ["disease"], "identifier": ["id"]}


def people(n, seed=0, links=2.0):
    """A random network with attributes."""
    random = np.random.default_rng(seed)
    nodes = pl.DataFrame(
        {
            "id": [f"n{i}" for i in range(n)],
            "age": random.integers(20, 60, n),
            "sex": random.choice(["f", "m"], n),
            "disease": random.choice(["flu", "asthma", "cold"], n),
        }
    )
    ends = random.integers(0, n, (int(links * n), 2))
    return nodes, pl.DataFrame({"a": [f"n{i}" for i in ends[:, 0]], "b": [f"n{i}" for i in ends[:, 1]]})


def plain_edges(network):
    return {(int(a), int(b)) for a, b in zip(*network.pairs(), strict=True)}


@settings(max_examples=25)
@given(
    st.integers(6, 25),
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.floats(0, 4),
)
def test_the_masked_network_is_what_the_definition_says(n, seed, k, alpha, links):
    nodes, edges = people(n, seed, links)
    result = shoal.anonymize_network(nodes, edges, **ROLES, k=k, alpha=alpha, seed=seed)
    assert result.holds
    original = plain_edges(result.network)
    place = result.cluster_of
    assert sorted(set(place.tolist())) == list(range(result.masked.clusters))
    for row in result.nodes.iter_rows(named=True):
        inside = np.flatnonzero(place == row["cluster"]).tolist()
        assert len(inside) == row["nodes"] >= k
        assert row["edges_inside"] == sum(a in inside and b in inside for a, b in original)
        ages = nodes["age"][inside]
        shown = f"[{ages.min()}, {ages.max()}]" if ages.n_unique() > 1 else ages[0]
        whole = ages.n_unique() > 1 and (ages.min(), ages.max()) == (nodes["age"].min(), nodes["age"].max())
        assert str(row["age"]) == ("*" if whole else str(shown))
        assert row["sex"] == (nodes["sex"][inside[0]] if nodes["sex"][inside].n_unique() == 1 else "*")
        own = result.members.filter(pl.col("cluster") == row["cluster"])["disease"]
        assert Counter(own.to_list()) == Counter(nodes["disease"][inside].to_list())
    between = Counter(tuple(sorted((place[a], place[b]))) for a, b in original if place[a] != place[b])
    told = {tuple(sorted(row[:2])): row[2] for row in result.edges.iter_rows()}
    assert told == dict(between)
    # NSIL from the definition, pair by pair of clusters.
    lost = 0.0
    groups = [np.flatnonzero(place == c).tolist() for c in range(result.masked.clusters)]
    for c, d in itertools.combinations_with_replacement(range(len(groups)), 2):
        pairs = (
            list(itertools.combinations(groups[c], 2))
            if c == d
            else list(itertools.product(groups[c], groups[d]))
        )
        joined = sum(tuple(sorted(pair)) in original for pair in pairs)
        lost += 2 * joined * (1 - joined / len(pairs)) if pairs else 0
    assert result.measures["nsil"] == pytest.approx(lost / (n * (n - 1) / 4))
    # NGIL: width over domain for ages, height over tree for sex.
    width = (nodes["age"].max() - nodes["age"].min()) or 1
    ngil = sum(
        len(own)
        * ((nodes["age"][own].max() - nodes["age"][own].min()) / width + (nodes["sex"][own].n_unique() > 1))
        for own in groups
    ) / (2 * n)
    assert result.measures["ngil"] == pytest.approx(ngil)
    assert result.measures["avg"] == pytest.approx(n / (len(groups) * k))


def test_a_path_of_four():
    nodes = pl.DataFrame({"id": list("abcd"), "age": [20, 21, 40, 41]})
    edges = pl.DataFrame({"s": list("abc"), "t": list("bcd")})
    result = shoal.anonymize_network(nodes, edges, quasi=["age"], k=2, alpha=1.0)
    assert result.nodes.drop("cluster").sort("age").rows() == [(2, 1, "[20, 21]"), (2, 1, "[40, 41]")]
    assert result.edges["edges"].to_list() == [1]
    assert result.members is None
    # Inside nothing is uncertain; between, one of four pairs: 2 x 1 x 3/4, over 4 x 3 / 4.
    assert result.measures["nsil"] == pytest.approx(0.5)
    assert result.measures["ngil"] == pytest.approx(1 / 21)


def every_graph(masked):
    """All graphs that fit a masked network, as sets of edges over nodes numbered cluster after cluster."""
    first = np.cumsum(masked.size) - masked.size
    groups = [list(range(f, f + s)) for f, s in zip(first, masked.size, strict=True)]
    a, b, count = masked.between
    choices = [
        [frozenset(c) for c in itertools.combinations(list(itertools.combinations(group, 2)), int(e))]
        for group, e in zip(groups, masked.inside, strict=True)
    ]
    choices += [
        [frozenset(c) for c in itertools.combinations(list(itertools.product(groups[i], groups[j])), int(e))]
        for i, j, e in zip(a, b, count, strict=True)
    ]
    graphs = [frozenset().union(*parts) for parts in itertools.product(*choices)]
    return {frozenset(tuple(sorted(edge)) for edge in graph) for graph in graphs}, groups


def masked_of(sizes, inside, between):
    nodes = pl.DataFrame(
        {"cluster": range(len(sizes)), "nodes": sizes, "edges_inside": inside, "q": ["*"] * len(sizes)}
    )
    edges = pl.DataFrame(
        between, schema={"cluster_a": pl.Int64, "cluster_b": pl.Int64, "edges": pl.Int64}, orient="row"
    )
    return MaskedNetwork(nodes, None, edges)


SMALL = [
    masked_of([2, 3], [1, 2], [(0, 1, 3)]),
    masked_of([2, 3], [0, 3], [(0, 1, 5)]),
    masked_of([3, 2, 2], [1, 0, 1], [(0, 1, 2), (1, 2, 3)]),
    masked_of([4], [4], []),
    masked_of([1, 3], [0, 0], [(0, 1, 2)]),
]


@pytest.mark.parametrize("masked", SMALL)
def test_degree_ranges_hold_every_degree_of_every_graph_that_fits_and_no_other(masked):
    graphs, groups = every_graph(masked)
    ranges = degree_ranges(masked)
    for c, group in enumerate(groups):
        for x in group:
            possible = {sum(x in edge for edge in graph) for graph in graphs}
            assert possible == set(range(ranges.low[c], ranges.high[c] + 1))


@pytest.mark.parametrize("masked", SMALL)
def test_no_attack_rules_out_the_truth(masked):
    """Whichever fitting graph is the original, every member of the right super-node stays a candidate."""
    graphs, groups = every_graph(masked)
    k = int(masked.size.min())
    for graph in sorted(graphs, key=sorted)[::3]:
        ends = np.array(sorted(graph), np.int64).reshape(-1, 2)
        nodes = pl.DataFrame({"id": range(masked.people), "q": ["v"] * masked.people})
        network = read_network(nodes, pl.DataFrame({"a": ends[:, 0], "b": ends[:, 1]}))
        for found in attack_network(network, masked, None, k, np.random.default_rng(1)).exposures:
            assert found.after_least >= k
            assert found.at_risk == 0
        candidates = degree_candidates(network, masked)
        assert all(candidates[x] >= len(group) for group in groups for x in group)


@pytest.mark.parametrize("masked", SMALL[:3])
def test_sampling_gives_every_graph_that_fits_about_equally_often(masked):
    graphs, _ = every_graph(masked)
    random = np.random.default_rng(5)
    draws = 20 * len(graphs)
    seen = Counter(frozenset(plain_edges(sample_network(masked, random))) for _ in range(draws))
    assert set(seen) == graphs
    chi = sum((count - 20) ** 2 / 20 for count in seen.values())
    assert chi < len(graphs) + 5 * np.sqrt(2 * len(graphs))


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=8))
def test_slots(groups):
    room = np.array([r for r, _ in groups], np.int64)
    wanted = np.array([min(r, w) for r, w in groups], np.int64)
    group, slot = _slots(room, wanted, np.random.default_rng(1))
    assert np.bincount(group, minlength=len(room)).tolist() == wanted.tolist()
    assert (slot < room[group]).all()
    assert (slot >= 0).all()
    assert len({*zip(group.tolist(), slot.tolist(), strict=True)}) == len(slot)


def test_triangle_numbers_pairs():
    one, other = _triangle(np.arange(4950))
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [
        (a, b) for b in range(100) for a in range(b)
    ]


def test_structure_of_a_star_and_a_triangle():
    nodes = pl.DataFrame({"id": range(8), "q": [0] * 8})
    edges = pl.DataFrame({"a": [0, 0, 0, 4, 5, 4], "b": [1, 2, 3, 5, 6, 6]})
    found = structure_of(read_network(nodes, edges), np.random.default_rng(1))
    assert found.figures["components"] == 3
    assert found.figures["largest_component"] == 0.5
    assert found.figures["isolated"] == 1
    assert found.figures["clustering"] == pytest.approx(3 / 8)
    assert found.figures["transitivity"] == pytest.approx(3 / 6)  # 3 closed of 3 + 3 pairs of neighbours
    assert found.figures["mean_distance"] == pytest.approx((6 * 1 + 6 * 2 + 6 * 1) / 18)
    assert found.spread["betweenness"][0] == pytest.approx(6 / 42)  # on all paths between leaves, both ways
    assert found.spread["pagerank"].sum() == pytest.approx(8)
    assert set(differences(found, found).values()) == {0.0}


def test_attacks_before_count_lookalikes():
    """A path of five: the ends are alike, the two beside them too, the middle is alone."""
    nodes = pl.DataFrame({"id": range(5), "q": list("abcde")})
    network = read_network(nodes, pl.DataFrame({"a": [0, 1, 2, 3], "b": [1, 2, 3, 4]}))
    masked = masked_of([5], [4], [])
    found = {
        e.knowledge: e for e in attack_network(network, masked, None, 2, np.random.default_rng(1)).exposures
    }
    assert (found["degree"].before_least, found["degree"].before_unique) == (2, 0)
    assert found["neighbour-degrees"].before_unique == 1
    assert found["subgraph"].before_least == 2  # three stars of two leaves, two single edges
    assert {e.after_least for e in found.values()} == {5}


def diverse(kind, disease):
    counts = np.array(list(Counter(disease).values()))
    shares = counts / counts.sum()
    if kind == "p":
        return len(counts) >= 2
    return float(-(shares * np.log(shares)).sum()) >= np.log(1.8) - 1e-9


@pytest.mark.parametrize(
    ("kind", "asked"),
    [("p", {"p": 2}), ("p", {"l": 2}), ("entropy", {"l": {"entropy": 1.8}}), ("t", {"t": {"equal": 0.4}})],
)
def test_models_hold_in_every_cluster(kind, asked):
    nodes, edges = people(60, 3)
    result = shoal.anonymize_network(nodes, edges, **ROLES, k=3, **asked)
    whole = Counter(nodes["disease"].to_list())
    for _, own in result.members.group_by("cluster"):
        values = own["disease"].to_list()
        assert len(values) >= 3
        if kind == "t":
            shares = Counter(values)
            assert sum(abs(shares[v] / len(values) - c / 60) for v, c in whole.items()) / 2 <= 0.4 + 1e-9
        else:
            assert diverse(kind, values)


def test_p_out_of_reach_is_said_before_the_work():
    nodes, edges = people(20)
    with pytest.raises(InfeasibleError, match="5"):
        shoal.anonymize_network(nodes, edges, **ROLES, k=5, p=5)
    with pytest.raises(InfeasibleError):
        shoal.anonymize_network(nodes, edges, **ROLES, k=21)
    with pytest.raises(PolicyError, match="alpha"):
        shoal.anonymize_network(nodes, edges, shoal.Policy.from_keywords(**ROLES, k=2), alpha=1.5)


def test_limits_keep_nodes_apart_and_may_suppress_them():
    nodes, edges = people(30, 1)
    nodes = nodes.with_columns(sex=pl.Series(["f"] * 14 + ["m"] * 14 + ["x"] * 2))
    policy = {**ROLES, "k": 3, "limits": {"sex": 0}}
    with pytest.raises(InfeasibleError):
        shoal.anonymize_network(nodes, edges, **policy)
    result = shoal.anonymize_network(nodes, edges, **policy, suppression=0.1)
    assert result.suppressed == 2
    assert result.cluster_of[-2:].tolist() == [-1, -1]
    assert set(result.nodes["sex"].to_list()) == {"f", "m"}
    assert result.network.nodes == 28
    assert result.masked.links == result.network.edges
    assert any("suppressed" in note for note in result.notes)
    judged = shoal.audit_network(result.masked, **policy, suppression=0.1, nodes=nodes, edges=edges)
    # People fit several clusters, and attacks do not run, so nothing shows whether edges are in the right clusters.
    assert [verdict.model for verdict in judged.verdicts if not verdict.holds] == ["edges of clusters"]
    assert judged.holds is None
    assert not judged.attacks
    assert not shoal.audit_network(result.masked, **policy, nodes=nodes, edges=edges).holds


def test_another_networks_masking_does_not_pass_for_this_one():
    """Degrees that no member of any super-node can have leave no candidates."""
    nodes, edges = people(12, 2)
    policy = {**ROLES, "k": 3}
    empty = shoal.anonymize_network(nodes, None, **policy)
    judged = shoal.audit_network(empty.masked, **policy, nodes=nodes, edges=edges)
    failed = {verdict.model for verdict in judged.verdicts if not verdict.holds}
    assert failed == {"all edges", "candidates by structure"}


def test_loops_multi_edges_isolated_nodes_and_components_are_fine():
    nodes, _ = people(12)
    edges = pl.DataFrame(
        {"a": ["n0", "n0", "n1", "n2"], "b": ["n0", "n1", "n0", "n3"], "since": [1, 2, 3, 4]}
    )
    result = shoal.anonymize_network(nodes, edges, **ROLES, k=3)
    assert result.masked.links == 2
    notes = " ".join(result.notes)
    assert "1 self-loop was dropped" in notes
    assert "1 edge was dropped" in notes
    assert "since" in notes


def test_a_network_without_edges():
    nodes, edges = people(12)
    for none in (None, edges.clear()):
        result = shoal.anonymize_network(nodes, none, **ROLES, k=3)
        assert result.measures["nsil"] == 0
        assert result.masked.links == 0


def test_an_edge_table_with_a_column_that_selects_all():
    nodes = pl.DataFrame({"id": [0, 1, 2, 3], "age": [1, 1, 2, 2]})
    edges = pl.DataFrame({"a": [0, 1], "*": [1, 2], "b": [5, 5]})
    assert shoal.anonymize_network(nodes, edges, id="id", quasi=["age"], k=2).masked.links == 2


def test_an_edge_file_with_nothing_but_a_head(tmp_path):
    nodes, _ = people(12)
    nodes = nodes.rename({"disease": "node"})
    nodes.write_csv(tmp_path / "n.csv")
    (tmp_path / "e.csv").write_text("source,target\n")
    roles = {**ROLES, "sensitive": ["node"]}
    result = shoal.anonymize_network(tmp_path / "n.csv", tmp_path / "e.csv", **roles, k=3)
    result.write(tmp_path / "out")
    assert read_masked(tmp_path / "out").links == 0
    drawn, edges = result.sample(1)
    assert (drawn.height, edges.height) == (12, 0)
    assert drawn.columns[0] == "node_"


def test_bad_networks_say_what_is_wrong():
    nodes, edges = people(12)
    with pytest.raises(DataError, match="'ghost'"):
        shoal.anonymize_network(nodes, pl.DataFrame({"a": ["n1"], "b": ["ghost"]}), **ROLES, k=3)
    with pytest.raises(DataError, match="'n0'"):
        shoal.anonymize_network(pl.concat([nodes, nodes[:1]]), edges, **ROLES, k=3)
    with pytest.raises(DataError, match="1 edges lack one of their ends"):
        shoal.anonymize_network(nodes, pl.DataFrame({"a": ["n1"], "b": [None]}), **ROLES, k=3)
    with pytest.raises(DataError, match="two"):
        shoal.anonymize_network(nodes, edges.select("a"), **ROLES, k=3)
    with pytest.raises(DataError, match="'who'"):
        shoal.anonymize_network(nodes, edges, **ROLES, k=3, id="who")
    with pytest.raises(DataError, match=r"id=\.\."):
        read_network(nodes.rename({"id": "number"}), edges)
    with pytest.raises(DataError, match="'cluster'"):
        shoal.anonymize_network(
            nodes.rename({"age": "cluster"}), edges, quasi=["cluster", "sex"], sensitive=["disease"], k=3
        )
    with pytest.raises(DataError, match="make it an identifier"):
        shoal.anonymize_network(nodes, edges, quasi=["id", "age", "sex"], sensitive=["disease"], k=3, id="id")


def test_numbers_and_texts_name_the_same_nodes():
    nodes = pl.DataFrame({"id": [1, 2, 3], "q": [1, 1, 2]})
    assert read_network(nodes, pl.DataFrame({"a": ["1", "2"], "b": ["2", "3"]})).edges == 2


def test_seeds_repeat_and_numbers_of_super_nodes_are_random():
    nodes, edges = people(40, 2)
    one, same, other = (shoal.anonymize_network(nodes, edges, **ROLES, k=4, seed=s) for s in (1, 1, 2))
    assert one.nodes.equals(same.nodes)
    assert one.members.equals(same.members)
    assert not one.nodes.equals(other.nodes)
    key = ["nodes", "edges_inside", "age", "sex"]
    assert one.nodes.select(key).sort(key).equals(other.nodes.select(key).sort(key))


def test_audit_reads_the_files_alone(tmp_path):
    nodes, edges = people(40, 2)
    policy = shoal.Policy.from_keywords(**ROLES, k=4, p=2)
    result = shoal.anonymize_network(nodes, edges, policy)
    for kind in ("csv", "parquet"):
        folder = tmp_path / kind
        result.write(folder, kind=kind)
        assert shoal.audit_network(folder, policy).holds
        whole = shoal.audit_network(folder, policy, nodes=nodes, edges=edges)
        assert whole.holds
        assert whole.measures["ngil"] == pytest.approx(result.measures["ngil"])
        assert whole.measures["nsil"] == pytest.approx(result.measures["nsil"])
        assert all(found.at_risk == 0 for found in whole.attacks)
    assert not shoal.audit_network(tmp_path / "csv", policy.override(["privacy.k=20"])).holds
    with pytest.raises(OutputError, match="exists already"):
        result.write(tmp_path / "csv")
    wrong = pl.read_csv(tmp_path / "csv" / "nodes.csv").with_columns(edges_inside=pl.lit(999))
    wrong.write_csv(tmp_path / "csv" / "nodes.csv")
    spoiled = shoal.audit_network(tmp_path / "csv", policy)
    # The graph next to the tables still has the true numbers.
    failed = [verdict.model for verdict in spoiled.verdicts if not verdict.holds]
    assert failed == ["possible structure", "masked.graphml"]


def test_super_nodes_that_show_the_same_are_not_taken_for_one():
    """Two super-nodes of two people that read alike: still only two lookalikes each, for each has its own edges."""
    nodes = pl.DataFrame({"cluster": [0, 1], "nodes": [2, 2], "edges_inside": [1, 0], "age": ["*", "*"]})
    edges = pl.DataFrame(schema={"cluster_a": pl.Int64, "cluster_b": pl.Int64, "edges": pl.Int64})
    masked = MaskedNetwork(nodes, None, edges)
    assert not shoal.audit_network(masked, quasi=["age"], k=4).holds
    assert shoal.audit_network(masked, quasi=["age"], k=2).holds


def test_graphml_there_and_back(tmp_path):
    nodes = pl.DataFrame({"name": ["a&b", 'c"d', "e"], "age": [1, None, 3], "word": ["<x>", "y", None]})
    edges = pl.DataFrame({"s": ["a&b", "e"], "t": ['c"d', "a&b"], "weight": [1.5, 2.5]})
    path = tmp_path / "g.graphml"
    path.write_text(graphml(nodes, edges), encoding="utf-8")
    network = read_graphml(path)
    assert network.attributes.equals(nodes.select("age", "word"))
    assert plain_edges(network) == {(0, 1), (0, 2)}
    assert any("weight" in note for note in network.notes)
    for text, words in (("<graphml><graph>", "XML"), ("<graphml><graph/></graphml>", "no nodes")):
        path.write_text(text)
        with pytest.raises(DataError, match=words):
            read_graphml(path)
    path.write_text('<graphml><graph><node id="a"/><edge source="a" target="z"/></graph></graphml>')
    with pytest.raises(DataError, match="'z'"):
        read_graphml(path)


def test_graphs_of_libraries():
    """Three people; a direction, a self-loop and a missing value are what real graphs come with."""
    import igraph
    import networkx

    graph = networkx.DiGraph([("x", "y"), ("y", "z"), ("z", "z")])
    for name, values in {"x": {"age": 1, "sex": "f"}, "y": {"age": 2}, "z": {"age": 1, "sex": "m"}}.items():
        graph.nodes[name].update(values)
    result = shoal.anonymize_network(graph, quasi=["age", "sex"], k=3)
    assert result.masked.links == 2
    assert any("directions" in note for note in result.notes)
    assert any("self-loop" in note for note in result.notes)
    many = networkx.MultiGraph([("x", "y"), ("y", "x"), ("y", "z")])
    networkx.set_node_attributes(many, 1, "age")
    assert shoal.anonymize_network(many, quasi=["age"], k=3).masked.links == 2
    other = igraph.Graph(n=3, edges=[(0, 1)], vertex_attrs={"name": ["x", "y", "z"], "age": [1, 2, 1]})
    result = shoal.anonymize_network(other, quasi=["age"], k=3)
    assert result.masked.links == 1
    assert result.nodes["age"].to_list() == ["*"]  # all there is
    with pytest.raises(DataError, match="no nodes"):
        shoal.anonymize_network(igraph.Graph(), quasi=["age"], k=3)
    with pytest.raises(DataError, match="no attributes"):
        shoal.anonymize_network(networkx.path_graph(3), quasi=["age"], k=3)


def test_the_names_that_networkx_gave_an_igraph_graph_are_not_published():
    import igraph
    import networkx

    graph = networkx.path_graph(["ann", "bob", "cyd", "dan"])
    networkx.set_node_attributes(graph, {"ann": 1, "bob": 1, "cyd": 2, "dan": 2}, "age")
    result = shoal.anonymize_network(igraph.Graph.from_networkx(graph), quasi=["age"], k=2)
    assert result.masked.links == 3
    shown = [
        *result.masked.nodes.columns,
        *(result.masked.members.columns if result.masked.members is not None else []),
    ]
    assert not any("name" in column for column in shown)


@pytest.mark.parametrize("head", ["", "# from a library\n", "from to\n"])
def test_edge_lists_separated_by_blanks(tmp_path, head):
    """A comment, a head, or neither; the first edge is an edge, and further fields are weights."""
    nodes = pl.DataFrame({"id": [0, 1, 2, 3], "age": [1, 1, 2, 2]})
    file = tmp_path / "ring.txt"
    file.write_text(head + "0 1\n1 2 0.5\n\n2  3\n3 0\n")
    assert shoal.anonymize_network(nodes, file, id="id", quasi=["age"], k=2).masked.links == 4
    file.write_text("0 1\n2\n")
    with pytest.raises(DataError, match="1 lines of the edge list name fewer than two nodes"):
        shoal.anonymize_network(nodes, file, id="id", quasi=["age"], k=2)


def test_the_card_tells_of_guarantees_and_of_nobody(tmp_path):
    nodes, edges = people(30, 4)
    result = shoal.anonymize_network(nodes, edges, **ROLES, k=3, seed=1)
    card = result.card
    assert {entry["model"] for entry in card["guarantees"]} >= {"3-anonymity", "candidates by structure"}
    assert all(entry["meaning"] for entry in card["guarantees"])
    assert (card["rows_published"], card["edges_published"]) == (30, result.edges_published)
    assert not card["for_publication"]
    assert not any(name in json.dumps(card) for name in nodes[result.network.id_column].to_list())


def test_picture_and_report(tmp_path):
    from xml.etree import ElementTree

    nodes, edges = people(30, 4)
    result = shoal.anonymize_network(nodes, edges, **ROLES, k=3)
    root = ElementTree.fromstring(result.picture())
    circles = root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 30 + result.masked.clusters
    many, links = people(250, 4)
    assert shoal.anonymize_network(many, links, **ROLES, k=3).picture() is None


def test_commands(tmp_path):
    nodes, edges = people(40, 2)
    nodes.write_csv(tmp_path / "nodes.csv")
    edges.write_csv(tmp_path / "edges.csv")
    (tmp_path / "policy.toml").write_text(shoal.Policy.from_keywords(**ROLES, k=4).to_toml())
    base = ["--nodes", str(tmp_path / "nodes.csv"), "--edges", str(tmp_path / "edges.csv")]
    policy = ["-p", str(tmp_path / "policy.toml")]
    out = tmp_path / "out"

    def run(*words):
        return CliRunner().invoke(main, ["network", *map(str, words)])

    papers = ["--record", tmp_path / "record.json", "--report", tmp_path / "report.html"]
    papers += ["--card", tmp_path / "card.md", "--card", tmp_path / "card.json"]
    made = run("anonymize", *base, *policy, "-o", out, "--json", *papers)
    assert made.exit_code == 0, made.output
    told = json.loads(made.output)
    assert told["holds"]
    assert {file.name for file in out.iterdir()} == {
        "nodes.csv",
        "members.csv",
        "edges.csv",
        "masked.graphml",
    }
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page
    # One page and one stylesheet for all reports.
    assert files("shoal.documents.report").joinpath("templates", "report.css").read_text().strip() in page
    for title in ("Requirements, checked", "What was lost", "Which attacks were tried", "Picture"):
        assert f">{title}</h2>" in page
    assert "<strong>Private edition.</strong>" in page
    assert json.loads((tmp_path / "record.json").read_text())["policy"]
    assert json.loads((tmp_path / "card.json").read_text())["edges_published"] == told["edges"]
    assert f"{told['edges']} edges are published" in (tmp_path / "card.md").read_text()
    assert not any(name in (out / "members.csv").read_text() for name in ("n1,", "n2,"))
    judged = run("audit", out, *policy, *base)
    assert judged.exit_code == 0, judged.output
    assert "NSIL" in judged.output
    assert run("audit", out, *policy, "--set", "privacy.k=30").exit_code == 5
    drawn = run("sample", out, "-o", tmp_path / "drawn", "--seed", 1, "--json")
    assert drawn.exit_code == 0, drawn.output
    assert json.loads(drawn.output)["edges"] == told["edges"]
    assert pl.read_csv(tmp_path / "drawn" / "edges.csv").height == told["edges"]
    again = read_graphml(tmp_path / "drawn" / "graph.graphml")
    assert (again.nodes, again.edges) == (40, told["edges"])
    again = run("anonymize", "--graph", tmp_path / "drawn" / "graph.graphml", *policy, "-o", tmp_path / "x")
    assert again.exit_code == 2  # its columns are not those of the policy
    assert not (tmp_path / "x").exists()
    assert run("anonymize", *base, *policy, "-o", out).exit_code == 6
    before = (tmp_path / "nodes.csv").read_text()
    assert run("anonymize", *base, *policy, "-o", tmp_path, "--force").exit_code == 6
    assert (tmp_path / "nodes.csv").read_text() == before
    assert run("anonymize", *base, *policy, "-o", out, "--force").exit_code == 0
    assert run("anonymize", *policy, "-o", tmp_path / "y").exit_code == 3
    assert read_masked(out).people == 40
    assert nsil(read_masked(out)) == pytest.approx(told["measures"]["nsil"])
