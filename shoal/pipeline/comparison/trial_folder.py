"""The folder of a comparison: finished trials, each in a separate file, so that the work can be resumed.

Trials are named by a digest of table, policy and options. With such a digest an adversary who knows all rows but one
could guess the last, and the reasons of trials may name values that few rows have. So only their owner can read the
files of single trials; ``comparison.json`` contains neither.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal import __version__
from shoal.errors import DataError, OutputError
from shoal.io.links import follow_links
from shoal.pipeline.comparison.trial import Trial
from shoal.support.machine.files import read_json
from shoal.support.machine.shutdown import journal

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.pipeline.comparison.run_trial import Task


class Folder:
    """Where trials are kept."""

    def __init__(self, path: Path, table: CodedTable) -> None:
        self.path = path
        self.trials = path / "trials"
        self._digest = digest(table)
        try:
            follow_links(path).mkdir(parents=True, exist_ok=True)
            follow_links(self.trials).mkdir(mode=0o700, exist_ok=True)
            _close_to_others(self.trials)
        except (FileExistsError, NotADirectoryError):
            raise OutputError(f"{path} is a file; name a folder for the comparison") from None
        except OSError as error:
            raise OutputError(f"{path} cannot be created: {error.strerror}") from None
        journal.keep(f"finished trials are in {path}, and the same command continues from them")

    def _place(self, task: Task) -> Path:
        policy = task.policy.to_dict()
        method = policy.pop("method")
        parts: list[Any] = [__version__, policy, method, [vars(attack) for attack in task.attacks]]
        text = json.dumps([*parts, task.seed], sort_keys=True, default=str)
        return self.trials / f"{hashlib.sha256((self._digest + text).encode()).hexdigest()[:24]}.json"

    def find_trial(self, task: Task, limit: float) -> Trial | None:
        """Return a trial that was finished before; one that ran out of time counts only if its limit was as long."""
        place = self._place(task)
        try:
            raw = read_json(place)
            trial = Trial.from_json(raw["trial"])
        except (OSError, ValueError, KeyError, TypeError, DataError):
            return None
        return None if trial.status == "timeout" and raw["limit"] < limit else trial

    def keep(self, task: Task, trial: Trial, limit: float) -> None:
        """Write a finished trial; the file appears complete or not at all."""
        from shoal.io import write_text

        text = json.dumps({"limit": limit, "trial": trial.to_json()}, indent=2) + "\n"
        write_text(self._place(task), text, force=True)


def _close_to_others(folder: Path) -> None:
    """Let only this user enter a folder, which may have existed before. Somebody else's is rejected: its owner could
    read the trials, and could have written those that count as finished.
    """
    if sys.platform == "win32":
        return
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        owner = os.fstat(held).st_uid
        if owner != os.geteuid():
            raise OutputError(
                f"{folder} belongs to somebody else (user ID {owner}, and yours is {os.geteuid()}), who could read and "
                "change trials of your data; name another folder for the comparison"
            )
        os.fchmod(held, 0o700)
    finally:
        os.close(held)


def digest(table: CodedTable) -> str:
    """Return a digest of everything that a trial can depend on. O(cells)."""
    found = hashlib.sha256()
    for attribute in (*table.attributes, *table.sensitive):
        tree = attribute.hierarchy
        facts = [attribute.name, attribute.weight, tree.free, tree.ordered]
        found.update(json.dumps([*facts, [str(value) for value in tree.leaves.to_list()]]).encode())
        for level in tree.levels:
            found.update(np.ascontiguousarray(level.starts).tobytes())
            # Cells are read back by name, so names can change what a release says.
            found.update(json.dumps([str(name) for name in level.names.to_list()]).encode())

    shared = [one for one in table.countings if not one.adds_up]
    owners = [codes for one in shared for codes in (one.owner, one.place)]
    for codes in (table.quasi.wide, table.secrets.wide, table.context.population, *owners):
        if codes is not None:
            found.update(str(codes.shape).encode())
            found.update(np.ascontiguousarray(codes).tobytes())
    return found.hexdigest()
