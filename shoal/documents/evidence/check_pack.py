"""Checking an evidence pack: every byte of it, its signature, and the release once more."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.documents.evidence.manifest import (
    MANIFEST,
    SIGNATURE,
    differences,
    digest,
    notes_of,
    read_manifest,
)
from shoal.documents.evidence.pack_contents import folder_problems, unpack
from shoal.documents.evidence.signatures import signer
from shoal.errors import DataError, ShoalError
from shoal.io.databases import DatabaseTable, in_database
from shoal.io.formats import scheme_of
from shoal.policy import toml
from shoal.policy.file_limits import places_in
from shoal.policy.sources import inputs_of, name_of
from shoal.support.machine.files import read_text
from shoal.support.run import Progress, silent
from shoal.support.wording import either


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the check of a pack has found."""

    problems: tuple[str, ...]
    """Why the pack cannot be trusted; empty if it can."""
    signed_by: str
    """Who signed it: a name of the given list, or the fingerprint of a key; empty if nobody did."""
    known: bool
    """The signer is in the given list."""
    holds: bool | None
    """The release satisfies its policy, audited again; None if not everything could be checked."""
    audited: bool
    """The release could be audited again."""
    with_original: bool
    """The audit compared the release with the original."""
    notes: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Nothing was changed, and the release satisfies its policy."""
        return not self.problems and self.holds is True


def check_evidence(
    pack: str | Path,
    *,
    original: Any = None,
    population: Any = None,
    earlier: str | Path | None = None,
    signers: str | Path | None = None,
    progress: Progress = silent,
) -> Checked:
    """Check an evidence pack, a folder or a zip: the digest of every file, the signature if there is one, and the
    release, which is audited again with the policy and the record of the pack.

    `original` is the table that the release was made from; it must be the one that the manifest names. Without it, the
    audit reads the release alone. `population` is the file that the policy names: it is about people, so a pack does
    not contain it. `earlier` is the folder with the earlier releases that the policy names, and with their originals
    and records, for the same reason. What needs a missing file could not be checked: `holds` is None. `signers` lists
    whose signatures count, as ``allowed_signers`` of OpenSSH does.
    """
    with _open_pack(Path(pack)) as (folder, problems):
        who, known, notes = "", False, []
        holds: bool | None = None
        audited = False
        if not problems:
            manifest = read_manifest(folder)
            notes += notes_of(folder, manifest)
            progress("digests", 0.0)
            problems = _differences(folder, manifest)
            who, known, trouble = _signature(folder, None if signers is None else Path(signers))
            problems += trouble
            if original is not None:
                problems += _other_original(manifest, original)
            else:
                notes.append("the original was not given, so the release was audited without it")
        if not problems:
            progress("audit", 0.3)
            try:
                holds, audited = _audit_pack(folder, manifest, original, population, earlier, progress), True
            except _ChangedError as error:
                problems = [str(error)]
            except ShoalError as error:
                notes.append(f"the release could not be audited again: {error}")
        if problems:
            notes.append("the release was not audited again, because the pack was changed")
    return Checked(
        problems=tuple(problems),
        signed_by=who,
        known=known,
        holds=holds,
        audited=audited,
        with_original=original is not None,
        notes=tuple(notes),
    )


def _differences(folder: Path, manifest: dict[str, Any]) -> list[str]:
    try:
        return differences(folder, manifest)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None


def _audit_pack(
    folder: Path,
    manifest: dict[str, Any],
    original: Any,
    population: Any,
    earlier: str | Path | None,
    progress: Progress,
) -> bool | None:
    from shoal.pipeline.audit import audit
    from shoal.policy import Policy

    def find_file(key: str) -> Path | None:
        return folder / manifest[key] if manifest.get(key) else None

    policy = Policy.read(
        folder / manifest["policy"], _settings(folder / manifest["policy"], manifest, population, earlier)
    )
    given = ("the data that the policy names", "the population", "an earlier release")
    for place, what in inputs_of(policy).items():
        inside = isinstance(place, Path) and Path(os.path.normpath(place)).is_relative_to(folder)
        if not inside and what not in given:
            raise _ChangedError(f"{what} is outside of the pack: {place}")
    found = audit(
        folder / manifest["release"],
        policy,
        original=original,
        second=find_file("second"),
        record=find_file("record"),
        suppressed_as=manifest.get("suppressed_as"),
        progress=progress,
    )
    return found.holds


class _ChangedError(DataError):
    """A file that the policy of a pack names is not the one that it was made with, or outside of the pack."""


def _settings(
    policy: Path, manifest: Mapping[str, Any], population: Any, earlier: str | Path | None
) -> list[str]:
    """Return settings that find the population and the earlier releases of a policy where the user has them, and that
    start no Spark. A pack does not contain them, because they are about people: raises DataError with what to give.
    """
    tables = toml.parse_toml(read_text(policy), policy.name)
    listed = [one for one in places_in(tables) if one[0].startswith(("population.file", "privacy.earlier"))]
    names = [str(part[key]) for _, part, key in listed]
    settings = {"engine.name": "local"}
    for name, (path, part, key) in zip(names, listed, strict=True):
        if path == "population.file":
            given, what = population, f"the population {name}, which a pack does not contain: give it"
            how = either(command="--population FILE", python="population=FILE")
        else:
            given = None if earlier is None or scheme_of(name) else Path(earlier) / name_of(name)
            what = f"earlier releases, which a pack does not contain: give a folder with copies of {', '.join(names)}"
            how = either(command="--earlier FOLDER", python="earlier=FOLDER")
        if given is None:
            raise DataError(f"the policy names {what}, {how}")
        part[key] = _resolve_source(given)
        known = manifest.get("outside", {}).get(name)
        if known is not None and Path(part[key]).is_file() and digest(Path(part[key])) != known:
            raise _ChangedError(f"{part[key]} is not the file of this pack: its digest is another one")
        value = part[key] if path == "population.file" else tables["privacy"]["earlier"]
        settings[path.partition("[")[0]] = toml.value(value)
    return [f"{path}={value}" for path, value in settings.items()]


def _resolve_source(given: Any) -> str:
    """Return the path or the address of a table as a policy elsewhere needs it."""
    found = given if isinstance(given, DatabaseTable) else in_database(str(given))
    return str(found.beside(Path.cwd()).source if isinstance(found, DatabaseTable) else Path(found).resolve())


def _signature(folder: Path, signers: Path | None) -> tuple[str, bool, list[str]]:
    signature = folder / SIGNATURE
    if not signature.is_file():
        missing = [] if signers is None else ["the pack is not signed, but a list of signers was given"]
        return "", False, missing
    try:
        who, known = signer((folder / MANIFEST).read_bytes(), signature, signers)
    except DataError as error:
        return "", False, [str(error)]
    return who, known, []


def _other_original(manifest: dict[str, Any], original: Any) -> list[str]:
    told = manifest.get("original", {}).get("sha256")
    if not told or not isinstance(original, str | Path) or not Path(original).is_file():
        return []
    if digest(Path(original)) == told:
        return []
    return [f"{original} is not the original of this pack: its digest is another one"]


@contextmanager
def _open_pack(pack: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folder of a pack, and the entries that no valid pack contains. A zip without such entries is unpacked
    into a temporary folder, which is removed afterwards.
    """
    if not pack.exists():
        raise DataError(f"{pack} does not exist; give the folder or the zip of an evidence pack")
    if pack.is_dir():
        folder = pack.resolve()
        yield folder, folder_problems(folder)
        return
    if not pack.is_file():
        raise DataError(
            f"{pack} is neither a folder nor a file; give the folder or the zip of an evidence pack"
        )
    with tempfile.TemporaryDirectory(prefix="shoal-pack-") as name:
        folder = Path(name).resolve()
        yield folder, unpack(pack, folder)
