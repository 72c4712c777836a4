"""Masked networks that are not true of their original, and releases that must not depend on suppressed nodes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, OutputError
from shoal.network.masked import MaskedNetwork, read_masked

AGES = [21, 22, 24, 31, 35, 38]
PAY = [1700, 1800, 1800, 2000, 2100, 2200]
RING = ["p0,p1", "p1,p2", "p2,p3", "p3,p4", "p4,p5", "p0,p5"]
ROLES = {"quasi": ["block", "age"], "sensitive": ["pay"], "plain": ["note"], "identifier": ["id"]}
POLICY = {**ROLES, "k": 3, "limits": {"block": 0}, "suppression": 0.4}


def write_network(folder, last=None, links=()):
    """Six people in block n, and one in block r, who is always suppressed."""
    folder.mkdir(exist_ok=True)
    rows = [f"p{i},n,{age},{pay},{i % 2}" for i, (age, pay) in enumerate(zip(AGES, PAY, strict=True))]
    rows += [] if last is None else [f"p9,r,{last}"]
    (folder / "n.csv").write_text("\n".join(["id,block,age,pay,note", *rows]) + "\n")
    (folder / "e.csv").write_text("\n".join(["a,b", *RING, *links]) + "\n")
    return folder / "n.csv", folder / "e.csv"


def write_release(folder, source, kind="csv", **policy):
    result = shoal.anonymize_network(*source, **{**POLICY, **policy}, seed=1)
    result.write(folder, kind=kind, force=True)
    return result


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_suppressed_node_changes_no_byte(tmp_path, kind):
    def release(last):
        out = tmp_path / "out"
        write_release(out, write_network(tmp_path / "in", last), kind)
        return {path.name: path.read_bytes() for path in out.iterdir()}

    base = release("99,1900,1")
    for last in ("99,1200.5,1", "99,unknown,1", "99,,", "99,1900,abc", "99,1900,1.5", "99,99999,longtext"):
        assert release(last) == base, last


@pytest.mark.parametrize("library", ["networkx", "igraph"])
def test_a_suppressed_node_changes_no_type_of_a_library_graph(library):
    import igraph
    import networkx

    def release(pay):
        rows = [{"block": "r", "age": 99, "pay": pay}]
        rows += [{"block": "n", "age": age, "pay": own} for age, own in zip(AGES, PAY, strict=True)]
        graph = networkx.cycle_graph(7)
        networkx.set_node_attributes(graph, dict(enumerate(rows)))
        graph = igraph.Graph.from_networkx(graph) if library == "igraph" else graph
        policy = {**POLICY, "plain": [], "identifier": []}
        return shoal.anonymize_network(graph, **policy, seed=1).masked

    base, other = release(1900), release(1200.5)
    assert base.members.schema == other.members.schema
    assert base.graphml() == other.graphml()


def failing(report):
    return {verdict.model: verdict.holds for verdict in report.verdicts if not verdict.holds}


def people(n=12):
    """Two groups that no cluster mixes, each with values and edges of its own."""
    nodes = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "block": ["a"] * (n // 2) + ["b"] * (n // 2),
            "pay": [100 + i for i in range(n)],
        }
    )
    ends = [(i, (i + 1) % (n // 2)) for i in range(n // 2)] + [(0, n - 1)]
    return nodes, pl.DataFrame({"a": [f"p{a}" for a, _ in ends], "b": [f"p{b}" for _, b in ends]})


BLOCKS = {"quasi": ["block"], "sensitive": ["pay"], "identifier": ["id"], "k": 3, "limits": {"block": 0}}


def test_members_in_the_wrong_cluster_are_not_true():
    nodes, edges = people()
    made = shoal.anonymize_network(nodes, edges, **BLOCKS).masked
    assert shoal.audit_network(made, **BLOCKS, nodes=nodes, edges=edges).holds
    members = made.members
    block = members.join(made.nodes, on="cluster", how="left", maintain_order="left")["block"]
    one, other = int((block == "a").arg_max()), int((block == "b").arg_max())
    places = np.arange(members.height)
    places[[one, other]] = other, one
    swapped = members.with_columns(pay=members["pay"].gather(places))
    report = shoal.audit_network(
        MaskedNetwork(made.nodes, swapped, made.edges), **BLOCKS, nodes=nodes, edges=edges
    )
    assert failing(report) == {"truthful": False}


def test_plain_values_of_others_are_not_true():
    nodes, edges = people()
    nodes = nodes.with_columns(note=pl.Series(["x"] * 6 + ["y"] * 6))
    policy = {**BLOCKS, "plain": ["note"]}
    made = shoal.anonymize_network(nodes, edges, **policy).masked
    assert shoal.audit_network(made, **policy, nodes=nodes, edges=edges).holds
    changed = made.members.with_columns(note=pl.col("note").replace({"x": "y", "y": "x"}))
    report = shoal.audit_network(
        MaskedNetwork(made.nodes, changed, made.edges), **policy, nodes=nodes, edges=edges
    )
    assert failing(report) == {"truthful": False}


def test_what_is_not_judged_is_a_note_as_for_tables():
    """Another tool gave the cells names of its own, which may cover anybody. No input could decide it, so truthfulness,
    which the policy does not require, is not a verdict that could not be checked."""
    nodes, edges = people()
    made = shoal.anonymize_network(nodes, edges, **BLOCKS).masked
    foreign = made.nodes.with_columns(block=pl.col("block").replace({"a": "north", "b": "south"}))
    asked = {name: own for name, own in BLOCKS.items() if name != "limits"}
    network = shoal.audit_network(
        MaskedNetwork(foreign, made.members, made.edges), **asked, nodes=nodes, edges=edges
    )
    rows = made.members.join(foreign, on="cluster").select("block", "pay")
    table = shoal.audit(rows, **asked, original=nodes)
    for found in (network, table):
        assert "truthful" not in {verdict.model for verdict in found.verdicts}
        assert any("not judged: whether the release is truthful" in note for note in found.notes)
    assert table.holds is True
    assert None not in {verdict.holds for verdict in network.verdicts}


def test_edges_between_the_wrong_clusters():
    """Each node fits one cluster only, so every count of edges is known."""
    nodes, edges = people(6)
    made = shoal.anonymize_network(nodes, edges, **BLOCKS).masked
    assert made.clusters == 2
    assert shoal.audit_network(made, **BLOCKS, nodes=nodes, edges=edges).holds
    moved = MaskedNetwork(
        made.nodes.with_columns(edges_inside=pl.Series(made.nodes["edges_inside"].to_list()[::-1])),
        made.members,
        made.edges,
    )
    report = shoal.audit_network(moved, **BLOCKS, nodes=nodes, edges=edges)
    assert failing(report)["edges of clusters"] is False


@pytest.mark.parametrize("seed", range(3))
def test_sensitive_values_place_people_whose_clusters_look_alike(seed):
    """All cells are `*`. Each value of pay is there once, so two exchanged members have the edges of others."""
    random = np.random.default_rng(seed)
    nodes = pl.DataFrame({"id": range(30), "q": ["a", "b"] * 15, "pay": random.permutation(30)})
    ends = random.integers(0, 30, (60, 2))
    edges = pl.DataFrame({"a": ends[:, 0], "b": ends[:, 1]})
    policy = {"quasi": ["q"], "sensitive": ["pay"], "identifier": ["id"], "k": 5}
    made = shoal.anonymize_network(nodes, edges, **policy, alpha=0.0, seed=seed).masked
    given = {"nodes": nodes, "edges": edges}
    honest = shoal.audit_network(made, **policy, **given)
    assert honest.holds, failing(honest)
    assert "edges of clusters" in {verdict.model for verdict in honest.verdicts}
    places = np.arange(30)
    places[[0, 29]] = 29, 0
    swapped = made.members.with_columns(pay=made.members["pay"].gather(places))
    report = shoal.audit_network(MaskedNetwork(made.nodes, swapped, made.edges), **policy, **given)
    assert report.holds is False


def test_invented_edges_with_a_suppressed_node(tmp_path):
    """The suppressed node fits no cluster, so the number of edges without it is known."""
    source = write_network(tmp_path / "in", "99,1900,1", ["p9,p0"])
    made = write_release(tmp_path / "out", source).masked
    given = {"nodes": source[0], "edges": source[1]}
    honest = shoal.audit_network(made, **POLICY, **given)
    assert honest.holds, honest.verdicts
    for more in (1, 2, -1):
        edges = made.edges.with_columns(pl.col("edges") + more)
        report = shoal.audit_network(MaskedNetwork(made.nodes, made.members, edges), **POLICY, **given)
        assert failing(report)["all edges"] is False, more


def test_edges_that_nobody_can_count_are_not_checked():
    """One of seven equal people is missing, and nobody knows which: five or six edges are left, and eight
    cannot be."""
    nodes = pl.DataFrame({"id": [f"p{i}" for i in range(7)], "q": ["v"] * 7})
    ends = [(i, (i + 1) % 7) for i in range(7)] + [(0, 3)]
    edges = pl.DataFrame({"a": [f"p{a}" for a, _ in ends], "b": [f"p{b}" for _, b in ends]})
    policy = {"quasi": ["q"], "identifier": ["id"], "k": 3, "suppression": 0.4}

    def audit(inside, people=6):
        shown = pl.DataFrame({"cluster": [0], "nodes": [people], "edges_inside": [inside], "q": ["v"]})
        none = pl.DataFrame(schema={"cluster_a": pl.Int64, "cluster_b": pl.Int64, "edges": pl.Int64})
        return shoal.audit_network(MaskedNetwork(shown, None, none), **policy, nodes=nodes, edges=edges)

    assert audit(8, 7).holds
    for inside in (8 - 2, 8 - 3):
        report = audit(inside)
        assert report.holds is None
        assert failing(report) == {"all edges": None, "edges of clusters": None}
    for inside in (0, 4, 8, 9):
        assert failing(audit(inside))["all edges"] is False


def test_moved_edges_with_a_suppressed_node_are_not_accepted(tmp_path):
    """Nobody has a value of their own, so people fit both clusters."""
    source = write_network(tmp_path / "in", "99,1900,1")
    text = source[0].read_text()
    for pay in PAY:
        text = text.replace(f",{pay},", ",1500,")
    source[0].write_text(text)
    made = write_release(tmp_path / "out", source).masked
    nodes = made.nodes.with_columns(edges_inside=pl.Series([3, 1]), age=pl.lit("*"))
    report = shoal.audit_network(
        MaskedNetwork(nodes, made.members, made.edges), **POLICY, nodes=source[0], edges=source[1]
    )
    assert failing(report) == {"edges of clusters": None}


KINDS = ["csv", "tsv", "parquet", "arrow"]


def odd_values():
    """Values that formats write in different ways."""
    from datetime import date, datetime

    n = 6
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "age": AGES,
            "word": ["a; b x 2", "<&>", 'quo"te', "ümlaut", None, "line\nbreak"],
            "fraction": [1.0, 2.5, 1e16, 1e-7, None, -3.0],
            "yes": [True, False, None, True, True, False],
            "day": [date(2020, 1, i + 1) for i in range(n)],
            "moment": [datetime(2020, 1, 1, i, 0, 0, 5000 * (i % 2)) for i in range(n)],
            "code": ["007", "1.50", "08", "1e3", "-0", "+1"],
        }
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_next_to_the_tables_is_read(tmp_path, kind):
    nodes = odd_values()
    edges = pl.DataFrame({"a": ["p0", "p1"], "b": ["p1", "p5"]})
    roles = {"quasi": ["age"], "identifier": ["id"], "plain": nodes.columns[2:], "k": 3}
    shoal.anonymize_network(nodes, edges, **roles, alpha=1.0).write(tmp_path / "out", kind=kind)
    graph = tmp_path / "out" / "masked.graphml"
    honest = shoal.audit_network(tmp_path / "out", **roles, nodes=nodes, edges=edges)
    assert honest.holds, failing(honest)
    text = graph.read_text(encoding="utf-8")
    changes = [
        ("ümlaut x 1", "umlaut x 1"),
        ('target="1"', 'target="0"'),
        ("</graph>", "<desc>x</desc></graph>"),
    ]
    changes += [("true x 1", "true x 3"), ("2.5 x 1", "2.75 x 1"), ("<graph ", "<graph> ")]
    for before, after in changes:
        assert before in text
        graph.write_text(text.replace(before, after, 1), encoding="utf-8")
        assert failing(shoal.audit_network(tmp_path / "out", **roles)) == {"masked.graphml": False}, after
    graph.unlink()
    assert shoal.audit_network(tmp_path / "out", **roles).holds


def test_a_graph_that_does_not_come_back_is_not_published(tmp_path, monkeypatch):
    nodes, edges = people()
    result = shoal.anonymize_network(nodes, edges, **BLOCKS)
    whole = MaskedNetwork.graphml
    monkeypatch.setattr(MaskedNetwork, "graphml", lambda self: whole(self).replace("100", "\ud7ff\ufffe100"))
    with pytest.raises(OutputError, match=r"masked\.graphml"):
        result.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_hints_name_options_of_the_command(tmp_path):
    source = write_network(tmp_path / "in", "99,1900,1")
    write_release(tmp_path / "out", source)
    (tmp_path / "policy.toml").write_text(shoal.Policy.from_keywords(**POLICY).to_toml())

    def audit(*more):
        words = ["network", "audit", str(tmp_path / "out"), "-p", str(tmp_path / "policy.toml"), "--json"]
        return CliRunner().invoke(main, [*words, *map(str, more)])

    found = audit()
    assert found.exit_code == 9
    assert "--original" not in found.output
    assert "--record" not in found.output
    assert "--nodes FILE and --edges FILE" in found.output
    assert audit("--nodes", source[0], "--edges", source[1]).exit_code == 0


def test_an_error_shows_no_sensitive_value(tmp_path):
    nodes, edges = people()
    made = shoal.anonymize_network(nodes, edges, **BLOCKS).masked
    changed = made.members.with_columns(pay=pl.col("pay").replace({100: 987654}))
    masked = MaskedNetwork(made.nodes, changed, made.edges)
    with pytest.raises(DataError, match="'pay'") as caught:
        shoal.audit_network(masked, **BLOCKS, nodes=nodes, edges=edges)
    assert "987654" not in str(caught.value)


def test_reading_a_release_does_not_need_its_graph(tmp_path):
    source = write_network(tmp_path / "in", "99,1900,1")
    write_release(tmp_path / "out", source)
    (tmp_path / "out" / "masked.graphml").write_text("not a graph")
    assert read_masked(tmp_path / "out").people == 6


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_graph_with_the_bytes_of_the_tables_is_not_parsed(tmp_path, monkeypatch, kind):
    """Comparing parsed graphs took most of the time of an audit of 100,000 edges."""
    monkeypatch.setattr("shoal.network.masked.content_of", None)
    source = write_network(tmp_path / "in")
    write_release(tmp_path / "out", source, kind)
    found = shoal.audit_network(tmp_path / "out", nodes=source[0], edges=source[1], **POLICY)
    assert [own.holds for own in found.verdicts if own.model == "masked.graphml"] == [True]
