"""From a network to a verified masked one: read, encode, cluster, mask, read back, verify, measure, attack, write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.errors import ARGUMENTS, InfeasibleError, OutputError, PolicyError, Problem, ViolationError
from shoal.judging.measures import MEASURES
from shoal.judging.measures.cell_losses import Il
from shoal.judging.models.feasibility import reasons_against, unserved
from shoal.methods.blocks import satisfying
from shoal.network.graph import Network
from shoal.network.judge_network import NetworkAudit, encode_nodes, judge_network
from shoal.network.masked import GRAPH, TABLE_FORMATS, MaskedNetwork, NetworkOutbox, make_folder, mask
from shoal.network.network_card import network_card
from shoal.network.node_clusters import cluster_network
from shoal.network.random_graphs import sample_network, sample_tables
from shoal.network.read_network import read_network
from shoal.policy import Policy
from shoal.policy.problems import dotted
from shoal.policy.sources import inputs_of
from shoal.release.record import NOT_FOR_PUBLICATION, card_text, make_record
from shoal.release.results import Clock
from shoal.release.verdict import shortfalls
from shoal.support.arrays import BoolVector, IntVector
from shoal.support.run import Progress, Run, checked_seed, silent


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NetworkResult(NetworkAudit):
    """A verified masked network and everything that is known about it."""

    masked: MaskedNetwork
    nodes: Any
    """The table of super-nodes, in the kind of frame that was given."""
    members: Any
    """The sensitive and plain values of the members of each super-node; None if there are none."""
    edges: Any
    """The table of super-edges."""
    alpha: float
    cluster_of: IntVector
    """Node -> row in the table of super-nodes; -1 for a suppressed node. Private."""
    network: Network
    """The original, without suppressed nodes: private."""
    record: dict[str, Any]
    """The private run record."""
    card: dict[str, Any]
    """The public card: which guarantees, which losses; nothing about individuals."""

    def summary(self) -> dict[str, Any]:
        """Return plain data for ``--json``."""
        return {**super().summary(), "alpha": self.alpha, "beta": 1.0 - self.alpha}

    def sample(self, seed: int | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Draw an ordinary graph that is consistent with the masked one: its node table and its edge table."""
        return sample_tables(sample_network(self.masked, Run.start(seed).random))

    def picture(self) -> str | None:
        """Return an SVG file of the network before and after; None if it is too large. Private: it shows edges."""
        from shoal.documents.pages.svg import standalone

        drawn = self.drawing()
        return None if drawn is None else standalone(drawn)

    def drawing(self) -> str | None:
        """Return the same picture for a page that has the tokens of `shoal.documents.pages`."""
        from shoal.network.network_picture import picture

        kept = self.cluster_of[self.cluster_of >= 0]
        return picture(self.network, self.masked, kept)

    def write(self, folder: str | Path, *, kind: str = "csv", force: bool = False) -> list[Path]:
        """Write the tables and a GraphML file into a folder, all or none."""
        return write_files(self, Path(folder), kind=kind, force=force)


def anonymize_network(
    nodes: Any,
    edges: Any = None,
    policy: Policy | str | Path | None = None,
    *,
    id: str | None = None,
    ends: tuple[str, str] | None = None,
    alpha: float = 0.5,
    samples: int = 1,
    attack: bool = True,
    seed: int | None = None,
    progress: Progress = silent,
    **keywords: Any,
) -> NetworkResult:
    """Turn a network into a verified masked one.

    `nodes` and `edges` are tables, paths of tables, or `nodes` alone is a GraphML file or a networkx or igraph graph
    (see `read_network`). `policy` is about the columns of the node table, as in `shoal.anonymize`; its method is
    ignored. `alpha` is the weight of attributes, ``1 - alpha`` that of structure. Structure is measured on `samples`
    drawn graphs, 0 for none.
    Raises InfeasibleError if no masked network can satisfy the policy, ViolationError if the one made does not.
    """
    clock = Clock()
    chosen = Policy.given(policy, keywords)
    if not 0.0 <= alpha <= 1.0:
        message = f"must be from 0 (structure alone) to 1 (attributes alone), not {alpha}"
        raise PolicyError([Problem("alpha", message)], where=ARGUMENTS)
    if chosen.utility.measure not in (Il.name, MEASURES.default):
        message = f"'{chosen.utility.measure}' cannot steer the clusters of a network"
        hint = f"leave it at {MEASURES.default}; a network weighs {Il.name} against structure, and reports all measures"
        raise PolicyError([Problem("utility.measure", message, hint)])
    for name in chosen.pseudonyms:
        message = (
            "a masked network publishes no rows of single nodes, so there is nothing to put a pseudonym on"
        )
        raise PolicyError([Problem(dotted("columns", name, "publish"), message, "leave it out")])
    for name in chosen.perturbed:
        message = "columns of networks are published as they are"
        raise PolicyError([Problem(dotted("columns", name, "perturb"), message, "leave it out")])
    for path, asked in (
        *((dotted("columns", name, "show"), column.show) for name, column in chosen.columns.items()),
        ("utility.levels", chosen.utility.levels),
        ("utility.workload", chosen.utility.workload),
        ("utility.predict", chosen.utility.predict),
        ("utility.regression", chosen.utility.regression and chosen.utility.regression.outcome),
    ):
        if asked is not None:
            raise PolicyError([Problem(path, f"'{asked}' is for tables, not for networks", "leave it out")])
    seed = checked_seed(seed)
    run = Run.start(seed, progress)
    progress("read", 0.0)
    with clock("read"):
        whole = read_network(
            nodes,
            edges,
            id=id,
            identifiers=chosen.names("identifier"),
            ends=ends,
            options=chosen.read_options(),
        )
    progress("encode", 0.1)
    with clock("encode"):
        full = encode_nodes(whole, chosen)
        requirements = chosen.requirements(full.sensitive)
    reasons = reasons_against(full, requirements)
    if reasons:
        raise InfeasibleError("\n".join(reasons))
    dropped = ~satisfying(full, requirements)[full.block_of]
    names = unserved(full, requirements)[1]
    network, table = (whole.without(dropped), _part(full, ~dropped)) if names else (whole, full)
    with clock("cluster"):
        found = cluster_network(network, table, requirements, float(alpha), run)
    with clock("mask"):
        masked, cluster_of, own = mask(network, table, found.cluster_of, found.clusters, run.random)
        kept = np.flatnonzero(~dropped).astype(np.int32) if names else np.arange(whole.nodes, dtype=np.int32)
        masked = masked.typed(whole.as_shown, kept)
    # An adversary knows the whole network, so the release is judged against it, even if nodes were suppressed.
    report = judge_network(
        masked, chosen, whole, full, run, clock, samples=samples, attack=attack, owner=kept[own]
    )
    if not report.holds:
        head = "the masked network does not satisfy its policy, so it was not written"
        raise ViolationError("\n".join([head, *shortfalls(report.failing)]))
    place = np.full(whole.nodes, -1, np.int32)
    place[~dropped] = cluster_of
    notes = [*report.notes, *([] if seed is None else [NOT_FOR_PUBLICATION])]
    if names:
        notes.append(
            f"nodes that no cluster can hold under the generalization limits are suppressed: {'; '.join(names)}"
        )
    if found.leftovers:
        count = "1 node was" if found.leftovers == 1 else f"{found.leftovers:,} nodes were"
        notes.append(f"{count} left over and added to the nearest cluster")
    if found.merged:
        count = "1 cluster was" if found.merged == 1 else f"{found.merged:,} clusters were"
        notes.append(f"{count} merged with others to satisfy the models")
    parts = {own.name: getattr(report, own.name) for own in fields(report)} | {"notes": tuple(notes)}
    result = NetworkResult(
        **parts,
        masked=masked,
        nodes=_given_back(masked.nodes, whole.kind),
        members=None if masked.members is None else _given_back(masked.members, whole.kind),
        edges=_given_back(masked.edges, whole.kind),
        alpha=float(alpha),
        cluster_of=place,
        network=network,
        record={},
        card={},
    )
    digest = " ".join(own for own in whole.digests if own) or None
    record = make_record(result.summary(), digest=digest, policy=chosen.to_toml(), seed=seed)
    card = network_card(result, masked, chosen, float(alpha), seed)
    progress("done", 1.0)
    return replace(result, record=record, card=card)


def anonymize_network_files(
    nodes: Any,
    edges: Any,
    policy: Policy,
    folder: Path,
    *,
    kind: str = "csv",
    record: Path | None = None,
    report: Path | None = None,
    cards: Sequence[Path] = (),
    spare: Sequence[Path] = (),
    force: bool = False,
    **options: Any,
) -> NetworkResult:
    """Turn files into a verified masked network in a folder, with its card, record and report. Nothing is written
    unless it satisfies the policy, and never over the data or over files to `spare`, such as the policy's."""
    release = [folder / f"{name}.{kind}" for name in ("nodes", "members", "edges")]
    papers = [(record, "the record"), (report, "the report"), *((path, "a card") for path in cards)]
    io.check_apart(
        inputs_of(policy)
        | {source: "the data" for source in (nodes, edges) if isinstance(source, str | Path)}
        | dict.fromkeys(spare, "the policy"),
        [*((path, "the release") for path in (*release, folder / GRAPH)), *papers],
    )
    for path in (record, report, *cards):
        if path is not None:
            io.check_writable(path, force=force, table=False)
    _check_folder(folder, kind, force=force)
    result = anonymize_network(nodes, edges, policy, **options)
    if result.masked.members is not None:
        io.check_holds(release[1], result.masked.members, sensitive=policy.names("sensitive"))
    write_files(result, folder, kind=kind, record=record, report=report, cards=cards, force=force)
    return result


def write_files(
    result: NetworkResult,
    folder: Path,
    *,
    kind: str = "csv",
    record: Path | None = None,
    report: Path | None = None,
    cards: Sequence[Path] = (),
    force: bool = False,
) -> list[Path]:
    """Write a masked network with its card, record and report, all or none."""
    _check_folder(folder, kind, force=force)
    created = make_folder(folder)
    try:
        box = NetworkOutbox(force=force)
        with box:
            written = result.masked.put_into(box, folder, kind)
            if record is not None:
                written.append(box.write_text(record, json.dumps(result.record, indent=2) + "\n"))
            if report is not None:
                from shoal.network.network_report import report_html

                written.append(box.write_text(report, report_html(result)))
            written += [box.write_text(path, card_text(result.card, path), private=False) for path in cards]
    except BaseException:
        if created and not any(folder.iterdir()):
            folder.rmdir()
        raise
    return written


def _check_folder(folder: Path, kind: str, *, force: bool) -> None:
    if kind not in TABLE_FORMATS:
        raise OutputError(f"unknown table format '{kind}'; known are {', '.join(TABLE_FORMATS)}")
    if not folder.exists():
        if not folder.absolute().parent.is_dir():
            raise OutputError(f"{folder}: the folder {folder.parent} does not exist; create it first")
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder")
    for name in ("nodes", "members", "edges"):
        io.check_writable(folder / f"{name}.{kind}", force=force)
    io.check_writable(folder / GRAPH, force=force, table=False)


def _given_back(data: pl.DataFrame, kind: str) -> Any:
    """Return a table in the kind that was given, after reading it again."""
    shown = io.give_back(data, kind)
    io.read_again(shown, data, kind)
    return shown


def _part(table: CodedTable, kept: BoolVector) -> CodedTable:
    """Return some rows of a table."""
    return CodedTable(
        table.attributes,
        np.asfortranarray(table.codes[kept]),
        table.sensitive,
        np.asfortranarray(table.sensitive_codes[kept]),
        table.kept.filter(pl.Series(kept)) if table.kept.width else table.kept,
        table.columns,
    )
