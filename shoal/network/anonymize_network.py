"""From a network to a verified masked one: read, encode, cluster, mask, read back, verify, measure, attack, write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.columns import Kept
from shoal.coding.counting import ByRows
from shoal.coding.roles import SENSITIVE
from shoal.errors import ARGUMENTS, InfeasibleError, PolicyError, Problem
from shoal.judging.measures import MEASURES
from shoal.judging.measures.cell_losses import Il
from shoal.judging.models.feasibility import find_unserved_blocks, reasons_against
from shoal.methods.blocks import find_satisfying_blocks
from shoal.network.graph import Network
from shoal.network.judge_network import Effort, NetworkAudit, Original, Shown, encode_nodes, judge_network
from shoal.network.masked import MaskedNetwork, mask
from shoal.network.network_card import network_card
from shoal.network.network_files import NetworkFiles
from shoal.network.node_clusters import NetworkClusters, cluster_network
from shoal.network.random_graphs import sample_network, sample_tables
from shoal.network.read_network import read_for
from shoal.policy import Policy
from shoal.policy.problems import format_path
from shoal.policy.sources import inputs_of
from shoal.release.record import NOT_FOR_PUBLICATION, make_record
from shoal.release.results import Clock
from shoal.release.verdict import refuse_violations
from shoal.support.arrays import BoolVector, IntVector
from shoal.support.run import Progress, Run, check_seed, silent


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
        return NetworkFiles(folder=Path(folder), kind=kind, force=force).write(self)


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
    _check_asked(chosen, alpha)
    seed = check_seed(seed)
    run = Run.start(seed, progress)
    progress("read", 0.0)
    with clock("read"):
        whole = read_for(chosen, nodes, edges, id=id, ends=ends)
    progress("encode", 0.1)
    with clock("encode"):
        full = encode_nodes(whole, chosen)
        requirements = chosen.requirements(full.sensitive)
    reasons = reasons_against(full, requirements)
    if reasons:
        raise InfeasibleError("\n".join(reasons))
    dropped = ~find_satisfying_blocks(full, requirements)[full.block_of]
    names = find_unserved_blocks(full, requirements)[1]
    network, table = (whole.without(dropped), _part(full, ~dropped)) if names else (whole, full)
    with clock("cluster"):
        found = cluster_network(network, table, requirements, float(alpha), run)
    with clock("mask"):
        masked, cluster_of, own = mask(network, table, found.cluster_of, found.clusters, run.random)
        kept = np.flatnonzero(~dropped).astype(np.int32) if names else np.arange(whole.nodes, dtype=np.int32)
        masked = masked.with_types(whole.as_shown, kept)
    # An adversary knows the whole network, so the release is judged against it, even if nodes were suppressed.
    original = Original(whole, full, owner=kept[own])
    report = judge_network(Shown(masked), chosen, original, run, clock, Effort(samples, attack))
    if not report.holds:
        refuse_violations(report.failing, "the masked network")
    place = np.full(whole.nodes, -1, np.int32)
    place[~dropped] = cluster_of
    notes = [*report.notes, *([] if seed is None else [NOT_FOR_PUBLICATION]), *_notes(found, names)]
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


def _check_asked(policy: Policy, alpha: float) -> None:
    """Raise PolicyError if the policy asks for what networks do not have."""
    if not 0.0 <= alpha <= 1.0:
        message = f"must be from 0 (structure alone) to 1 (attributes alone), not {alpha}"
        raise PolicyError([Problem("alpha", message)], where=ARGUMENTS)
    if policy.utility.measure not in (Il.name, MEASURES.default):
        message = f"'{policy.utility.measure}' cannot steer the clusters of a network"
        hint = f"leave it at {MEASURES.default}; a network weighs {Il.name} against structure, and reports all measures"
        raise PolicyError([Problem("utility.measure", message, hint)])
    no_rows = "a masked network publishes no rows of single nodes, so there is nothing to put a pseudonym on"
    refused = [(format_path("columns", name, "publish"), no_rows) for name in policy.pseudonyms]
    as_they_are = "columns of networks are published as they are"
    refused += [(format_path("columns", name, "perturb"), as_they_are) for name in policy.perturbations]
    shows = {name: column.show for name, column in policy.columns.items()}
    asked: dict[str, Any] = {format_path("columns", name, "show"): show for name, show in shows.items()}
    utility = policy.utility
    asked |= {f"utility.{key}": getattr(utility, key) for key in ("levels", "workload", "predict")}
    asked["utility.regression"] = utility.regression and utility.regression.outcome
    for_tables = (
        (path, f"'{own}' is for tables, not for networks") for path, own in asked.items() if own is not None
    )
    for path, message in (*refused, *for_tables):
        raise PolicyError([Problem(path, message, "leave it out")])


def _notes(found: NetworkClusters, suppressed: Sequence[str]) -> Iterator[str]:
    """Say what became of nodes that fit nowhere."""
    if suppressed:
        which = "; ".join(suppressed)
        yield f"nodes that no cluster can hold under the generalization limits are suppressed: {which}"
    if found.leftovers:
        count = "1 node was" if found.leftovers == 1 else f"{found.leftovers:,} nodes were"
        yield f"{count} left over and added to the nearest cluster"
    if found.merged:
        count = "1 cluster was" if found.merged == 1 else f"{found.merged:,} clusters were"
        yield f"{count} merged with others to satisfy the models"


def anonymize_network_files(
    nodes: Any, edges: Any, policy: Policy, files: NetworkFiles, *, spare: Sequence[Path] = (), **options: Any
) -> NetworkResult:
    """Turn files into a verified masked network in a folder, with its card, record and report. Nothing is written
    unless it satisfies the policy, and never over the data or over files to `spare`, such as the policy's."""
    data = {source: "the data" for source in (nodes, edges) if isinstance(source, str | Path)}
    files.check(inputs_of(policy) | data | dict.fromkeys(spare, "the policy"))
    result = anonymize_network(nodes, edges, policy, **options)
    if result.masked.members is not None:
        io.check_holds(files.table("members"), result.masked.members, sensitive=policy.names(SENSITIVE))
    files.write(result)
    return result


def _given_back(data: pl.DataFrame, kind: str) -> Any:
    """Return a table in the kind that was given, after reading it again."""
    shown = io.give_back(data, kind)
    io.read_again(shown, data, kind)
    return shown


def _part(table: CodedTable, kept: BoolVector) -> CodedTable:
    """Return some rows of a table."""
    own = Kept({name: table.kept[name].filter(pl.Series(kept)) for name in table.kept.columns})
    secrets = table.secrets.take(kept)
    return CodedTable(table.quasi.take(kept), secrets, own, table.columns, (ByRows.of(secrets),))
