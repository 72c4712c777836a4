"""The session of Spark: found or started, checked once, and its errors in our words."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.errors import EngineError, ShoalError
from shoal.support.machine.shutdown import journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from shoal.policy.sections import Engine

QUIET = {
    # The interface of a session shows plans and values to whoever can reach its port.
    "spark.ui.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # Rows may hold long texts, and smaller parts would not help against a batch that is too large.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    "spark.python.worker.reuse": "true",
    "spark.sql.session.timeZone": "UTC",
}
"""Settings of the sessions that Shoal starts; those of a policy take precedence."""
SPILL = "spark.local.dir"
"""Where rows are that do not fit into memory, or that tasks send to each other."""
CANCELLING = 10.0
"""Seconds for jobs to end that were cancelled."""
Found = TypeVar("Found")
_checked: set[str] = set()
"""Sessions whose workers were found to be as they should."""


def session_for(engine: Engine | None) -> SparkSession:
    """Return the session that exists, or start one. Raises EngineError if Spark or Java is missing."""
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql.utils import is_remote
    except ImportError:
        raise EngineError('Spark is not installed: pip install "shoal[spark]"') from None
    # About versions of pandas, which Shoal does not use here.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
    there = None if is_remote() else SparkSession.getActiveSession()
    if is_remote() or (there is None and "SPARK_REMOTE" in os.environ):
        raise EngineError(CONNECTED)
    master, settings = (None, {}) if engine is None else (engine.master, engine.settings)
    if there is None:
        return _start_session(master or "local[*]", {**QUIET, **settings})
    running = there.sparkContext.master
    if master is not None and master != running:
        raise EngineError(
            f"a session of Spark runs on {running}, but the policy names the master {master}: stop that session, "
            "or leave out engine.master"
        )
    return there


def _start_session(master: str, settings: dict[str, Any]) -> SparkSession:
    from pyspark.sql import SparkSession

    _check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("shoal").master(master)
    if master.startswith("local") or SPILL not in settings:
        settings[SPILL] = _private_folders(str(settings.get(SPILL) or tempfile.gettempdir()))
    for name, value in settings.items():
        builder = builder.config(name, _text(value))
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise translate_error(error, "starting Spark") from None
    session.sparkContext.setLogLevel("OFF")  # logs of tasks may show values
    return session


CONNECTED = (
    "this is a session of Spark Connect, which gives no access to the driver (sparkContext), and Shoal needs it to "
    "send hierarchies and cuts to all tasks and to stop its jobs: run Shoal where the driver is, in a notebook or a "
    "job with a classic session (on Databricks: a cluster with dedicated access, not serverless and not Databricks "
    "Connect; elsewhere: spark-submit, or SparkSession.builder.master(..) without SPARK_REMOTE)"
)


def _is_connect_frame(frame: Any) -> bool:
    """Return whether a frame is one of Spark Connect."""
    return any(kind.__module__.startswith("pyspark.sql.connect.") for kind in type(frame).__mro__)


def session_of(*frames: Any) -> SparkSession:
    """Return the session of some frames, or raise EngineError if Shoal cannot run tasks in it."""
    if any(_is_connect_frame(frame) for frame in frames):
        raise EngineError(CONNECTED)
    if any(frame.isStreaming for frame in frames):
        raise EngineError("a stream has no end, and classes need all rows: write it to a folder first")
    found: SparkSession = frames[0].sparkSession
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _private_folders(named: str) -> str:
    """Make a folder that only this user can enter in each of the folders where Spark would spill rows for all users to
    read, and return them. They go with this process."""
    if "SPARK_LOCAL_DIRS" in os.environ:  # which Spark prefers to its setting
        named = os.environ["SPARK_LOCAL_DIRS"]
    made = []
    for place in filter(None, map(str.strip, named.split(","))):
        try:
            os.makedirs(place, exist_ok=True)
            made.append(tempfile.mkdtemp(prefix="shoal-spark-", dir=place))  # mode 0700
        except OSError as error:
            raise EngineError(f"Spark cannot keep rows in {place} ({SPILL}): {error.strerror}") from None
        journal.lend(made[-1])
        atexit.register(_remove, made[-1])
    if "SPARK_LOCAL_DIRS" in os.environ:
        os.environ["SPARK_LOCAL_DIRS"] = ",".join(made)
    return ",".join(made)


def _remove(folder: str) -> None:
    """Stop Spark, which writes to a folder, and remove it."""
    with contextlib.suppress(Exception):
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        if session is not None:
            session.stop()
    shutil.rmtree(folder, ignore_errors=True)


def _check_java() -> None:
    """Refuse to start Spark without Java, which it would only say in a log."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if found is None:
        where = f" in JAVA_HOME ({home})" if home else ""
        raise EngineError(
            f"Spark needs Java 17 or later, and there is no program java{where}: on Debian, "
            "apt-get install openjdk-17-jre-headless"
        )


def check_workers(session: SparkSession) -> None:
    """Run one small task per core, so that a worker without Shoal, or with another Python, is found before the work."""
    import shoal
    from shoal.engines.spark.tasks import versions

    name = session.sparkContext.applicationId
    if name in _checked:
        return
    count = max(session.sparkContext.defaultParallelism, 1)
    with translate_errors("starting the workers"):
        rows = (
            session.range(0, count, 1, count)
            .mapInArrow(versions, "python string, shoal string, allowed double, needed double")
            .distinct()
            .collect()
        )
    for row in rows:
        if row["shoal"] != shoal.__version__:
            raise EngineError(
                f"a worker has Shoal {row['shoal']}, but the driver has {shoal.__version__}: install the same version "
                "everywhere"
            )
        if row["allowed"] is not None and row["allowed"] < row["needed"]:
            raise EngineError(
                f"Python on a worker may reserve {row['allowed']:.1f} GB of addresses (spark.executor.pyspark.memory, "
                f"ulimit -v), and Shoal's libraries reserve {row['needed']:.1f} GB before the first row, most of it "
                "for threads and never used: leave that setting out, or raise it; spark.executor.memoryOverhead counts "
                "what is used"
            )
    _checked.add(name)


_KNOWN = (
    (
        ("PYTHON_VERSION_MISMATCH", "Python in worker has different version"),
        "the workers run another version of Python than the driver ({python}): install the same one there, and name it "
        "in PYSPARK_PYTHON",
    ),
    (
        ("No module named 'shoal", "No module named 'polars", "No module named 'numba", "No module named 'pyarrow"),
        'Shoal is not installed on the workers: pip install "shoal[spark]" into their Python, or ship an environment '
        "with spark.archives",
    ),
    (
        ("Cannot run program",),
        "the workers have no Python at the place that PYSPARK_PYTHON names: install it there, or name another",
    ),
    (
        ("OutOfMemory", "MemoryError", "ExecutorLostFailure", "exit code 137", "Python worker exited unexpectedly",
         "exited due to signal"),
        "a task, or the executor that it ran on, was lost, most likely for lack of memory: lower engine.part_rows, or "
        "raise spark.executor.memory and spark.executor.memoryOverhead in engine.settings (and "
        "spark.executor.pyspark.memory, if it is set there)",
    ),
    (("PATH_NOT_FOUND", "FileNotFoundException"), "a file of the table is not there (any more)"),
    (
        ("All masters are unresponsive", "Failed to connect to master", "SparkContext was shut down",
         "stopped SparkContext", "Connection refused"),
        "the cluster does not answer, or the session of Spark was stopped",
    ),
)  # fmt: skip
"""What Spark's messages contain, and what it means. Its own messages may show values, so they are never repeated."""


def translate_error(error: BaseException, stage: str) -> ShoalError:
    """Convert a Spark error to an error of Shoal, without values of the data."""
    if isinstance(error, ShoalError):
        return error
    text = str(error)
    for marks, words in _KNOWN:
        if any(mark in text for mark in marks):
            python = ".".join(map(str, sys.version_info[:2]))
            return EngineError(f"{stage}: {words.format(python=python)}")
    kind = getattr(error, "getCondition", lambda: None)() or type(error).__name__
    return EngineError(f"{stage}: Spark failed ({kind}); its log says more")


@contextlib.contextmanager
def translate_errors(stage: str) -> Iterator[None]:
    """Convert Spark errors that are raised in this block to errors of Shoal."""
    try:
        yield
    except ShoalError:
        raise
    except Exception as error:
        if os.environ.get("SHOAL_DEBUG"):
            raise
        if type(error).__module__.split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise translate_error(error, stage) from None


def in_words(stage: str) -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Let a function tell errors of Spark in our words."""

    def wrap(work: Callable[..., Found]) -> Callable[..., Found]:
        @wraps(work)
        def run_translated(*given: Any, **named: Any) -> Found:
            with translate_errors(stage):
                return work(*given, **named)

        return run_translated

    return wrap


def _wait_for_end(context: Any, tag: str) -> None:
    """Wait until cancelled jobs have ended, so that what they write can be removed."""
    until = time.monotonic() + CANCELLING
    told = context._jsc.sc().statusTracker()
    while set(told.getJobIdsForTag(tag)) & set(told.getActiveJobIds()) and time.monotonic() < until:
        time.sleep(0.05)


@contextlib.contextmanager
def cancel_with(session: SparkSession) -> Iterator[None]:
    """Cancel the Spark jobs of this block when it ends, also after an interrupt."""
    context = session.sparkContext
    name = f"shoal-{uuid.uuid4().hex}"
    context.addJobTag(name)
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            context.cancelJobsWithTag(name)
            _wait_for_end(context, name)
        raise
    finally:
        with contextlib.suppress(Exception):
            context.removeJobTag(name)
