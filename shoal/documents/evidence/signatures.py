"""Detached signatures with a key of the user: OpenSSH's, which most people have, so that no key is made for Shoal."""

from __future__ import annotations

import base64
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from shoal.errors import DataError, OutputError

PURPOSE = "shoal-evidence"
"""OpenSSH calls it the namespace: a signature for another purpose is not taken for one of a pack."""
_MOST_BYTES = 1 << 16
_FIRST, _LAST = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"
_WIDTH = 70
_START = b"SSHSIG" + struct.pack(">L", 1)


def check_signing(key: Path) -> None:
    """Refuse a key that is not there, before the work."""
    _keygen("sign")
    if not key.is_file():
        raise OutputError(
            f"the key {key} does not exist; `ssh-keygen -t ed25519 -f {key}` makes one, or give the path of yours"
        )


def sign_content(content: bytes, key: Path) -> bytes:
    """Sign content with an OpenSSH private key. OpenSSH asks for the passphrase on the terminal, if the key has one."""
    with tempfile.TemporaryDirectory(prefix="shoal-sign-") as folder:
        path = Path(folder) / "content"
        path.write_bytes(content)
        done = subprocess.run(
            [_keygen("sign"), "-q", "-Y", "sign", "-f", str(key), "-n", PURPOSE, str(path)],
            capture_output=True, check=False,
        )  # fmt: skip
        written = path.with_name(f"{path.name}.sig")
        if done.returncode or not written.exists():
            raise OutputError(f"ssh-keygen could not sign with {key}: {_words(done)}")
        return written.read_bytes().replace(b"\r\n", b"\n")


def signer(content: bytes, signature: Path, signers: Path | None) -> tuple[str, bool]:
    """Check a signature. Return who signed, and whether that is known: the name in the list `signers` (the
    ``allowed_signers`` of OpenSSH), or the fingerprint of the key without one. DataError if the signature is not right.
    """
    keygen = _keygen("check a signature")
    if not _has_form(signature):
        raise DataError(
            f"{signature.name} was changed: it is not exactly one signature in the form that ssh-keygen writes"
        )
    if signers is None:
        done = _ran([keygen, "-Y", "check-novalidate", "-n", PURPOSE, "-s", str(signature)], content)
        found = re.search(r"(\S+) key (\S+)", done.stdout.decode(errors="replace"))
        if done.returncode or found is None:
            raise DataError(f"the signature is not right: {_words(done)}")
        return f"{found[1]} {found[2]}", False
    if not signers.is_file():
        raise DataError(f"the list of signers {signers} does not exist")
    asked = _ran([keygen, "-Y", "find-principals", "-s", str(signature), "-f", str(signers)], b"")
    names = asked.stdout.decode(errors="replace").split()
    if asked.returncode or not names:
        raise DataError(f"the pack is signed with a key that {signers} does not list")
    command = [
        keygen,
        "-Y",
        "verify",
        "-f",
        str(signers),
        "-I",
        names[0],
        "-n",
        PURPOSE,
        "-s",
        str(signature),
    ]
    done = _ran(command, content)
    if done.returncode:
        raise DataError(f"the signature is not right: {_words(done)}")
    return names[0], True


def _has_form(signature: Path) -> bool:
    """Whether a file is one signature and nothing else. ssh-keygen ignores text after a signature and the reserved
    field in it, so both could be changed in a signed pack.
    """
    if signature.stat().st_size > _MOST_BYTES:
        return False
    content = signature.read_bytes()
    try:
        blob = base64.b64decode(
            content.removeprefix(_FIRST).removesuffix(_LAST).replace(b"\n", b""), validate=True
        )
    except ValueError:
        return False
    text = base64.b64encode(blob)
    lines = [text[at : at + _WIDTH] + b"\n" for at in range(0, len(text), _WIDTH)]
    if content != _FIRST + b"".join(lines) + _LAST or not blob.startswith(_START):
        return False
    fields, at = [], len(_START)
    while at + 4 <= len(blob):
        end = at + 4 + int.from_bytes(blob[at : at + 4])
        fields.append(blob[at + 4 : end])
        at = end
    # public key, namespace, reserved, hash, signature
    return at == len(blob) and len(fields) == 5 and not fields[2]


def _keygen(what: str) -> str:
    found = shutil.which("ssh-keygen")
    if found is None:
        raise OutputError(
            f"to {what}, Shoal needs ssh-keygen of OpenSSH, which is not installed; on Debian and Ubuntu: "
            "apt-get install openssh-client"
        )
    return found


def _ran(command: list[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=content, capture_output=True, check=False)


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    told = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
    return told.splitlines()[-1] if told else "it did not say why"
