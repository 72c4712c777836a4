"""A private Spark cluster: one master and two workers with a core each, on loopback alone, and a session on it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEMORY = "768m"


@dataclass
class Cluster:
    """A running cluster."""

    folder: Path
    port: int
    jars: Path
    memory: str = MEMORY
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def _start(self, name: str, *words: str) -> None:
        environment = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_HOME": str(self.jars.parent),
            "SPARK_SCALA_VERSION": "2.13",
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "spill"),
        }
        # Whatever happens to the tests, the kernel ends it with them.
        leash = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*leash, "java", "-Xmx192m", "-cp", f"{self.jars}/*", *words],
                stdout=log, stderr=log, cwd=self.folder, env=environment,
            )  # fmt: skip

    def start_worker(self, number: int) -> None:
        self._start(
            f"worker{number}", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1",
            "--memory", self.memory, "--webui-port", "0", "--work-dir", str(self.folder / f"work{number}"), self.master,
        )  # fmt: skip

    def executors(self, number: int) -> list[int]:
        """The processes of a worker that run tasks."""
        worker = self.processes[f"worker{number}"].pid
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    words = (entry / "cmdline").read_bytes()
                    if parent == worker and b"CoarseGrainedExecutorBackend" in words:
                        found.append(int(entry.name))
        return found

    def kill(self, number: int) -> bool:
        """End the executors of a worker as a crash does; the worker starts another one. Whether there was one."""
        found = self.executors(number)
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return bool(found)

    def waits_for(self, name: str, words: str, seconds: float = 300.0) -> None:
        until = time.monotonic() + seconds
        log = self.folder / f"{name}.log"
        while words not in log.read_text(errors="replace"):
            assert self.processes[name].poll() is None, log.read_text(errors="replace")[-2000:]
            assert time.monotonic() < until, f"{name} does not answer"
            time.sleep(0.1)


def missing() -> str:
    """Why there can be no cluster, in words; empty if there can."""
    if shutil.which("java") is None:
        return "no Java is installed: on Debian, apt-get install openjdk-17-jre-headless"
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return 'pip install "shoal[spark]"'
    return ""


@contextlib.contextmanager
def running(memory: str = MEMORY) -> Iterator[Cluster]:
    """Start a master and two workers, and remove them afterwards."""
    import pyspark

    folder = Path(tempfile.mkdtemp(prefix="shoal-spark-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster = Cluster(folder, port, Path(pyspark.__file__).parent / "jars", memory)
    try:
        cluster._start(
            "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port),
            "--webui-port", "0",
        )  # fmt: skip
        cluster.waits_for("master", "I have been elected leader")
        for number in (0, 1):
            cluster.start_worker(number)
        for number in (0, 1):
            cluster.waits_for(f"worker{number}", "Successfully registered with master")
        yield cluster
    finally:
        for process in cluster.processes.values():
            process.kill()
            process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def session_on(master: str, **settings: str):
    """A session of Spark, stopped afterwards."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("shoal-tests")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.sql.session.timeZone": "UTC",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.excludeOnFailure.enabled": "false",
        **settings,
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
