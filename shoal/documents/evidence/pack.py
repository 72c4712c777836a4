"""All of `shoal.evidence`: a release with everything that defends it, as one folder and a zip."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from shoal import io
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.hierarchy.kinds.file import File
from shoal.coding.roles import SENSITIVE
from shoal.documents.evidence.manifest import (
    MANIFEST,
    SEAL,
    SIGNATURE,
    digest,
    foreign,
    manifest_text,
    read_manifest,
    seal_text,
)
from shoal.documents.evidence.pack_contents import folder_problems, plain_name, same_name
from shoal.documents.evidence.pack_draft import PRIVATE, PUBLIC, Draft
from shoal.documents.evidence.signatures import check_signing, sign_content
from shoal.documents.report.build_report import study_release
from shoal.documents.report.report_parts import SignOff
from shoal.errors import DataError, OutputError
from shoal.io.formats import scheme_of
from shoal.io.links import follow_links
from shoal.judging.read_case import Received
from shoal.policy import Policy, toml
from shoal.policy.file_limits import for_file, places_in
from shoal.policy.sources import inputs_of, name_of, without_folders
from shoal.release.conclusion import Conclusion
from shoal.release.received.read_record import pin_choice, read_record
from shoal.release.two_tables import second_beside
from shoal.support.run import Progress, silent
from shoal.support.wording import printable

OWN = (
    *(MANIFEST, "report.html", "codebook.md", "card.md", "attacks.json", "policy.toml", "record.json"),
    *("anonymization-report.md", "expert-determination.md"),
)
"""The documents in a pack."""


@dataclass(frozen=True, kw_only=True)
class Pack:
    """An evidence pack that was written."""

    folder: Path
    zip: Path
    files: tuple[str, ...]
    conclusion: Conclusion
    """What became of the release: whether it satisfies its policy, and what a reader should know."""
    signed: bool
    notes: tuple[str, ...] = ()
    """What the pack lacks, and why."""

    @property
    def holds(self) -> bool | None:
        """Whether the release satisfies its policy; None if that could not be checked."""
        return self.conclusion.holds


def evidence(
    source: str | Path,
    policy: Policy | str | Path,
    *,
    original: Any,
    output: str | Path,
    record: str | Path | None = None,
    second: str | Path | None = None,
    suppressed_as: str | None = None,
    comparison: Any = None,
    sign: str | Path | None = None,
    owner: str = "",
    purpose: str = "",
    recipient: str = "",
    date: str = "",
    signed_by: str = "",
    force: bool = False,
    progress: Progress = silent,
) -> Pack:
    """Write an evidence pack about a release that is a file: both reports, card, codebook, record, policy, the attacks
    that were tried, versions and digests, and two documents for regulators; as the folder `output` and as a zip.

    Files that may be published stand in ``public``, others in ``private``. `sign` is a private key of OpenSSH. A pack
    is written of a release that violates its policy, too: it then says so, and marks nothing as public.
    """
    release, folder = Path(source), Path(output)
    chosen = Policy.given(policy, {})
    archive = folder.with_name(f"{folder.name}.zip")
    _check(release, second, folder, archive, sign, force=force)
    given = {"the release": release, "the original": original, "the record": record, "the second table": second,
             "the comparison": comparison, "the key": sign, "the policy": policy}  # fmt: skip
    inputs = inputs_of(chosen) | {one: what for what, one in given.items() if isinstance(one, str | Path)}
    io.check_apart(inputs, [(archive, "the archive"), (folder, "the pack")])
    sign_off = SignOff(owner=owner, purpose=purpose, recipient=recipient, date=date, signed_by=signed_by)
    told = read_record(record)
    received = Received(
        release,
        original,
        _second_table(release, second, chosen),
        suppressed_as=suppressed_as,
        record=record,
    )

    def most(stage: str, share: float) -> None:
        progress(stage, 0.9 * share)

    study = study_release(received, chosen, comparison, sign_off, most)
    draft = Draft.of(received, study, told, most)
    texts, copies = draft.texts(), draft.copies()
    pinned = Policy.from_dict(pin_choice(chosen.to_dict(), told), chosen.base)
    movable = _movable(pinned, (*OWN, *(Path(name).name for name in copies)))
    texts[f"{PRIVATE}/policy.toml"] = movable.text
    copies |= {f"{PRIVATE}/{name}": path for path, name in movable.inside.items()}
    outside = {name: digest(path) for path, name in movable.outside.items() if path.is_file()}
    contents = {name: content.encode() for name, content in texts.items()}
    listed = manifest_text(draft.manifest(contents, copies, outside)).encode()
    contents[MANIFEST] = listed
    if sign is not None:
        contents[SIGNATURE] = sign_content(listed, Path(sign))
    contents[SEAL] = seal_text(listed, contents.get(SIGNATURE)).encode()
    progress("write", 0.95)
    _write(folder, archive, contents, copies, force=force)
    return Pack(
        folder=folder,
        zip=archive,
        files=tuple(sorted((*contents, *copies))),
        conclusion=draft.private.conclusion,
        signed=sign is not None,
        notes=tuple(draft.notes),
    )


def _second_table(release: Path, given: str | Path | None, policy: Policy) -> Path | None:
    """Return the second table of a release: the given one, else the file next to it if that belongs to it."""
    if given is None:
        names = io.read(release, policy.release_options(None)).columns
        given = second_beside(release, names, policy.names(SENSITIVE))
    return None if given is None else Path(given)


def _check(
    release: Path,
    second: str | Path | None,
    folder: Path,
    archive: Path,
    sign: str | Path | None,
    *,
    force: bool,
) -> None:
    """Reject what cannot be written, before the work."""
    follow_links(folder)
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} exists and is not a folder; choose another name")
    if folder.is_dir() and any(folder.iterdir()) and not (force and _is_pack(folder)):
        raise OutputError(
            f"{folder} exists and is not empty. A pack contains nothing else: choose a new folder. "
            "Only an older pack can be replaced, with force"
        )
    io.check_writable(archive, force=force, table=False)
    for table in (release, second):
        if table is not None and not Path(table).is_file():
            raise DataError(f"{table} is not a file: a pack contains a release as one file")
        if table is not None and plain_name(Path(table).name) != Path(table).name:
            raise OutputError(
                f"{printable(str(table))}: give this file another name, without special characters"
            )
    if sign is not None:
        check_signing(Path(sign))


def _is_pack(folder: Path) -> bool:
    """Whether a folder contains a pack and nothing else."""
    try:
        return not folder_problems(folder) and not foreign(folder, read_manifest(folder))
    except DataError:
        return False


@dataclass(frozen=True)
class _Movable:
    """A policy as it can be used elsewhere."""

    text: str
    inside: Mapping[Path, str]
    """The files that belong next to it, with their names there."""
    outside: Mapping[Path, str]
    """Files that are about people, so they are not in the pack, with their names in the policy."""


def _movable(policy: Policy, taken: Iterable[str]) -> _Movable:
    """Make a policy that can be used elsewhere; files next to it have other names than those that are taken."""
    tables = toml.parse_toml(policy.to_toml(), "policy")
    for key in ("master", "settings"):  # of the cluster here
        tables.get("engine", {}).pop(key, None)
    inside: dict[Path, str] = {}
    outside: dict[Path, str] = {}
    for path, part, key in places_in(tables):
        place = part[key]
        if key in ("source", "file"):
            place = part[key] = for_file(place)
        if key == "hierarchy":
            kind = parse_hierarchy(place)
            if isinstance(kind, File):
                part[key] = _name_in(inside, policy.base / kind.path, taken)
        elif key == "workload":
            part[key] = _name_in(inside, policy.base / place, taken)
        elif key != "source" and not scheme_of(place):
            part[key] = _name_in(outside, policy.base / place)
        elif path == "population.file":
            part[key] = name_of(place)
    return _Movable(without_folders(toml.document(tables)), inside, outside)


def _name_in(names: dict[Path, str], path: Path, taken: Iterable[str] = ()) -> str:
    """Return the name of a file, another one than all others have on any system."""
    name = plain_name(path.name)
    others = {same_name(other) for other in (*names.values(), *taken)}
    while path not in names and same_name(name) in others:
        name = f"_{name}"
    return names.setdefault(path, name)


def _write(
    folder: Path, archive: Path, contents: Mapping[str, bytes], copies: Mapping[str, Path], *, force: bool
) -> None:
    made_here = not folder.exists()
    subfolders = (folder / PUBLIC, folder / PRIVATE)
    stale = {} if made_here or not _is_pack(folder) else read_manifest(folder)["files"]
    try:
        for name in (PUBLIC, PRIVATE):
            if any(file.startswith(f"{name}/") for file in (*contents, *copies)):
                follow_links(folder / name).mkdir(
                    parents=True, exist_ok=True, mode=0o755 if name == PUBLIC else 0o700
                )
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}") from None
    try:
        with io.Outbox(force=force) as box:
            for name, content in contents.items():
                box.write_bytes(folder / name, content, private=not name.startswith(f"{PUBLIC}/"))
            for name, path in copies.items():
                box.copy(path, folder / name, private=not name.startswith(f"{PUBLIC}/"))
            box.write_bytes(archive, _zip_contents(contents, copies))
    except BaseException:
        _remove_empty(*subfolders, *([folder] if made_here else []))
        raise
    for name in {*stale, SIGNATURE} - {*contents, *copies}:
        (folder / name).unlink(missing_ok=True)
    _remove_empty(*subfolders)


def _remove_empty(*folders: Path) -> None:
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _zip_contents(contents: Mapping[str, bytes], copies: Mapping[str, Path]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        for name, path in copies.items():
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
