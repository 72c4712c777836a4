"""What Studio can hand over: files that are made, each public or private, as a folder or as one zip."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal import io
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.look.current_release import CARDS, CODEBOOKS, KEYS, RECORD, Made
from shoal.apps.studio.project import Project
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.hierarchy.kinds.file import File
from shoal.documents.report.build_report import EDITIONS
from shoal.errors import OutputError
from shoal.io.links import follow_links
from shoal.policy import toml
from shoal.policy.method_options import AUTO
from shoal.release.received.read_record import pin_choice, read_record

PAPERS = "papers"
"""The kind of the job that writes the reports."""
STORE = "store"
"""The kind of the job that writes the release into a database."""


@dataclass(frozen=True)
class Item:
    """One file to hand over."""

    key: str
    name: str
    """Its name in a folder or zip."""
    title: str
    about: str
    public: bool
    path: Path | None = None
    """Where it lies; None if it is a text."""
    text: str = ""

    @property
    def place(self) -> str:
        """Its path in a folder or zip: what may be published stands apart from what may not."""
        return f"{'public' if self.public else 'private'}/{self.name}"

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return len(self.text.encode()) if self.path is None else self.path.stat().st_size

    def read_start(self, most: int) -> bytes:
        """Return the first bytes of the file, at most `most`."""
        if self.path is None:
            return self.text.encode()[:most]
        with self.path.open("rb") as file:
            return file.read(most)


ABOUT = {
    "release": "The table to publish, verified on these bytes.",
    "second": "The sensitive values by bucket, which belong to the release.",
    "card": "What the release is, guarantees and has lost.",
    "codebook": "What every column and label of the release means.",
    "keys": "From pseudonyms back to people. Whoever has it can follow them.",
    "public": "For the recipient: made of the published rows and the policy only.",
    "private": "For your files: with the rows that are most exposed, and the run.",
    "record": "How this release was made, to defend and to repeat it.",
    "stored": "How the release in the database was made: it has other random choices than the file.",
    "policy": "What was asked for; the command line and Python use it.",
    "command": "To make the release again, and to audit this one.",
    "file": "The policy names it.",
}


def items(project: Project, made: Made) -> list[Item]:
    """Return what can be handed over now, the release first.

    Nothing of a release that must not be published is public.
    """
    policy, files = movable(_pin_method(made), project)
    may = made.publishable
    found = [Item("release", made.output, "Release", ABOUT["release"], may, made.path)]
    second = next(
        (path for path in made.folder.iterdir() if path.stem == f"{made.path.stem}-sensitive"), None
    )
    if second is not None:
        found.append(Item("second", second.name, "Release, second table", ABOUT["second"], may, second))
    for kind, names in (("card", CARDS), ("codebook", CODEBOOKS)):
        for at, name in enumerate(names):
            title = f"{kind.capitalize()} ({name if kind == 'codebook' else name.rpartition('.')[2]})"
            found.append(Item(f"{kind}-{at}", name, title, ABOUT[kind], may, made.folder / name))
    job = project.jobs.latest(PAPERS)
    # Of this very release: one of the same policy in another format, or of a file that has changed, is another one.
    if job is not None and job.state == "done" and job.order.arguments["release"] == made.path:
        for edition in (one for one in EDITIONS if one in job.result):
            path, title = job.folder / job.result[edition], f"Report, {edition} edition"
            public = may and edition == "public"
            found.append(Item(f"report-{edition}", path.name, title, ABOUT[edition], public, path))
    found += [
        Item("record", RECORD, "Record", ABOUT["record"], False, made.folder / RECORD),
        Item("policy", "policy.toml", "Policy", ABOUT["policy"], False, text=policy),
        Item("command", "command.txt", "Commands", ABOUT["command"], False, text=_commands(project, made)),
    ]
    stored = project.jobs.latest(STORE)
    if stored is not None and stored.state == "done" and stored.order.policy == made.policy:
        path = stored.folder / RECORD
        found.append(Item("stored", "record-database.json", "Record, database", ABOUT["stored"], False, path))
    if (made.folder / KEYS).exists():
        found.append(Item("keys", KEYS, "Key table", ABOUT["keys"], False, made.folder / KEYS))
    for at, (name, path) in enumerate(files.items()):
        found.append(Item(f"file-{at}", name, name, ABOUT["file"], False, path))
    return found


def _pin_method(made: Made) -> str:
    """Return the policy with the method that `auto` chose for this release, if it chose one."""
    tables = toml.parse_toml(made.policy, "policy")
    if AUTO not in str(tables.get("method", "")):
        return made.policy
    return toml.document(pin_choice(tables, read_record(made.folder / RECORD)))


def _commands(project: Project, made: Made) -> str:
    source = project.source or Source(Path(), "data.csv", kept=True)
    release = f"{'public' if made.publishable else 'private'}/{made.output}"
    return (
        "# In the folder that has these folders in it\n"
        f"shoal anonymize {source.words()} -p private/policy.toml -o again{made.output.removeprefix('release')}\n"
        f"shoal audit {release} -p private/policy.toml {source.words('--original')} --record private/{RECORD}\n"
    )


def movable(policy: str, project: Project) -> tuple[str, dict[str, Path]]:
    """Return a policy as it can be used elsewhere, and the files that belong next to it, by their names.

    Files that were given to Studio lie in its own folder, so the policy names them by their name alone.
    """
    tables = toml.parse_toml(policy, "policy")
    places = [(entry, "hierarchy") for entry in tables.get("columns", {}).values() if "hierarchy" in entry]
    places = [(entry, key) for entry, key in places if isinstance(parse_hierarchy(entry[key]), File)]
    places += [(entry, "file") for entry in [tables.get("population", {})] if "file" in entry]
    files: dict[str, Path] = {}
    for entry, key in places:
        path = Path(entry[key])
        if path.is_absolute() and path.is_relative_to(project.folder.path):
            entry[key] = path.name
            files[path.name] = path
        elif not path.is_absolute() and ".." not in path.parts:
            files[path.as_posix()] = project.base / path
    return toml.document(tables), files


def write_zip(chosen: Sequence[Item], path: Path) -> None:
    """Write files as one zip, with folders for what is public and what is private."""
    with zipfile.ZipFile(path, "w") as archive:
        for item in chosen:
            # The entries have no dates: when each file was made is nobody's business.
            entry = zipfile.ZipInfo(item.place)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as out:
                if item.path is None:
                    out.write(item.text.encode())
                else:
                    with item.path.open("rb") as given:
                        shutil.copyfileobj(given, out, 1 << 20)


def written(
    chosen: Sequence[Item], folder: Path, *, force: bool, inputs: Mapping[Any, str] | None = None
) -> list[Path]:
    """Write files into a folder, all or none; private ones are readable by their owner alone.

    The `inputs`, such as the original and what the policy names, are never replaced.
    """
    if not folder.is_absolute():
        raise OutputError(f"{folder}: give the whole path of the folder, from the root on")
    if not folder.parent.is_dir():
        raise OutputError(f"{folder}: there is no folder {folder.parent}; create it first")
    targets = [folder / item.place for item in chosen]
    io.check_apart(inputs or {}, [(target, item.title) for target, item in zip(targets, chosen, strict=True)])
    try:
        follow_links(folder).mkdir(exist_ok=True)
        for target, item in zip(targets, chosen, strict=True):
            follow_links(target.parent).mkdir(
                parents=True, exist_ok=True, mode=0o755 if item.public else 0o700
            )
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}") from None
    with io.Outbox(force=force) as box:
        for target, item in zip(targets, chosen, strict=True):
            if item.path is None:
                box.write_text(target, item.text, private=not item.public)
            else:
                box.copy(item.path, target, private=not item.public)
    return targets
