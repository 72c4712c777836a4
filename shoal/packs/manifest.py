"""The manifest of an evidence pack: what it contains, with the digest of every file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import DataError
from shoal.wording import either

MANIFEST = "manifest.json"
SEAL = "manifest.json.sha256"
"""The digests of the manifest and its signature, so that a change of these is noticed, too."""
SIGNATURE = "manifest.json.sig"
UNLISTED = (MANIFEST, SEAL, SIGNATURE)
"""Files of a pack that the manifest cannot list."""
PIECE = 1 << 20


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
    """Read the manifest of a pack."""
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{folder} is not an evidence pack: it has no {MANIFEST}; "
            + either(command="`shoal evidence` makes one", python="`shoal.evidence` makes one")
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as the manifest of an evidence pack: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("files"), dict) or "release" not in found:
        raise DataError(f"{path} is not the manifest of an evidence pack: it lacks 'files' or 'release'")
    return found


def differences(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return, in words, every file of a pack that is not what its manifest says; nothing if all are."""
    found = []
    seal, signature = folder / SEAL, folder / SIGNATURE
    own = (folder / MANIFEST).read_bytes(), signature.read_bytes() if signature.is_file() else None
    if not seal.is_file():
        found.append(f"{SEAL} is missing")
    elif seal.read_bytes() != seal_text(*own).encode():
        found.append(f"{MANIFEST}, its signature or {SEAL} was changed: the digest is another one")
    listed: Mapping[str, Any] = manifest["files"]
    for name, told in listed.items():
        path = folder / name
        if not _inside(folder, path):
            found.append(f"{name} lies outside of the pack")
        elif not path.is_file():
            found.append(f"{name} is missing")
        elif not isinstance(told, Mapping) or digest(path) != told.get("sha256"):
            found.append(f"{name} was changed: its digest is another one")
    found += [f"{name} does not belong to the pack" for name in foreign(folder, manifest)]
    return found


def foreign(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return the files in the folder of a pack that its manifest does not list."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    return sorted(there - {*manifest["files"], *UNLISTED})


def _inside(folder: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())
