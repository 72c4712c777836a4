"""Checking an evidence pack: every byte of it, its signature, and the release once more."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.errors import DataError, ShoalError
from shoal.packs.manifest import MANIFEST, SIGNATURE, differences, digest, read_manifest
from shoal.packs.signing import signer
from shoal.run import Progress, silent


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
    """The release satisfies its policy, audited again; None if the audit could not be done."""
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
    signers: str | Path | None = None,
    progress: Progress = silent,
) -> Checked:
    """Check an evidence pack, a folder or a zip: the digest of every file, the signature if there is one, and the
    release, which is audited again with the policy and the record of the pack.

    `original` is the table that the release was made from; it must be the one that the manifest names. Without it, the
    audit reads the release alone. `signers` lists whose signatures count, as ``allowed_signers`` of OpenSSH does.
    """
    with _opened(Path(pack)) as folder:
        manifest = read_manifest(folder)
        progress("digests", 0.0)
        problems = differences(folder, manifest)
        who, known, trouble = _signature(folder, None if signers is None else Path(signers))
        problems += trouble
        notes = []
        if original is not None:
            problems += _other_original(manifest, original)
        else:
            notes.append("the original was not given, so the release was audited without it")
        holds: bool | None = None
        if not problems:
            progress("audit", 0.3)
            try:
                holds = _audited(folder, manifest, original, progress)
            except ShoalError as error:
                notes.append(f"the release could not be audited again: {error}")
        else:
            notes.append("the release was not audited again, because the pack was changed")
    return Checked(
        problems=tuple(problems),
        signed_by=who,
        known=known,
        holds=holds,
        with_original=original is not None,
        notes=tuple(notes),
    )


def _audited(folder: Path, manifest: dict[str, Any], original: Any, progress: Progress) -> bool:
    from shoal.auditing import audit
    from shoal.policy import Policy

    def told(key: str) -> Path | None:
        return folder / manifest[key] if manifest.get(key) else None

    policy = folder / manifest["policy"]
    found = audit(
        folder / manifest["release"],
        Policy.read(policy),
        original=original,
        second=told("second"),
        record=told("record"),
        suppressed_as=manifest.get("suppressed_as"),
        progress=progress,
    )
    return found.holds


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
def _opened(pack: Path) -> Iterator[Path]:
    """Yield the folder of a pack; a zip is unpacked into a folder of this user, which is removed afterwards."""
    if not pack.exists():
        raise DataError(f"{pack} does not exist; give the folder or the zip of an evidence pack")
    if pack.is_dir():
        yield pack
        return
    with tempfile.TemporaryDirectory(prefix="shoal-pack-") as folder:
        try:
            with zipfile.ZipFile(pack) as archive:
                for entry in archive.infolist():
                    place = PurePosixPath(entry.filename)
                    if place.is_absolute() or ".." in place.parts:
                        raise DataError(f"{pack} is not an evidence pack: it names files outside of itself")
                broken = archive.testzip()
                if broken is not None:
                    raise DataError(f"{pack} was changed: {broken} cannot be unpacked")
                archive.extractall(folder)
        except (
            zipfile.BadZipFile,
            zipfile.LargeZipFile,
            EOFError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise DataError(f"{pack} cannot be read as a zip: {error}") from None
        yield Path(folder)
