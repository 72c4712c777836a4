"""The commands ``shoal network ..``."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.apps.cli import command_options
from shoal.apps.cli.command_options import PATH, PolicyOptions
from shoal.apps.cli.messages import say
from shoal.errors import DataError
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.network.judge_network import NetworkAudit


@click.group()
def network() -> None:
    """Social networks: publish clusters of people with similar attributes and similar contacts."""


@dataclass(frozen=True)
class NetworkOptions:
    """A network as the command line names it: two tables, or a file of GraphML."""

    nodes: Path | None
    edges: Path | None
    graph: Path | None
    id_column: str | None
    ends: tuple[str, str] | None

    @property
    def keywords(self) -> dict[str, Any]:
        """How the tables are read."""
        return {"id": self.id_column, "ends": self.ends or None}

    def find(self) -> tuple[Path, Path | None] | None:
        """Return the table of nodes and that of edges, or one file for both; None if no network is named."""
        if self.graph is not None:
            if self.nodes is not None or self.edges is not None:
                raise DataError(
                    "--graph has nodes and edges of its own: give it alone, or --nodes and --edges"
                )
            return self.graph, None
        if self.nodes is None and self.edges is None:
            return None
        if self.nodes is None or self.edges is None:
            missing = "nodes" if self.nodes is None else "edges"
            raise DataError(f"--{missing} is missing: a network is two tables")
        return self.nodes, self.edges


_source = command_options.combine_options(
    command_options.gather("source", NetworkOptions, *NetworkOptions.__dataclass_fields__),
    click.option("--nodes", type=PATH, help="The node table: one row per person."),
    click.option("--edges", type=PATH, help="The edge table: two columns of names of nodes."),
    click.option("--graph", type=PATH, help="A GraphML file instead of two tables."),
    click.option(
        "--id", "id_column", metavar="COLUMN", help="The column of the node table that edges refer to."
    ),
    click.option("--ends", nargs=2, metavar="A B", help="The two columns of the edge table [the first two]."),
)


_seed = click.option(
    "--seed", type=click.IntRange(0), help="Make the random choices repeatable. Not for publication."
)
_kind = click.option("--format", "kind", type=click.Choice(["csv", "tsv", "parquet", "arrow"]), default="csv",
                     show_default=True, help="Of the tables.")  # fmt: skip


@network.command()
@command_options.policy
@_source
@command_options.policy_file
@click.option("-o", "--output", type=PATH, required=True, help="The folder where the masked network goes.")
@click.option("--alpha", type=click.FloatRange(0, 1), default=0.5, show_default=True,
              help="Weight of attributes; the rest, up to 1, is the weight of structure.")  # fmt: skip
@click.option("--samples", type=click.IntRange(0), default=1, show_default=True,
              help="Graphs to draw for measuring structure; 0 for none.")  # fmt: skip
@click.option("--record", type=PATH, help="Write the private run record (JSON) here.")
@click.option(
    "--report", type=PATH, help="Write a private report (HTML, with a picture of small networks) here."
)
@click.option("--card", "cards", multiple=True, type=PATH,
              help="Write the public release card here (.md or .json; may be given twice).")  # fmt: skip
@_kind
@command_options.settings
@_seed
@command_options.force
@command_options.as_json
def anonymize(
    policy: PolicyOptions, source: NetworkOptions, output: Path, as_json: bool, **given: Any
) -> None:
    """Turn a network into a masked network that satisfies its policy, verify it, and write it.

    Shoal writes nodes, members and edges (tables) and masked.graphml into the folder.
    """
    from shoal.apps.cli import terminal
    from shoal.network.anonymize_network import anonymize_network_files
    from shoal.network.network_files import NetworkFiles

    tables = source.find()
    if tables is None:
        raise DataError("name the network: --nodes and --edges, or --graph")
    nodes, edges = tables
    asked = policy.read()
    papers = {name: given.pop(name) for name in ("kind", "record", "report", "cards", "force")}
    files = NetworkFiles(folder=output, **papers)
    with terminal.progress(quiet=as_json) as progress:
        result = anonymize_network_files(
            nodes, edges, asked, files, spare=policy.files, progress=progress, **source.keywords, **given
        )
    if as_json:
        say(json.dumps({"output": str(output), **result.summary()}, indent=2))
    else:
        _show(result, output)


@network.command()
@click.argument("folder", metavar="FOLDER", type=PATH)
@command_options.policy
@_source
@command_options.policy_file
@command_options.settings
@command_options.as_json
def audit(folder: Path, policy: PolicyOptions, source: NetworkOptions, as_json: bool) -> None:
    """Audit the masked network in FOLDER from its tables, and attack it if the original is given.

    A graph that another tool published is audited as well: FOLDER is then its GraphML file, or a folder with a table of
    nodes and one of edges.

    Exit code 5 if it violates its policy, 9 if something could not be checked.
    """
    from shoal.apps.cli import terminal
    from shoal.network.judge_network import audit_network

    nodes, edges = source.find() or (None, None)
    asked = policy.read()
    with terminal.progress(quiet=as_json) as progress:
        report = audit_network(folder, asked, nodes=nodes, edges=edges, progress=progress, **source.keywords)
    if as_json:
        say(json.dumps(report.summary(), indent=2))
    else:
        _show(report, folder)
    terminal.exit_unless(report.holds)


@network.command()
@click.argument("folder", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="The folder where the graph goes.")
@_kind
@_seed
@command_options.force
@command_options.as_json
def sample(folder: Path, output: Path, kind: str, seed: int | None, force: bool, as_json: bool) -> None:
    """Draw a random graph that is consistent with the masked network in FOLDER.

    Shoal writes nodes and edges (tables) and graph.graphml into the output folder.
    """
    from shoal.network.masked import read_masked
    from shoal.network.random_graphs import sample_network, write_sample_network
    from shoal.support.run import Run

    drawn = sample_network(read_masked(folder), Run.start(seed).random)
    written = write_sample_network(drawn, output, kind=kind, force=force, masked=folder)
    if as_json:
        paths = [str(path) for path in written]
        say(json.dumps({"nodes": drawn.nodes, "edges": drawn.edges, "written": paths}, indent=2))
    else:
        for path in written:
            say(f"wrote {path}")


def _show(report: NetworkAudit, place: Path) -> None:
    from rich.table import Table

    from shoal.apps.cli import terminal
    from shoal.judging.measures import MEASURES
    from shoal.network.network_report import (
        ATTACK_HEAD,
        DISCLOSURE_HEAD,
        attack_rows,
        disclosure_rows,
        structure_rows,
    )

    # The two measures of networks have a line of their own.
    known = {name: value for name, value in report.measures.items() if name in MEASURES}
    terminal.audit(replace(report, measures=known), place)
    console = terminal.plain_console()
    losses = "   ".join(f"{name.upper()} {number(report.measures[name])}" for name in ("ngil", "nsil"))
    console.print(f"network: {report.edges_published:,} edges   {losses}")
    for head, rows in (
        (("structure", "before", "after"), structure_rows(report)),
        (ATTACK_HEAD, attack_rows(report)),
        (DISCLOSURE_HEAD, disclosure_rows(report)),
    ):
        if rows:
            table = Table(*head, box=None, pad_edge=False)
            for row in rows:
                table.add_row(*row)
            console.print(table)
