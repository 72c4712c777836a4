"""A picture of a small network before and after, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from shoal.documents.pages.svg import SERIES, SOFT, SURFACE
from shoal.network.graph import Network
from shoal.network.masked import MaskedNetwork
from shoal.support.arrays import FloatVector, IntVector, LongVector

MOST_NODES = 200
"""Pictures of larger networks are not readable."""
_SIDE = 420
_COLOURS = SERIES


def picture(network: Network, masked: MaskedNetwork, cluster_of: IntVector | None = None) -> str | None:
    """Draw the network with the clusters as colours, and the masked one next to it; None if it is too large.

    A super-node says how many nodes and inner edges it stands for. The left side shows original edges: private.
    `cluster_of` are the positions of super-nodes. O(nodes^2) per round of the layout.
    """
    if network.nodes > MOST_NODES:
        return None
    a, b = network.pairs()
    places = layout(network.nodes, a, b, np.ones(len(a)))
    c, d, count = masked.between
    if cluster_of is not None:
        middle = np.stack(
            [np.bincount(cluster_of, places[:, axis], masked.clusters) / masked.size for axis in (0, 1)],
            axis=1,
        )
        super_places = _spread(_apart(_spread(middle), 0.9 / np.sqrt(max(masked.clusters, 1))))
    else:
        super_places = layout(masked.clusters, c, d, np.sqrt(count))
    left = _edges(places, a, b, np.full(len(a), 0.8)) + _dots(places, cluster_of)
    right = _edges(super_places, c, d, 1.0 + np.log2(count)) + _bubbles(super_places, masked)
    titles = (
        f"before: {network.nodes} nodes, {network.edges} edges",
        f"after: {masked.clusters} super-nodes, {len(count)} super-edges",
    )
    return _sheet([(titles[0], left), (titles[1], right)])


def layout(
    nodes: int, a: IntVector, b: IntVector, pull: FloatVector, rounds: int = 200
) -> NDArray[np.float64]:
    """Place nodes in the unit square: edges pull, all nodes push each other apart. The same in every run.

    O(rounds x nodes^2).
    """
    angle = np.arange(nodes) * 2.399963  # the golden angle spreads points evenly over a disc
    radius = np.sqrt((np.arange(nodes) + 0.5) / max(nodes, 1))
    places = np.stack([np.cos(angle) * radius, np.sin(angle) * radius], axis=1)
    ideal = np.sqrt(3.0 / max(nodes, 1))
    for turn in range(rounds):
        apart = places[:, None, :] - places[None, :, :]
        squared = np.maximum((apart**2).sum(axis=2), 1e-6)
        force = (apart * (ideal**2 / squared)[:, :, None]).sum(axis=1)
        along = places[a] - places[b]
        drawn = along * (np.sqrt((along**2).sum(axis=1)) / ideal * pull)[:, None]
        np.add.at(force, a, -drawn)
        np.add.at(force, b, drawn)
        force -= places * 0.3
        length = np.maximum(np.sqrt((force**2).sum(axis=1)), 1e-9)
        step = 0.1 * (1 - turn / rounds)
        places += force / length[:, None] * np.minimum(length, step)[:, None]
    return _spread(places)


def _apart(places: NDArray[np.float64], least: float, rounds: int = 100) -> NDArray[np.float64]:
    """Push places that lie nearer than `least` away from each other, a little in each round. O(rounds x places^2)."""
    # Identical places have no direction in which to push.
    angle = np.arange(len(places)) * 2.399963
    places = places + 1e-3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for _ in range(rounds):
        gap = places[:, None, :] - places[None, :, :]
        length = np.maximum(np.sqrt((gap**2).sum(axis=2)), 1e-6)
        push = np.maximum(least - length, 0.0) / length
        np.fill_diagonal(push, 0.0)
        places = places + 0.25 * (gap * push[:, :, None]).sum(axis=1)
    return places


def _spread(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fill the square from 0.06 to 0.94."""
    low, high = places.min(axis=0), places.max(axis=0)
    wide = np.where(high > low, high - low, 1.0)
    scaled: NDArray[np.float64] = 0.06 + 0.88 * np.where(high > low, (places - low) / wide, 0.5)
    return scaled


def _edges(places: NDArray[np.float64], a: IntVector, b: IntVector, width: FloatVector) -> list[str]:
    at = places * _SIDE
    return [
        f'<line x1="{at[i, 0]:.1f}" y1="{at[i, 1]:.1f}" x2="{at[j, 0]:.1f}" y2="{at[j, 1]:.1f}" '
        f'stroke="{SOFT}" stroke-opacity="0.5" stroke-width="{w:.1f}"/>'
        for i, j, w in zip(a.tolist(), b.tolist(), width.tolist(), strict=True)
    ]


def _dots(places: NDArray[np.float64], cluster_of: IntVector | None) -> list[str]:
    colours = [0] * len(places) if cluster_of is None else cluster_of.tolist()
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_COLOURS[colour % len(_COLOURS)]}"/>'
        for (x, y), colour in zip((places * _SIDE).tolist(), colours, strict=True)
    ]


def _bubbles(places: NDArray[np.float64], masked: MaskedNetwork) -> list[str]:
    largest = max(int(masked.size.max(initial=1)), 1)
    shapes = []
    numbers: Sequence[LongVector] = (masked.size, masked.inside)
    for at, ((x, y), size, inside) in enumerate(
        zip((places * _SIDE).tolist(), *(own.tolist() for own in numbers), strict=True)
    ):
        radius = 9 + 11 * np.sqrt(size / largest)
        shapes.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_COLOURS[at % len(_COLOURS)]}" '
            f'stroke="{SURFACE}"/><text x="{x:.1f}" y="{y + 3:.1f}" font-size="9" fill="{SURFACE}" '
            f'text-anchor="middle">{size},{inside}</text>'
        )
    return shapes


def _sheet(halves: list[tuple[str, list[str]]]) -> str:
    width = _SIDE * len(halves) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_SIDE + 40}" class="wide" '
        f'role="img" aria-label="{"; ".join(title for title, _ in halves)}">',
    ]
    for at, (title, shapes) in enumerate(halves):
        lines.append(f'<g transform="translate({10 + at * (_SIDE + 20)} 30)">')
        lines.append(
            f'<text x="{_SIDE / 2}" y="-12" font-size="13" fill="currentColor" text-anchor="middle">'
            f"{escape(title)}</text>"
        )
        lines += [*shapes, "</g>"]
    return "\n".join([*lines, "</svg>", ""])
