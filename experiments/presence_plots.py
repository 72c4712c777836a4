"""Plots of the experiments on presence; `experiments.presence` draws them."""

from __future__ import annotations

import numpy as np

from experiments.drawing import panels, saved
from experiments.presence_trials import METHODS_TRIED, PARTITIONERS, SIZES, USUAL


def plotted(first, alone, people_first, people_alone, second, third, rows):
    """Draw the experiments of the thesis."""
    styles = dict(zip((*METHODS_TRIED, "MPALM"), ("k--", "o-", "s-", "^-", "v:", "x:"), strict=True))
    files = []

    def keep(figure, name, words):
        files.append(saved(figure, f"presence_{name}.svg", words) + "\n")

    figure, axes = panels(2, 2, figsize=(11, 7.2), constrained_layout=True, sharey=True, sharex=True)
    readings = (
        (first, "k rows in a bucket"),
        (alone, "k rows; people with equal values as one"),
        (people_first, "k people of the population in a bucket"),
        (people_alone, "k people; people with equal values as one"),
    )
    for axis, (found, title) in zip(axes.ravel(), readings, strict=True):
        for label, style in styles.items():
            there = [k for k in SIZES if found.get((label, k)) is not None]
            if there:
                axis.plot(there, [found[label, k]["certain"] / rows for k in there], style, label=label)
        axis.set_xscale("log")
        axis.set_xticks(SIZES, [str(k) for k in SIZES])
        axis.minorticks_off()
        axis.set_title(title)
        axis.axhline(0.9395, color="grey", linewidth=0.8)
    axes[0, 0].text(2, 0.87, "bucketization in the thesis", fontsize=8, color="grey")
    axes[0, 0].set_ylim(-0.03, 1.03)
    for axis in axes[:, 0]:
        axis.set_ylabel("re-identified share")
    for axis in axes[1]:
        axis.set_xlabel("k")
    # All methods are in the first panel, and there is room in the third.
    axes[1, 0].legend(
        *axes[0, 0].get_legend_handles_labels(), fontsize=8, loc="center left", bbox_to_anchor=(0, 0.3)
    )
    keep(figure, "found", "re-identified people by k")

    figure, axes = panels(1, 2, figsize=(11, 3.6), constrained_layout=True)
    places = np.arange(len(second))
    words = {"mpalm": "MPALM", **{name: f"CombinedAlg, {word}" for name, word in PARTITIONERS.items()}}
    for axis, figure_name in zip(axes, ("dm", "ag"), strict=True):
        for shift, (name, label) in zip((-0.27, 0, 0.27), words.items(), strict=True):
            heights = [one[name][figure_name] if name in one else 0 for one in second.values()]
            axis.bar(places + shift, heights, 0.25, label=label)
        axis.set_xticks(places, [f"({a:g}, {b:g})" for a, b in second])
        axis.set_ylabel(figure_name.upper())
    axes[0].set_yscale("log")
    axes[1].legend(fontsize=8)
    keep(figure, "costs", "DM and AG of CombinedAlg and MPALM")

    figure, axes = panels(1, 2, figsize=(11, 3.6), constrained_layout=True)
    sizes = sorted({k for _, k in third})
    for axis, figure_name, word in ((axes[0], "ag", "AG"), (axes[1], "seconds", "seconds")):
        for name, style in zip(PARTITIONERS, ("o-", "s-"), strict=True):
            there = [k for k in sizes if third[name, k] is not None]
            axis.plot(there, [third[name, k][figure_name] for k in there], style, label=words[name])
        axis.set_xscale("log")
        axis.set_xticks(sizes, [str(k) for k in sizes])
        axis.minorticks_off()
        axis.set_xlabel("k")
        axis.set_ylabel(word)
        axis.set_ylim(bottom=0)
    axes[0].axhline(second[USUAL]["mpalm"]["ag"], color="grey", linewidth=0.8, label="MPALM")
    axes[0].legend(fontsize=8)
    keep(figure, "growing", "AG and seconds of CombinedAlg by k")
    return files
