"""The frontier between risk and loss as a picture: SVG, readable without colours."""

from __future__ import annotations

import io
from typing import Any

from shoal.comparing.comparison import Comparison
from shoal.comparing.trial import Trial

COLOURS = ("#0b6e6e", "#c0582b", "#4a5aa8", "#8a6d00", "#8b3a6b", "#3b7d3b")
MARKERS = ("o", "s", "^", "D", "v", "P")
INK = "#333333"


def frontier_svg(compared: Comparison) -> str:
    """Draw every release that satisfies the policy by its risk and its loss, and the frontier through the best."""
    figure = _drawn(compared)
    target = io.StringIO()
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "shoal"}):
        title = f"Risk and loss of {len(_shown(compared))} releases"
        figure.savefig(target, format="svg", metadata={"Date": None, "Title": title})
    return target.getvalue()


def _shown(compared: Comparison) -> list[Trial]:
    infinite = float("inf")
    return [t for t in compared.trials if t.holds and t.risk is not None and compared.loss(t) < infinite]


def _drawn(compared: Comparison) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(8.6, 5.4), layout="constrained")
    axes: Any = figure.add_subplot()
    shown, frontier = _shown(compared), compared.frontier()
    value = {id(trial): trial.measures[compared.measure] for trial in shown}
    line = [(trial.risk, value[id(trial)]) for trial in frontier]
    if line:
        axes.plot(
            *zip(*line, strict=True), color=INK, linewidth=1, linestyle="--", zorder=1, label="frontier"
        )
    for place, k in enumerate(compared.ks):
        style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
        own = [trial for trial in shown if trial.k == k and trial.withstands]
        label = "withstands" if k is None else f"k = {k}"
        axes.scatter([t.risk for t in own], [value[id(t)] for t in own], s=46, zorder=3, label=label, **style)
    exposed = [trial for trial in shown if not trial.withstands]
    if exposed:
        where = [t.risk for t in exposed], [value[id(t)] for t in exposed]
        axes.scatter(*where, marker="x", color="#999999", s=40, zorder=2, label="does not withstand")
    if not shown:
        axes.text(0.5, 0.5, "no release satisfies the policy", ha="center", transform=axes.transAxes)
    axes.set_xlabel("risk: expected share of people whose row is found")
    axes.set_ylabel(f"loss ({compared.measure})" if compared.lower_is_better else compared.measure)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_title(
        "Every release that satisfies the policy, and the frontier between risk and loss", fontsize=11
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(0.12, 0.12)
    _labelled(axes, compared, frontier, value)
    if shown:
        axes.legend(frameon=False)
    return figure


def _labelled(axes: Any, compared: Comparison, frontier: tuple[Trial, ...], value: dict[int, float]) -> None:
    """Name the releases on the frontier, by turns above and below it so that neighbours do not collide."""
    for place, trial in enumerate(frontier):
        above = place % 2 == 0
        axes.annotate(
            trial.label,
            (trial.risk, value[id(trial)]),
            textcoords="offset points",
            xytext=(6, 7 if above else -13),
            fontsize=8,
            color=INK,
        )
