"""Judging a masked network from its tables: models, losses, structure, attacks; and `audit_network`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.coding.encode import encode
from shoal.coding.roles import IDENTIFIER
from shoal.errors import DataError
from shoal.io.sheet import Sheet
from shoal.judging.case import Case
from shoal.judging.linking.origins import RECEIVED, Traced
from shoal.judging.models.threats import Threat
from shoal.judging.read_case import Received, read_rows
from shoal.network.graph import Network
from shoal.network.masked import (
    GRAPH,
    MaskedNetwork,
    check_tables,
    difference_of_graph,
    is_graph,
    read_masked,
    tables_in,
)
from shoal.network.network_disclosure import Attributes, NetworkDisclosure
from shoal.network.network_losses import ngil, nsil
from shoal.network.network_truth import cluster_verdicts, places_by_cells, places_by_owner, total_verdicts
from shoal.network.ordinary import single_nodes
from shoal.network.random_graphs import sample_network
from shoal.network.read_network import is_library_graph, read_for
from shoal.network.structure import Structure, differences, structure_of
from shoal.network.structure_attacks import NetworkAttacks, NetworkExposure, attack_network
from shoal.policy import Policy
from shoal.release import ValueSets
from shoal.release.published import BoxesInPart
from shoal.release.read_published import sensitive_codes
from shoal.release.received.read_release import convert_types
from shoal.release.results import Audit, Clock
from shoal.release.verdict import Verdict
from shoal.support.arrays import IntVector
from shoal.support.run import Progress, Run, silent
from shoal.support.wording import either, format_count

BY_STRUCTURE = "values by structure"
"""How the verdicts about sensitive columns begin that attacks give."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NetworkAudit(Audit):
    """What a masked network guarantees and what it has lost, read from its tables."""

    edges_before: int | None
    """Edges of the original, if it is known."""
    edges_published: int
    structure: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Figures ``before`` and ``after`` (the mean over graphs drawn from the masked network), and how far the
    distributions behind them ``differ``."""
    attacks: tuple[NetworkExposure, ...] = ()
    disclosures: tuple[NetworkDisclosure, ...] = ()
    """What the candidates of people reveal about sensitive values."""
    threats: tuple[Threat, ...] = ()
    """What each model of the policy protects from; their verdicts come first, in this order."""

    def _head(self) -> str:
        clusters = format_count(self.classes or 0, "cluster")
        return (
            f"{format_count(self.rows, 'node')} in {clusters}, {self.edges_published:,} edges; "
            f"{self._summarize_verdicts()}"
        )

    def summary(self) -> dict[str, Any]:
        """Return plain data for ``--json`` and records."""
        out = super().summary()
        out["edges"] = self.edges_before
        out["edges_published"] = self.edges_published
        out["structure"] = {part: dict(values) for part, values in self.structure.items()}
        out["attacks"] = [attack.summary() for attack in self.attacks]
        out["disclosures"] = [found.summary() for found in self.disclosures]
        return out


@dataclass(frozen=True)
class Shown:
    """What was published of a network."""

    masked: MaskedNetwork
    named_by: str = ""
    """A published column that names single nodes."""
    beside: str | None = None
    """How the graph next to the tables differs from them; None if there is no such graph."""


@dataclass(frozen=True, eq=False, repr=False)
class Original:
    """What a masked network was made from."""

    network: Network
    table: CodedTable
    """The attributes of all its nodes."""
    owner: IntVector | None = None
    """The node that each published row is about, if Shoal made it just now."""


@dataclass(frozen=True)
class Effort:
    """What is tried if the original is known."""

    samples: int = 1
    """How many graphs are drawn to measure structure."""
    attack: bool = True


def audit_network(
    masked: Any,
    policy: Policy | str | Path | None = None,
    *,
    nodes: Any = None,
    edges: Any = None,
    id: str | None = None,
    ends: tuple[str, str] | None = None,
    samples: int = 1,
    seed: int | None = None,
    progress: Progress = silent,
    **keywords: Any,
) -> NetworkAudit:
    """Judge a masked network (or its folder) from its tables alone. With the original, `nodes` and `edges` as in
    `read_network`, also measure losses and structure, and attack it.

    A graph that another tool published is judged as well: a GraphML file, a folder with a table of nodes and one of
    edges, a networkx or an igraph graph. Each of its nodes is then a super-node of its own.
    """
    clock = Clock()
    chosen = Policy.given(policy, keywords)
    run = Run.start(seed, progress)
    progress("read", 0.0)
    original = None
    with clock("read"):
        shown = _read_published(masked, chosen, id, ends)
        network = None if nodes is None else read_for(chosen, nodes, edges, id=id, ends=ends)
    if network is not None:
        with clock("encode"):
            original = Original(network, encode_nodes(network, chosen))
    return judge_network(shown, chosen, original, run, clock, Effort(samples))


def _read_published(source: Any, policy: Policy, id: str | None, ends: tuple[str, str] | None) -> Shown:
    """Read the published network: a masked network of Shoal, or a graph of another tool."""
    if isinstance(source, MaskedNetwork):
        return Shown(check_tables(source))
    if is_library_graph(source) or is_graph(source):
        return Shown(single_nodes(read_for(policy, source, id=id, ends=ends), policy))
    tables = tables_in(source)
    if tables is None:
        masked = read_masked(source)
        return Shown(masked, beside=difference_of_graph(source, masked))
    graph = read_for(policy, *tables, id=id, ends=ends)
    return Shown(single_nodes(graph, policy), named_by=graph.id_column)


def encode_nodes(network: Network, policy: Policy) -> CodedTable:
    """Code the attributes of nodes. The column that names nodes is an identifier, even if the policy does not name
    it."""
    column = policy.columns.get(network.id_column)
    inside = network.id_column in network.attributes.columns
    if column is not None and not inside:
        if column.role != IDENTIFIER:
            raise DataError(
                f"'{network.id_column}' names the nodes, but its role is {column.role}: make it an identifier"
            )
        rest = {name: own for name, own in policy.columns.items() if name != network.id_column}
        policy = policy.model_copy(update={"columns": rest})
    return encode(network.attributes, policy.plans(network.attributes.columns))


def judge_network(
    shown: Shown, policy: Policy, original: Original | None, run: Run, clock: Clock, effort: Effort
) -> NetworkAudit:
    """Judge a masked network, against its original if that is known. If the masked network is inconsistent, nothing
    further is computed.
    """
    masked = shown.masked
    run.progress("verify", 0.8)
    with clock("verify"):
        problems = masked.problems()
        case = network_case(masked, policy, original)
        verdicts, notes = _verify(shown, case, original, problems)
    run.progress("measure", 0.85)
    with clock("measure"):
        measures = {"ngil": ngil(case), "nsil": nsil(masked), **case.measures}
        losses = case.losses
    structure: Mapping[str, Mapping[str, float]] = {}
    found = NetworkAttacks((), ())
    if original is not None and masked.people != original.network.nodes:
        notes.append(
            "nodes were suppressed, so Shoal cannot compare structure with the original or run attacks"
        )
    elif original is not None and not problems:
        if effort.samples:
            with clock("structure"):
                structure = _structure(original.network, masked, run, effort.samples)
        run.progress("attack", 0.92)
        if effort.attack:
            k = max(case.k, 2)
            with clock("attack"):
                columns = range(len(original.table.sensitive))
                needed = {j: case.requirements.values_needed(j) for j in columns}
                known = Attributes(original.table, case.published, needed)
                found = attack_network(original.network, masked, known, k, run.random)
            verdicts += [_candidates(found.exposures, k), *_values(found.disclosures)]
    return NetworkAudit(
        rows=case.published.rows + case.published.suppressed,
        suppressed=case.suppressed,
        classes=case.published.classes,
        verdicts=tuple(verdicts),
        measures=measures,
        losses=losses,
        seconds=clock.seconds,
        notes=(*(original.network.notes if original else ()), *notes),
        edges_before=original.network.edges if original else None,
        edges_published=masked.links,
        structure=structure,
        attacks=found.exposures,
        disclosures=found.disclosures,
        threats=tuple(model.threat for model in case.requirements.all_models),
    )


def _verify(
    shown: Shown, case: Case, original: Original | None, problems: Sequence[str]
) -> tuple[list[Verdict], list[str]]:
    """Return the verdicts about a masked network, and notes. One that has problems is not compared."""
    masked = shown.masked
    verdicts = [Verdict("possible structure", 0, len(problems), not problems, "; ".join(problems), True)]
    if shown.beside is not None:
        verdicts.append(
            Verdict(GRAPH, 0, int(bool(shown.beside)), not shown.beside, shown.beside, True, False)
        )
    notes = list(case.notes)
    if original is not None and not problems:
        network, owner = original.network, original.owner
        places = (
            places_by_cells(case.published, original.table, case.policy.perturbations)
            if owner is None
            else places_by_owner(owner, masked.rows()[1], network.nodes)
        )
        may_suppress = bool(case.requirements.suppression)
        verdicts += total_verdicts(masked, network, places, may_suppress=may_suppress)
        in_clusters, not_compared = cluster_verdicts(masked, network, places)
        verdicts += [*case.truthfulness.verdicts, *in_clusters]
        notes += [*(case.truthfulness.notes() if owner is None else ()), *not_compared]
    gone = _identifiers_gone(masked, case.policy, shown.named_by)
    return [*_of_networks(case.verdicts), *verdicts, *gone], notes


def _candidates(exposures: Sequence[NetworkExposure], k: int) -> Verdict:
    """Judge the attack that leaves the fewest candidates."""
    worst = min(exposures, key=lambda own: own.after_least)
    at_risk = sum(own.at_risk for own in exposures)
    return Verdict("candidates by structure", k, worst.after_least, at_risk == 0, f"by {worst.knowledge}")


def _values(disclosures: Sequence[NetworkDisclosure]) -> list[Verdict]:
    """Judge, for each sensitive column with a required number of values, the attack that leaves the fewest."""
    found = []
    for column in dict.fromkeys(own.column for own in disclosures if own.needed > 1):
        own = [one for one in disclosures if one.column == column]
        worst = min(own, key=lambda one: one.fewest_values)
        holds = not any(one.at_risk for one in own)
        title = f"{BY_STRUCTURE}: {column}"
        found.append(Verdict(title, worst.needed, worst.fewest_values, holds, f"by {worst.knowledge}"))
    return found


def _of_networks(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts about a table in words for networks: the hint names what the audit of a network takes."""
    sources = either(command="--nodes FILE and --edges FILE, or --graph FILE", python="nodes and edges")
    why = f"could not be checked: only the original shows how many nodes were suppressed; give {sources}"
    return [
        replace(own, detail=why) if own.model == "suppression" and own.holds is None else own
        for own in verdicts
    ]


def _identifiers_gone(masked: MaskedNetwork, policy: Policy, named_by: str) -> list[Verdict]:
    members = masked.members.columns if masked.members is not None else []
    shown = [*masked.nodes.columns, *members, named_by]
    left = [name for name in policy.names(IDENTIFIER) if name in shown]
    return (
        [Verdict("identifiers removed", 0, len(left), not left, ", ".join(left), public=True)] if left else []
    )


def network_case(masked: MaskedNetwork, policy: Policy, original: Original | None) -> Case:
    """Read a masked network as an outsider does: one class per super-node, even if two of them show the same cells.

    An adversary can distinguish super-nodes, because each has its own edges.
    """
    rows, place = masked.rows()
    table = None if original is None else original.table
    try:
        case = read_rows(Received(rows), policy, table)
    except DataError:
        if table is not None:
            _refuse_other_values(rows, policy, table)
        raise
    published = case.published
    first = np.zeros(masked.clusters, np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    read = published.class_of[first]
    cells = published.cells
    if cells is not None:
        sets = _sets_at(cells.sets, read, len(published.attributes))
        cells = replace(cells, low=cells.low[read], high=cells.high[read], sets=sets)
    if isinstance(cells, BoxesInPart):
        cells = replace(cells, unread=cells.unread[read])
    return replace(
        case,
        origin=RECEIVED if original is None or original.owner is None else Traced(original.owner),
        published=replace(published, class_of=place.astype(np.int32), cells=cells),
    )


def _sets_at(sets: ValueSets | None, classes: IntVector, width: int) -> ValueSets | None:
    """Return the value sets of some classes, in their order."""
    if sets is None:
        return None
    cells = (classes[:, None].astype(np.int64) * width + np.arange(width)).ravel()
    sizes = np.diff(sets.start)[cells]
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    at = np.arange(start[-1]) + np.repeat(sets.start[cells] - start[:-1], sizes)
    return ValueSets(start, sets.codes[at])


def _refuse_other_values(rows: pl.DataFrame, policy: Policy, table: CodedTable) -> None:
    """Raise DataError if a sensitive column shows values that the original lacks, with no value in its message."""
    shown = convert_types(Sheet.of(rows), policy, table)
    for attribute in table.sensitive:
        if attribute.name in shown.columns:
            try:
                sensitive_codes(shown, (attribute,))
            except DataError:
                raise DataError(
                    f"'{attribute.name}' is sensitive and published as it is, but some of its published values are not "
                    "in the original: check that it is the right original"
                ) from None


def _structure(
    network: Network, masked: MaskedNetwork, run: Run, samples: int
) -> dict[str, dict[str, float]]:
    before = structure_of(network, run.random)
    drawn: list[Structure] = []
    for turn in range(samples):
        run.progress("sample", 0.86 + 0.06 * turn / samples)
        drawn.append(structure_of(sample_network(masked, run.random), run.random))
    apart = [differences(before, after) for after in drawn]
    return {
        "before": before.figures,
        "after": {name: float(np.mean([own.figures[name] for own in drawn])) for name in before.figures},
        "differ": {name: float(np.mean([own[name] for own in apart])) for name in apart[0]},
    }
