"""Checking an evidence pack: every byte of it, its signature, and the release once more."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import DataError, ShoalError
from shoal.frames.formats import scheme_of
from shoal.machine.files import read_text
from shoal.packs.contents import folder_problems, unpack
from shoal.packs.manifest import MANIFEST, SIGNATURE, differences, digest, notes_of, read_manifest
from shoal.packs.signing import signer
from shoal.policy.sources import name_of
from shoal.run import Progress, silent
from shoal.wording import either


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
    with _opened(Path(pack)) as (folder, problems):
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
            if earlier is not None:
                problems += _other_earlier(manifest, Path(earlier))
            if original is not None:
                problems += _other_original(manifest, original)
            else:
                notes.append("the original was not given, so the release was audited without it")
        if not problems:
            progress("audit", 0.3)
            try:
                holds, audited = _audited(folder, manifest, original, population, earlier, progress), True
            except _OutsideError as error:
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


def _audited(
    folder: Path,
    manifest: dict[str, Any],
    original: Any,
    population: Any,
    earlier: str | Path | None,
    progress: Progress,
) -> bool | None:
    from shoal.auditing import audit
    from shoal.policy import Policy
    from shoal.policy.sources import inputs_of

    def told(key: str) -> Path | None:
        return folder / manifest[key] if manifest.get(key) else None

    policy = Policy.read(
        folder / manifest["policy"], _settings(folder / manifest["policy"], population, earlier)
    )
    given = ("the data that the policy names", "the population", "an earlier release")
    for place, what in inputs_of(policy).items():
        inside = isinstance(place, Path) and Path(os.path.normpath(place)).is_relative_to(folder)
        if not inside and what not in given:
            raise _OutsideError(f"{what} is outside of the pack: {place}")
    found = audit(
        folder / manifest["release"],
        policy,
        original=original,
        second=told("second"),
        record=told("record"),
        suppressed_as=manifest.get("suppressed_as"),
        progress=progress,
    )
    return found.holds


class _OutsideError(DataError):
    """The policy of a pack names a file outside of it, which no pack of Shoal does."""


def _settings(policy: Path, population: Any, earlier: str | Path | None) -> list[str]:
    """Return settings that find the population and the earlier releases of a policy where the user has them. A pack
    does not contain them, because they are about people: raises DataError with what to give, if it is missing.
    """
    from shoal.policy import toml

    tables = toml.parsed(read_text(policy), policy.name)
    privacy, listed = tables.get("privacy"), tables.get("population")
    found = []
    if isinstance(listed, dict) and "file" in listed:
        if population is None:
            how = either(command="--population FILE", python="population=FILE")
            raise DataError(
                f"the policy names the population {listed['file']}, which a pack does not contain: give it, {how}"
            )
        found.append(f"population.file={toml.value(str(Path(population).resolve()))}")
    named = privacy.get("earlier") if isinstance(privacy, dict) else None
    if not isinstance(named, list):
        return found
    each = [one if isinstance(one, dict) else {"release": one} for one in named]
    names = ", ".join(str(text) for one in each for text in one.values())
    if earlier is None or any(scheme_of(str(text)) for one in each for text in one.values()):
        how = either(command="--earlier FOLDER", python="earlier=FOLDER")
        raise DataError(
            f"the policy names earlier releases, which a pack does not contain: give a folder with copies of {names}, "
            f"{how}"
        )
    place = Path(earlier).resolve()
    moved = [{key: str(place / name_of(str(text))) for key, text in one.items()} for one in each]
    return [*found, f"privacy.earlier={toml.value(moved)}"]


def _other_earlier(manifest: dict[str, Any], folder: Path) -> list[str]:
    """Return, in words, files of earlier releases that are not those that the pack was made with."""
    return [
        f"{folder / name} is not the earlier file of this pack: its digest is another one"
        for name, known in manifest.get("earlier", {}).items()
        if (folder / name).is_file() and digest(folder / name) != known
    ]


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
def _opened(pack: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folder of a pack, and in words what cannot be in one. A zip without such is unpacked into a folder of
    this user, which is removed afterwards."""
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
