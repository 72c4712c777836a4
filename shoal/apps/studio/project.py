"""`Project`: what one Studio works on. The policy is its state; everything else follows from it and from the data."""

from __future__ import annotations

import contextlib
import copy
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.apps.studio.data.rereading import options_of, was_read_so
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.history import History, Tables
from shoal.apps.studio.jobs import Job, Jobs, Order
from shoal.apps.studio.private_folder import Folder
from shoal.errors import DataError, PolicyError, Problem, ShoalError
from shoal.support.wording import Advice

if TYPE_CHECKING:
    from shoal.apps.studio.look.current_release import Made
    from shoal.io import Frame
    from shoal.io.databases import DatabaseTable
    from shoal.policy import Policy
    from shoal.policy.suggestions import Suggestion


@dataclass(frozen=True)
class Notice:
    """Something to tell on the next page."""

    kind: str
    """``problem``, ``warning`` or ``done``."""
    words: str
    screen: str = ""
    seen: str = ""
    """The screen where it was shown."""


class Project:
    """What one Studio works on, and its history."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.mark = secrets.token_urlsafe(32)
        """In every page and every answer: by it, a page notices if another program has taken the port."""
        self.version = 0
        """Changes when a page would look different."""
        self.jobs = Jobs(folder, self.mark_changed)
        self.source: Source | None = None
        self.frame: Frame | None = None
        self.suggestion: Suggestion | None = None
        self.opening: str = ""
        """The name of the table that is being read now."""
        self.failed: tuple[Source, Path | None] | None = None
        """The table that could not be opened, and its policy: other reading options may help."""
        self.tried: Mapping[str, Any] = {}
        """The reading options that it was tried with."""
        self.base: Path = folder.inside("files")
        """The folder that hierarchy files of the policy are relative to."""
        self.policy_file: Path | None = None
        """The file of the policy that was opened, if one was."""
        self.release: Made | None = None
        """The current choice."""
        self.tour = False
        """Whether pages explain themselves."""
        self.notices: list[Notice] = []
        self.store: dict[str, Any] = {}
        """What screens keep, by their key; emptied when another table is opened."""
        self.policy: Policy | None = None
        """None while it has problems."""
        self.problems: tuple[Problem, ...] = ()
        """What is wrong with the policy now."""
        self._history = self._former = History({})
        """The second one is from before the last step, for a step after which the table cannot be read."""
        self._stamp: tuple[int, ...] = ()
        """That of the source when it was read."""
        self._turn = 0
        """Counts what was begun to be read: only the newest counts, however long the others take."""

    # --- the table --------------------------------------------------------------------------------------

    def open(self, source: Source, policy: Path | None = None, data: Mapping[str, Any] | None = None) -> None:
        """Begin to read a table, in a thread; `policy` is the file of a policy for it, otherwise one is suggested."""
        self.failed, self.tried = (source, policy), data or {}
        self._begin(
            source.name, lambda turn: self.read(source, policy, data, turn), "the table was not opened"
        )

    def _begin(self, name: str, read: Callable[[int], None], else_: str) -> None:
        """Read in a thread; pages say so meanwhile, and tell what went wrong."""
        with self.lock:
            self._turn += 1
            self.opening = name
            self.mark_changed()
            threading.Thread(target=self._read, args=(read, else_, self._turn), daemon=True).start()

    def _read(self, read: Callable[[int], None], else_: str, turn: int) -> None:
        words = ""
        try:
            read(turn)
        except ShoalError as error:
            words = self._by_name(str(error))
        except BaseException as error:  # a panic in a library is not an Exception
            words = f"Shoal made a mistake of its own ({type(error).__name__}); {else_}."
        with self.lock:
            if turn != self._turn:
                return  # something else was opened meanwhile
            self.opening = ""
            if words:
                self.tell("problem", words, "data")
            self.mark_changed()

    def _by_name(self, words: str) -> str:
        """Name a table as people do, and not by its place in Studio's folder."""
        source = self.source if self.failed is None else self.failed[0]
        if source is None or not source.kept:
            return words
        return Advice(words.replace(str(source.place), source.name), words)

    def read(
        self,
        source: Source,
        path: Path | None = None,
        data: Mapping[str, Any] | None = None,
        turn: int | None = None,
    ) -> None:
        """Read a table, and take its policy or suggest one. Seconds for a million rows."""
        from shoal import io
        from shoal.apps.studio.data.reader import read_table
        from shoal.policy import Policy
        from shoal.policy.overrides import read_as

        stamp = source.stamp()
        given = None if path is None else Policy.read(path)
        if given is not None and data:
            given = Policy.from_dict({**given.to_dict(), "data": data}, given.base)
        options = read_as(data or {}) if given is None else given.read_options()
        frame, suggestion = read_table(source.place, options)
        policy = Policy.from_toml(suggestion.to_toml()) if given is None else given
        if not was_read_so(frame, policy.to_dict()):  # the guesses say how to read some columns
            frame = io.read(source.place, policy.read_options())
            _ = frame.data
        if turn not in (None, self._turn):
            return
        self.jobs.close()  # not under the lock: what a job does at its end may wait for it
        with self.lock:
            self.failed = None
            self.source, self.frame, self.suggestion, self._stamp = source, frame, suggestion, stamp
            self.base = self.folder.inside("files") if path is None else path.parent
            self.policy_file = path
            self.release, self.store = None, {}
            self._set(History(policy.to_dict()))

    @property
    def is_outdated(self) -> bool:
        """Whether the file has changed since it was read, so that jobs would read other data than the pages show."""
        return self.source is not None and self.source.stamp() != self._stamp

    def place(self) -> str | Path | DatabaseTable:
        """Return where jobs read the table, which must be the one that pages show."""
        if self.source is None:
            raise DataError("open a table first")
        if self.is_outdated:
            raise DataError(f"{self.source.name} has changed since Studio read it; read it again first")
        return self.source.place

    def start(self, order: Order) -> Job:
        """Start a job on the open table: the work gets the table and the policy, too."""
        given = {"source": self.place(), "policy": order.policy, "base": self.base}
        return self.jobs.start(replace(order, arguments={**given, **order.arguments}))

    def read_again(self) -> None:
        """Read a file that has changed; the policy stays."""
        if self.source is not None:
            self._former = self._history
            self._begin(self.source.name, self._read_again, "the table is read as before")

    def _read_again(self, turn: int) -> None:
        """Read the table as the policy says now. Columns that it did not have before get roles by guess."""
        from shoal.apps.studio.data.reader import read_table
        from shoal.policy import Policy

        assert self.source is not None
        stamp = self.source.stamp()
        try:
            frame, suggestion = read_table(self.source.place, options_of(self._history.tables))
        except BaseException:
            with self.lock:
                if turn == self._turn:
                    self._set(self._former)
            raise
        guessed = Policy.from_toml(suggestion.to_toml()).to_dict()
        if turn != self._turn:
            return
        self.jobs.close()  # not under the lock: what a job does at its end may wait for it
        with self.lock:
            self.frame, self.suggestion, self._stamp = frame, suggestion, stamp
            self.release, self.store = None, {}
            tables = self.tables
            kept = {name: one for name, one in tables.get("columns", {}).items() if name in frame.schema}
            tables = tables if kept else {**guessed, "data": tables.get("data", {})}
            tables["columns"] = {name: kept.get(name, one) for name, one in guessed["columns"].items()}
            self._set(replace(self._history, tables=tables))

    # --- the policy ---------------------------------------------------------------------------------------

    @property
    def tables(self) -> Tables:
        """A copy of the policy as plain tables."""
        return copy.deepcopy(self._history.tables)

    def section(self, name: str) -> Mapping[str, Any]:
        """One section of the policy, to be read and not changed: a copy of 500 columns takes its time."""
        found = self._history.tables.get(name)
        return found if isinstance(found, dict) else {}

    def require_policy(self) -> Policy:
        """Return the policy, or raise its problems."""
        if self.policy is None:
            raise PolicyError(self.problems)
        return self.policy

    def problems_at(self, path: str) -> list[Problem]:
        """Return the problems of a part of the policy, such as ``columns.age``."""
        return [one for one in self.problems if one.path == path or one.path.startswith(f"{path}.")]

    @contextlib.contextmanager
    def edit(self, label: str) -> Iterator[Tables]:
        """Give a copy of the policy to be changed, and take it as one step that can be undone. A policy with problems
        is kept: pages show them."""
        with self.lock:
            tables = self.tables
            yield tables
            self.take(label, tables)

    def take(self, label: str, tables: Tables) -> None:
        """Go on with another policy, as one step; without one if it is the same."""
        with self.lock:
            if tables != self._history.tables:
                self._step(self._history.step(label, tables))

    def set(self, path: str, value: str) -> None:
        """Set one value, spelled as for ``--set``: ``privacy.k`` and ``5``.

        After a table could not be opened, how to read is about that table, and not about the one that is still open.
        """
        from shoal.policy.overrides import apply_settings

        if self.failed is not None and not self.opening and path.startswith("data."):
            read, problems = apply_settings({"data": self.tried}, [f"{path}={value}"])
            if problems:
                raise PolicyError(problems)
            self.open(*self.failed, read["data"])
            return

        with self.lock:
            after, problems = apply_settings(self.tables, [f"{path}={value}"])
            if problems:
                raise PolicyError(problems)
            self.take(f"{path} = {value}", after)

    def undo(self) -> None:
        """Take the last step back."""
        with self.lock:
            if self._history.past:
                self._step(self._history.undo())

    def redo(self) -> None:
        """Make the step again that was taken back."""
        with self.lock:
            if self._history.future:
                self._step(self._history.redo())

    def _step(self, history: History) -> None:
        if self.frame is not None:
            self.failed = None  # whoever goes on with this table has given the other one up
        self._former = self._history
        self._set(history)
        if self.source is not None and not was_read_so(self.frame, history.tables):
            self._begin(self.source.name, self._read_again, "the table is read as before")

    @property
    def last_step(self) -> str:
        """What `undo` would take back."""
        past = self._history.past
        return past[-1][0] if past else ""

    @property
    def next_step(self) -> str:
        """What `redo` would make again."""
        future = self._history.future
        return future[-1][0] if future else ""

    def _set(self, history: History) -> None:
        from shoal.policy import Policy

        self._history = history
        try:
            policy = Policy.from_dict(history.tables, self.base)
            if self.frame is not None:
                policy.plans(self.frame.columns)
            self.policy, self.problems = policy, ()
        except PolicyError as error:
            self.policy, self.problems = None, error.problems
        self.mark_changed()

    # --- what pages show ----------------------------------------------------------------------------------

    @property
    def toml(self) -> str:
        """The policy as a file."""
        from shoal.policy import toml

        return toml.document(self._history.tables) if self.policy is None else self.policy.to_toml()

    @property
    def command(self) -> str:
        """The command that does the same."""
        told = "data.csv" if self.source is None else self.source.words()
        return f"shoal anonymize {told} -p policy.toml -o release.csv"

    @property
    def python(self) -> str:
        """The Python that does the same."""
        told = repr("data.csv") if self.source is None else self.source.expression
        return (
            "import shoal\n\n"
            'policy = shoal.Policy.read("policy.toml")\n'
            f"result = shoal.anonymize({told}, policy)\n"
            "result.table\n"
        )

    @property
    def stale(self) -> bool:
        """Whether the policy has changed since the current choice was made."""
        return self.release is not None and self.release.policy != self.toml

    @property
    def loss_warning(self) -> str:
        """The question to ask before another table is opened, because work would be lost; empty if none would be."""
        if self.jobs.active:
            return "A job is running for the open table. Stop it, and open another table?"
        if self.release is not None or self.last_step:
            return "Your steps and the release of the open table will be gone. Open another table?"
        return ""

    def tell(self, kind: str, words: str, screen: str = "") -> None:
        """Show something on the next page."""
        self.notices.append(Notice(kind, words, screen))
        self.mark_changed()

    def notices_on(self, screen: str) -> list[Notice]:
        """Return what is to be told on a screen.

        A notice stays where it was first shown until somebody acts or goes on: a page may be shown anew at any time.
        One that belongs to a screen stays there until somebody acts: another tab may have shown it meanwhile.
        """
        with self.lock:
            shown = [one for one in self.notices if one.screen == screen or one.seen in ("", screen)]
            kept = [one for one in self.notices if one in shown or one.screen]
            self.notices = [replace(one, seen=screen) if one in shown else one for one in kept]
            return shown

    def forget_seen_notices(self) -> None:
        """Remove the notices that the user has seen."""
        self.notices = [one for one in self.notices if not one.seen]

    def mark_changed(self) -> None:
        """Mark open pages as out of date."""
        self.version += 1

    def close(self) -> None:
        """End all jobs, and remove the folder."""
        self.jobs.close()
        self.folder.close()
