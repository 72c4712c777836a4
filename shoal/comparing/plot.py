"""The Pareto frontier of risk and loss as an SVG picture that is readable without colours."""

from __future__ import annotations

import io
from typing import Any

from shoal.comparing.comparison import Comparison
from shoal.comparing.trial import Trial

COLOURS = ("#0b6e6e", "#c0582b", "#4a5aa8", "#8a6d00", "#8b3a6b", "#3b7d3b")
MARKERS = ("o", "s", "^", "D", "v", "P")
INK = "#333333"
GRID = "#e4e4e4"
WIDE = 12
"""From this ratio of largest to smallest value, an axis is logarithmic."""


def frontier_svg(compared: Comparison) -> str:
    """Draw every release that satisfies the policy by its risk and its loss, and the Pareto frontier."""
    figure = frontier_figure(compared)
    target = io.StringIO()
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "shoal"}):
        title = f"Risk and loss of {len(_shown(compared))} releases"
        figure.savefig(target, format="svg", metadata={"Date": None, "Title": title})
    return target.getvalue()


def _shown(compared: Comparison) -> list[Trial]:
    infinite = float("inf")
    return [t for t in compared.trials if t.holds and t.risk is not None and compared.loss(t) < infinite]


def frontier_figure(compared: Comparison) -> Any:
    """Draw the frontier, and return the figure itself."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    axes: Any = figure.add_subplot()
    shown, frontier = _shown(compared), compared.frontier()
    value = {id(trial): trial.measures[compared.measure] for trial in shown}
    steps = sorted((trial.risk or 0.0, value[id(trial)]) for trial in frontier)
    if steps:
        style = {"color": INK, "linewidth": 1, "linestyle": "--", "zorder": 1, "drawstyle": "steps-post"}
        axes.plot(*zip(*steps, strict=True), label="frontier", **style)
    for place, k in enumerate(compared.ks):
        own = [trial for trial in shown if trial.k == k and trial.withstands]
        look = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
        label = "withstands" if k is None else f"k = {k}"
        axes.scatter([t.risk for t in own], [value[id(t)] for t in own], s=44, zorder=3, label=label, **look)
    exposed = [trial for trial in shown if not trial.withstands]
    if exposed:
        where = [t.risk for t in exposed], [value[id(t)] for t in exposed]
        axes.scatter(*where, marker="x", color="#999999", s=40, zorder=2, label="does not withstand")
    _scaled(axes, compared, [trial.risk or 0.0 for trial in shown], list(value.values()))
    _numbered(axes, frontier, value)
    if shown:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    else:
        axes.text(0.5, 0.5, "no release satisfies the policy", ha="center", transform=axes.transAxes)
    return figure


def _scaled(axes: Any, compared: Comparison, risks: list[float], values: list[float]) -> None:
    """Name and scale the axes; logarithmic if the largest value is many times the smallest."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_title("Releases that satisfy the policy: risk against loss", fontsize=11, loc="left")
    axes.set_xlabel("risk: expected share of people whose row is found")
    axes.set_ylabel(f"loss ({compared.measure})" if compared.lower_is_better else compared.measure)
    for axis, found, name in ((axes.xaxis, risks, "x"), (axes.yaxis, values, "y")):
        if found and min(found) > 0 and max(found) > WIDE * min(found):
            getattr(axes, f"set_{name}scale")("log")
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda share, _: f"{share:.3%}".rstrip("%").rstrip("0").rstrip(".") + " %")
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(0.08, 0.1)


def _numbered(axes: Any, frontier: tuple[Trial, ...], value: dict[int, float]) -> None:
    """Number the releases on the frontier, and name them in the legend, where names cannot collide."""
    for place, trial in enumerate(frontier, start=1):
        at, off = (trial.risk, value[id(trial)]), (5, 5) if place % 2 else (-11, -12)
        axes.annotate(str(place), at, textcoords="offset points", xytext=off, fontsize=9, color=INK)
        name = trial.label if trial.k is None else f"{trial.label}, k = {trial.k}"
        axes.plot([], [], linestyle="none", label=f"{place}  {name}")
