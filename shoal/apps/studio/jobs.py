"""Long work: each job is a process of its own, with progress, an estimate, and an end at any time."""

from __future__ import annotations

import contextlib
import pickle
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from shoal.apps.studio.job_worker import own_mistake
from shoal.apps.studio.private_folder import Folder
from shoal.io.databases import passwords
from shoal.support.machine.processes import start_python

State = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, eq=False)
class Order:
    """Long work that is asked for."""

    kind: str
    """What it is for, such as ``compare``; a new job of a kind takes the place of the former one."""
    title: str
    """What it does, for people."""
    work: str
    """The function to call, ``module:function``, with a `Line` and the arguments."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    policy: str = ""
    """The policy that it works for, as TOML."""
    after: Callable[[Job], None] | None = None
    """Called when it is done, before anybody sees that it is."""
    heed: Callable[[Job, Any], None] | None = None
    """Called with each note."""


@dataclass(eq=False)
class Job:
    """One piece of long work."""

    number: int
    order: Order
    folder: Path
    """Where it may write; it goes if the job does not end well."""
    state: State = "waiting"
    stage: str = ""
    share: float = 0.0
    began: float = 0.0
    seconds: float = 0.0
    """How long it took, once it has ended."""
    notes: list[Any] = field(default_factory=list)
    """Parts of the result so far."""
    result: Any = None
    error: str = ""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def kind(self) -> str:
        """What it is for."""
        return self.order.kind

    @property
    def title(self) -> str:
        """What it does, for people."""
        return self.order.title

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "running")

    @property
    def seconds_elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began if self.state == "running" else self.seconds

    @property
    def seconds_left(self) -> float | None:
        """Seconds that it will still take, roughly; None if nothing can be said."""
        if self.state != "running" or self.share < 0.05:
            return None
        return self.seconds_elapsed * (1 - self.share) / self.share

    def tell(self, what: Any) -> None:
        """Tell the work something, which it hears if it listens."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                pickle.dump(what, self._process.stdin, protocol=5)
                self._process.stdin.flush()

    def summary(self) -> dict[str, Any]:
        """Return what the page shows while it runs."""
        return {
            "number": self.number,
            "kind": self.kind,
            "title": self.title,
            "state": self.state,
            "stage": self.stage,
            "share": round(self.share, 4),
            "elapsed": round(self.seconds_elapsed, 1),
            "left": None if self.seconds_left is None else round(self.seconds_left, 1),
        }


class Jobs:
    """All jobs of a Studio; one runs at a time, unless asked otherwise."""

    def __init__(self, folder: Folder, changed: Callable[[], None]) -> None:
        self._folder = folder
        self._changed = changed
        self._lock = threading.RLock()
        self._jobs: list[Job] = []
        self.ticks = 0
        """Changes with every progress."""

    def start(self, order: Order) -> Job:
        """Start a job, or let it wait for the one that runs."""
        with self._lock:
            for former in self._jobs:
                if former.kind == order.kind and former.active:
                    self.cancel(former.number)
            number = len(self._jobs) + 1
            job = Job(number, order, self._folder.inside(f"job-{number}"))
            self._jobs.append(job)
            if not any(other.state == "running" for other in self._jobs):
                self._begin(job)
        self._changed()
        return job

    @property
    def active(self) -> tuple[Job, ...]:
        """Jobs that wait or run."""
        return tuple(job for job in self._jobs if job.active)

    @property
    def all(self) -> tuple[Job, ...]:
        """All jobs, the oldest first."""
        return tuple(self._jobs)

    def latest(self, kind: str) -> Job | None:
        """Return the newest job of a kind."""
        return next((job for job in reversed(self._jobs) if job.kind == kind), None)

    def find(self, number: int) -> Job | None:
        """Return a job by its number."""
        return self._jobs[number - 1] if 0 < number <= len(self._jobs) else None

    def cancel(self, number: int) -> None:
        """End a job at once, with its processes and files."""
        job = self.find(number)
        if job is None:
            return
        with self._lock:
            if not job.active:
                return
            process = job._process
            self._end(job, "cancelled")
        if process is not None:
            process.kill()
            process.wait()
        shutil.rmtree(job.folder, ignore_errors=True)
        self._changed()

    def close(self) -> None:
        """End all jobs."""
        for job in self.active:
            self.cancel(job.number)

    def _begin(self, job: Job) -> None:
        job.state, job.began = "running", time.monotonic()
        threading.Thread(target=self._follow, args=(job,), daemon=True).start()

    def _follow(self, job: Job) -> None:
        process = None
        try:
            # Started here: the system ends a process with the thread that started it, and threads of requests end.
            process = start_python("shoal.apps.studio.job_worker")
            with self._lock:
                job._process = process
            job.tell((job.order.work, job.order.arguments, job.folder, passwords.all_passwords()))
            assert process.stdout is not None
            while job.active:
                kind, what = pickle.load(process.stdout)
                self._take(job, kind, what)
        except (EOFError, OSError, pickle.UnpicklingError):
            words = "The process of this job ended unexpectedly, most likely for lack of memory."
            self._take(job, "failed", words)
        except BaseException as error:  # a panic in a library is not an Exception
            # Whatever it is, the page must not wait for ever.
            self._take(job, "failed", own_mistake(error))
        if process is not None:
            process.kill()
            process.wait()

    def _take(self, job: Job, kind: str, what: Any) -> None:
        with self._lock:
            if not job.active:
                return  # cancelled meanwhile
            if kind == "progress":
                job.stage, job.share = what
                self.ticks += 1
                return
            if kind == "note":
                job.notes.append(what)
                if job.order.heed is not None:
                    job.order.heed(job, what)
            elif kind == "done":
                job.result = what
                if job.order.after is not None:
                    job.order.after(job)
                self._end(job, "done")
            else:
                job.error = what
                shutil.rmtree(job.folder, ignore_errors=True)
                self._end(job, "failed")
        self._changed()

    def _end(self, job: Job, state: State) -> None:
        job.seconds = time.monotonic() - job.began if job.began else 0.0
        job.state = state
        waiting = next((other for other in self._jobs if other.state == "waiting"), None)
        if waiting is not None and not any(other.state == "running" for other in self._jobs):
            self._begin(waiting)
