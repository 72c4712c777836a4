"""Pictures of the experiments: SVG files beside their tables, the same bytes for the same figures."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def panels(*grid, **options):
    """Return a figure and its axes, as `matplotlib.pyplot.subplots` does, for a file instead of a screen."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "shoal"
    from matplotlib import pyplot

    return pyplot.subplots(*grid, **options)


def saved(figure, file, words):
    """Write a figure to a file, and return the line of Markdown that shows it."""
    from matplotlib import pyplot

    figure.savefig(HERE / file, metadata={"Date": None})
    pyplot.close(figure)
    return f"![{words}]({file})"
