"""The same release from a cluster: Spark moves, sorts, retries and writes; Shoal decides on the driver and runs its
kernels inside Spark's tasks, on Arrow batches.

Whatever is decided about a row follows from the row, from what the driver has sent to all tasks, and from a key that
is drawn once. So a task that runs twice decides the same.
"""

from __future__ import annotations

from typing import Any

SPARK = "spark"
"""The name of the engine in a policy."""


def is_spark_frame(source: Any) -> bool:
    """Return whether something is a DataFrame of Spark, without importing Spark."""
    return any(
        kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"
        for kind in type(source).__mro__
    )
