"""Engines: what has the rows of a table and works on them. A new one is a file here and a line in `ENGINES`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.engines.spark import SPARK, is_spark_frame
from shoal.support.registry import Registry

if TYPE_CHECKING:
    from shoal.engines.engine import Engine
    from shoal.policy import Policy

ENGINES: Registry[Engine] = Registry(
    "engine", {"local": "shoal.engines.local:Local", SPARK: "shoal.engines.spark.make_release:Spark"}
)


def engine_of(policy: Policy, source: Any) -> type[Engine]:
    """Return the engine that a policy names, or the one that has the rows of a frame."""
    return ENGINES[SPARK if is_spark_frame(source) else policy.engine.name]
