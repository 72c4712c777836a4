"""Which settings of Spark a policy file may have. A policy is data and may come from anyone, and most settings of
Spark can run code: they name modules, jars, options of Java, or other machines. The user gives those, with ``--set`` or
in Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shoal.errors import Problem
from shoal.policy.problems import dotted
from shoal.wording import either, shown

HARMLESS = frozenset(
    f"spark.{name}"
    for name in (
        *(
            "cores.max",
            "default.parallelism",
            "task.cpus",
            "task.maxFailures",
            "speculation",
            "locality.wait",
        ),
        *("driver.memory", "driver.memoryOverhead", "driver.cores", "driver.maxResultSize"),
        *("executor.memory", "executor.memoryOverhead", "executor.pyspark.memory", "executor.cores"),
        *("executor.instances", "executor.heartbeatInterval", "memory.fraction", "memory.storageFraction"),
        *("dynamicAllocation.enabled", "dynamicAllocation.minExecutors", "dynamicAllocation.maxExecutors"),
        *("dynamicAllocation.initialExecutors", "dynamicAllocation.executorIdleTimeout"),
        *("network.timeout", "rpc.message.maxSize", "shuffle.compress", "python.worker.reuse"),
        *("sql.shuffle.partitions", "sql.adaptive.enabled", "sql.adaptive.coalescePartitions.enabled"),
        *("sql.adaptive.advisoryPartitionSizeInBytes", "sql.adaptive.skewJoin.enabled"),
        *("sql.autoBroadcastJoinThreshold", "sql.broadcastTimeout", "sql.files.maxPartitionBytes"),
        *("sql.execution.arrow.maxRecordsPerBatch", "sql.execution.arrow.maxBytesPerBatch"),
    )
)
"""Settings about memory, cores, parts and time."""
_VALUE = re.compile(r"-?[0-9]+(\.[0-9]+)?[A-Za-z]{0,3}|true|false", re.IGNORECASE)
_MASTER = re.compile(r"local(\[([0-9]+|\*)\])?")


def problems_in_file(raw: Mapping[str, Any]) -> list[Problem]:
    """Return what a policy file must not say about Spark; the shape of `[engine]` is checked elsewhere."""
    engine = raw.get("engine")
    if not isinstance(engine, Mapping):
        return []
    master, settings = engine.get("master"), engine.get("settings")
    found = []
    if isinstance(master, str) and not _MASTER.fullmatch(master):
        found.append(
            Problem(
                "engine.master",
                f"is {shown(master)}: a policy file names only local[..]",
                _hint("engine.master"),
            )
        )
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        path = dotted("engine", "settings", str(name))
        if name not in HARMLESS:
            message = "may run code or lead to another machine, so a policy file must not set it"
            found.append(Problem(path, message, _hint(path)))
        elif not _VALUE.fullmatch(str(value)):
            found.append(
                Problem(path, f"is {shown(value)}, and not a number, a size, true or false", _hint(path))
            )
    return found


def _hint(path: str) -> str:
    return either(
        command=f"give it yourself: --set '{path}=..'",
        python=f"give it yourself: Policy.read(.., ['{path}=..'])",
        studio="leave it out",
    )
