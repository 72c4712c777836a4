"""The manifest of an evidence pack: what it contains, with the digest of every file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.documents.evidence.pack_contents import names_problems, printable_name
from shoal.errors import DataError
from shoal.release.record import NOT_FOR_PUBLICATION
from shoal.support.wording import either, first_line

MANIFEST = "manifest.json"
SEAL = "manifest.json.sha256"
"""The digests of the manifest and its signature, so that a change of these is noticed, too."""
SIGNATURE = "manifest.json.sig"
UNLISTED = (MANIFEST, SEAL, SIGNATURE)
"""Files of a pack that the manifest cannot list."""
PIECE = 1 << 20
MOST_BYTES = 16 << 20
"""Bytes that a manifest, its seal or its signature has at most."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file. O(bytes), in pieces."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            found.update(piece)
    return found.hexdigest()


def entry(content: bytes) -> dict[str, Any]:
    """Return what the manifest says about a file with this content."""
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def entry_of(path: Path) -> dict[str, Any]:
    """Return what the manifest says about a file."""
    return {"sha256": digest(path), "bytes": path.stat().st_size}


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """Write a manifest."""
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def seal_text(manifest: bytes, signature: bytes | None = None) -> str:
    """Write the digests of a manifest and its signature, in the form that ``sha256sum --check`` reads."""
    lines = [f"{hashlib.sha256(manifest).hexdigest()}  {MANIFEST}\n"]
    if signature is not None:
        lines.append(f"{hashlib.sha256(signature).hexdigest()}  {SIGNATURE}\n")
    return "".join(lines)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a pack, and check that it names only files of the pack, with their digests and sizes."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
        found = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_reject_constant)
    except FileNotFoundError:
        raise DataError(
            f"{folder} is not an evidence pack: it has no {MANIFEST}; "
            + either(command="`shoal evidence` makes one", python="`shoal.evidence` makes one")
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path} cannot be read as the manifest of an evidence pack: {first_line(error)}"
        ) from None
    problem = _problem(found)
    if problem:
        raise DataError(f"{path} is not the manifest of an evidence pack: {problem}")
    return dict(found)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _reject_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


def _has_digest(facts: Any) -> bool:
    """Whether these are the digest and the size of a file."""
    size = facts.get("bytes") if isinstance(facts, dict) else None
    return type(size) is int and size >= 0 and bool(_DIGEST.fullmatch(str(facts.get("sha256"))))


def _problem(found: Any) -> str:
    """Return why this is not a manifest; empty if it is."""
    if not isinstance(found, dict) or not isinstance(found.get("files"), dict) or "release" not in found:
        return "it lacks 'files' or 'release'"
    files = found["files"]
    if problems := names_problems([*files, *UNLISTED]):
        return problems[0]
    for name, facts in files.items():
        if not _has_digest(facts):
            return f"{printable_name(name)} has no digest or no size"
    for key in ("release", "policy", "second", "record"):
        named = found.get(key)
        if not (isinstance(named, str) and named in files) and (named or key in ("release", "policy")):
            return f"its {key} is not one of its files"
    if not isinstance(found.get("suppressed_as"), str | None):
        return "'suppressed_as' is not a text"
    for key in ("original", "outside"):
        if not isinstance(found.get(key, {}), dict):
            return f"'{key}' is not a table"
    return ""


def differences(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return, in words, every file of a pack that is not what its manifest says; nothing if all are."""
    found = []
    seal, signature = folder / SEAL, folder / SIGNATURE
    large = [path for path in (seal, signature) if path.is_file() and path.stat().st_size > MOST_BYTES]
    if large:
        return [f"{path.name} has more than {MOST_BYTES:,} bytes" for path in large]
    own = (folder / MANIFEST).read_bytes(), signature.read_bytes() if signature.is_file() else None
    if not seal.is_file():
        found.append(f"{SEAL} is missing")
    elif seal.read_bytes() != seal_text(*own).encode():
        found.append(f"{MANIFEST}, its signature or {SEAL} was changed: the digest is another one")
    for name, facts in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif path.stat().st_size != facts["bytes"] or digest(path) != facts["sha256"]:
            found.append(f"{name} was changed: its digest is another one")
    found += [f"{printable_name(name)} does not belong to the pack" for name in foreign(folder, manifest)]
    return found


def foreign(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return the files and folders in the folder of a pack that its manifest does not list, or needs for no file."""
    listed = {*manifest["files"], *UNLISTED}
    folders = {parent.as_posix() for name in listed for parent in PurePosixPath(name).parents}
    there = {path.relative_to(folder).as_posix(): path.is_dir() for path in folder.rglob("*")}
    return sorted(name for name, is_folder in there.items() if name not in (folders if is_folder else listed))


def notes_of(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return the words of the card about a pack whose release is not for publication: its record says so."""
    from shoal.release.received.read_record import read_record

    own = manifest.get("notes")
    if isinstance(own, list) and NOT_FOR_PUBLICATION in own:
        return [NOT_FOR_PUBLICATION]
    try:
        return publication_notes(read_record(folder / manifest["record"]) if manifest.get("record") else None)
    except (DataError, RecursionError):
        return []  # the audit says that it cannot read the record


def publication_notes(record: Mapping[str, Any] | None) -> list[str]:
    """Return the words of the card about a release that is not for publication, given the record of its run."""
    seeded = record is not None and (
        record.get("seed") is not None or not record.get("for_publication", True)
    )
    return [NOT_FOR_PUBLICATION] if seeded else []
