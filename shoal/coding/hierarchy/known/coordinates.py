"""Latitudes and longitudes in degrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from shoal.coding.hierarchy.known.bands import Bands


class Coordinates(Bands):
    """Degrees of latitude or longitude in the cells of a regular grid."""

    name: ClassVar[str] = "coordinates"
    example: ClassVar[str] = name
    title: ClassVar[str] = "degrees of latitude or longitude"
    meaning: ClassVar[str] = "cells of a regular grid of degrees"
    levels: ClassVar[str] = "0.01, 0.1, 1, 10 degrees (of latitude: 1.1, 11, 111, 1,110 km)"
    sample: ClassVar[tuple[str, ...]] = (
        "52.5163",
        "[52.51, 52.52)",
        "[52.5, 52.6)",
        "[52.0, 53.0)",
        "[50.0, 60.0)",
    )
    spec: ClassVar[Mapping[str, Any]] = {"widths": [0.01, 0.1, 1, 10]}
