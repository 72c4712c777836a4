"""Evidence packs: what they contain, and that a change of any byte is found."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import re
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from io import BytesIO, RawIOBase
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.documents.evidence import pack_contents as contents
from shoal.documents.evidence.check_pack import check_evidence
from shoal.documents.evidence.manifest import MANIFEST, SEAL, SIGNATURE, entry_of, seal_text
from shoal.documents.evidence.pack import _is_pack as is_pack
from shoal.documents.evidence.pack import evidence
from shoal.errors import ShoalError
from shoal.pipeline.anonymize import anonymize_file
from shoal.release.record import NOT_FOR_PUBLICATION


def run(*words, code=0):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release of the sample, and its pack, signed."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen of OpenSSH is not installed")
    folder = tmp_path_factory.mktemp("evidence")
    run("sample", "patients", "--rows", 300, "-o", folder / "patients.csv")
    run(
        "anonymize", folder / "patients.csv", "-p", folder / "patients.toml", "-o", folder / "release.csv",
        "--record", folder / "record.json", "--card", folder / "card.md",
    )  # fmt: skip
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    run(
        "evidence", folder / "release.csv", "--original", folder / "patients.csv", "-p", folder / "patients.toml",
        "--record", folder / "record.json", "-o", folder / "pack", "--owner", "The | hospital",
        "--sign", folder / "key",
    )  # fmt: skip
    return folder


@pytest.fixture
def copied(made, tmp_path):
    shutil.copytree(made / "pack", tmp_path / "pack")
    return tmp_path / "pack"


def files(pack: Path):
    return sorted(path.relative_to(pack).as_posix() for path in pack.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ["anonymization-report.md", "expert-determination.md"])
def test_each_threat_has_its_requirement_its_attack_and_what_remains(made, name):
    text = (made / "pack" / "private" / name).read_text()
    parts = re.split(r"\*\*(Re-identification|Attribute disclosure|Membership)\*\*", text)[1:]
    assert parts[::2] == ["Re-identification", "Attribute disclosure", "Membership"]
    for about in parts[1::2]:
        assert all(f"\n- {word}: " in about for word in ("Requirement", "Attack", "What remains"))
    if name.startswith("anonymization"):
        assert "The largest chance in this release, 0.2, is **above** it." in text


def test_where_nothing_is_asked_for_nothing_is_withstood(tmp_path):
    """HIPAA Safe Harbor asks for no classes: an attack cannot find more than such a policy allows."""
    table = pl.DataFrame({"age": [str(20 + row) for row in range(30)], "ill": ["flu", "gout"] * 15})
    policy = shoal.Policy.from_keywords(
        quasi=["age"],
        sensitive=["ill"],
        hierarchies={"age": "none"},
        safe_harbor={"age": "age", "ill": "other"},
    )
    made = shoal.anonymize(table, policy)
    told = shoal.report(made.table, policy, original=table, edition="private")
    cards = {card.key: card for card in told.sections[0].parts[1].cards}
    found = cards["re-identification"]
    assert found.state == "warn"
    assert "Requirement: none; only the attacks speak about it." in found.lines


def test_a_pack_has_what_defends_the_release(made):
    pack = made / "pack"
    assert {
        "public/release.csv", "public/report.html", "public/card.md", "public/codebook.md", "private/report.html",
        "private/record.json", "private/policy.toml", "private/attacks.json", "private/anonymization-report.md",
        "private/expert-determination.md", MANIFEST, SEAL, SIGNATURE,
    } <= set(files(pack))  # fmt: skip
    assert (pack / "public/release.csv").read_bytes() == (made / "release.csv").read_bytes()
    assert (pack / "private/record.json").read_bytes() == (made / "record.json").read_bytes()
    manifest = json.loads((pack / MANIFEST).read_text())
    told = subprocess.run(["sha256sum", made / "patients.csv"], capture_output=True, text=True, check=True)
    assert manifest["original"] == {"rows": 300, "name": "patients.csv", "sha256": told.stdout.split()[0]}
    assert manifest["holds"]
    assert manifest["for_publication"]
    assert "shoal" in manifest["versions"]
    tried = json.loads((pack / "private/attacks.json").read_text())
    assert {"linkage", "attribute-disclosure"} <= {one["attack"] for one in tried}
    assert all("options" in one and one["holds"] for one in tried if "success" in one)
    # The digests are those of sha256sum, so that anyone can check them without Shoal.
    done = subprocess.run(["sha256sum", "--check", SEAL], cwd=pack, capture_output=True, check=False)
    assert done.returncode == 0


def test_the_card_is_the_one_of_the_run(made):
    def guarantees(path):
        lines = path.read_text().splitlines()
        return lines[lines.index("## What it protects against") : lines.index("## What it cost")]

    assert guarantees(made / "pack/public/card.md") == guarantees(made / "card.md")


def test_outlines_are_filled_and_leave_judgement_to_a_person(made):
    for name in ("anonymization-report.md", "expert-determination.md"):
        text = (made / "pack/private" / name).read_text()
        assert "The \\| hospital" in text
        assert "To be judged by a person" in text
        assert "____" in text
        assert "5-anonymity" in text
        assert "satisfies" in text
        assert "The release satisfies its policy." in text


def test_private_files_are_the_owners_alone(made):
    for path in (made / "pack/private").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    assert (made / "pack.zip").stat().st_mode & 0o077 == 0


def test_nothing_private_is_public(made):
    public = b"".join(path.read_bytes() for path in (made / "pack/public").iterdir())
    names = [line.split(",")[0].encode() for line in (made / "patients.csv").read_text().splitlines()[1:]]
    assert not any(name in public for name in names if len(name) > 6)


def test_a_right_pack_is_right_as_folder_and_as_zip(made):
    for pack in (made / "pack", made / "pack.zip"):
        told = run("evidence", "--check", pack)
        assert "every file is as it was" in told
        assert "audited again: the release satisfies" in told
        assert "signed with the key ED25519 SHA256:" in told
        assert "without it" in told
    told = run("evidence", "--check", made / "pack", "--original", made / "patients.csv", "--json")
    assert json.loads(told)["right"]
    assert json.loads(told)["with_original"]


def test_a_changed_byte_in_any_file_is_found(made, copied):
    for name in files(copied):
        path = copied / name
        content = path.read_bytes()
        for at in {0, len(content) // 2, len(content) - 1}:
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            try:
                found = shoal.check_evidence(copied)
                assert not found.right
                assert found.problems, (name, at)
            except shoal.DataError:
                assert name == MANIFEST  # it is no manifest any more
        path.write_bytes(content)
    assert shoal.check_evidence(copied).right


def test_missing_and_further_files_are_found(copied):
    (copied / "private/attacks.json").unlink()
    (copied / "public/more.csv").write_text("a\n")
    told = run("evidence", "--check", copied, code=5)
    assert "private/attacks.json is missing" in told
    assert "public/more.csv does not belong to the pack" in told
    assert "not audited again" in told


def test_a_forged_manifest_is_found_by_its_signature(made, copied):
    text = (copied / "public/release.csv").read_bytes() + b"\n"
    (copied / "public/release.csv").write_bytes(text)
    from shoal.documents.evidence.manifest import entry, manifest_text, seal_text

    manifest = json.loads((copied / MANIFEST).read_text())
    manifest["files"]["public/release.csv"] = entry(text)
    (copied / MANIFEST).write_text(manifest_text(manifest))
    (copied / SEAL).write_text(seal_text((copied / MANIFEST).read_bytes(), (copied / SIGNATURE).read_bytes()))
    found = shoal.check_evidence(copied)
    assert len(found.problems) == 1
    assert "signature" in found.problems[0]
    # Without the signature, only whoever asks for one notices.
    (copied / SIGNATURE).unlink()
    (copied / SEAL).write_text(seal_text((copied / MANIFEST).read_bytes()))
    assert shoal.check_evidence(copied).right
    (made / "signers").write_text("")
    assert not shoal.check_evidence(copied, signers=made / "signers").right


def test_a_list_of_signers_names_the_signer(made, tmp_path):
    key = (made / "key.pub").read_text()
    (tmp_path / "signers").write_text(f"steward@example.org {key}")
    told = run("evidence", "--check", made / "pack", "--signers", tmp_path / "signers")
    assert "signed by steward@example.org" in told
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    (tmp_path / "signers").write_text(f"other@example.org {(tmp_path / 'other.pub').read_text()}")
    told = run("evidence", "--check", made / "pack", "--signers", tmp_path / "signers", code=5)
    assert "signed with a key that" in told


def test_another_original_is_found(made, tmp_path):
    other = tmp_path / "other.csv"
    other.write_bytes((made / "patients.csv").read_bytes() + b"\n")
    told = run("evidence", "--check", made / "pack", "--original", other, code=5)
    assert "is not the original of this pack" in told


def test_a_violated_policy_is_packed_and_nothing_of_it_is_public(made, tmp_path):
    told = run(
        "evidence", made / "release.csv", "--original", made / "patients.csv", "-p", made / "patients.toml",
        "--set", "privacy.k=200", "-o", tmp_path / "pack", code=5,
    )  # fmt: skip
    assert "violates its policy" in told
    assert "there is no record" in told
    assert not (tmp_path / "pack/public").exists()
    assert not shoal.check_evidence(tmp_path / "pack").right


def test_a_folder_with_files_is_refused_before_the_work(made, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/mine.txt").write_text("mine")
    told = run(
        "evidence", made / "release.csv", "--original", made / "patients.csv", "-p", made / "patients.toml",
        "-o", tmp_path / "pack", "--force", code=6,
    )  # fmt: skip
    assert "is not empty" in told
    assert files(tmp_path / "pack") == ["mine.txt"]


def test_an_older_pack_is_replaced_with_force_alone(made, copied):
    words = (
        "evidence", made / "release.csv", "--original", made / "patients.csv", "-p", made / "patients.toml",
        "-o", copied,
    )  # fmt: skip
    assert "Only an older pack can be replaced" in run(*words, code=6)
    run(*words, "--force")
    assert not (copied / SIGNATURE).exists()
    assert not (copied / "private/record.json").exists()
    assert shoal.check_evidence(copied, original=made / "patients.csv").right
    assert shoal.check_evidence(copied).holds is None  # neither record nor original says what was suppressed


def test_a_zip_that_is_none_and_a_folder_that_is_no_pack(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK no")
    assert "cannot be read as a zip" in run("evidence", "--check", tmp_path / "a.zip", code=3)
    assert "is not an evidence pack" in run("evidence", "--check", tmp_path, code=3)
    assert "does not exist" in run("evidence", "--check", tmp_path / "none", code=3)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("../outside", "x")
    assert "../outside is outside of the pack" in run("evidence", "--check", tmp_path / "b.zip", code=5)


def test_without_openssh_signing_is_refused_with_what_to_install(made, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.documents.evidence.signatures.shutil.which", lambda _: None)
    told = run(
        "evidence", made / "release.csv", "--original", made / "patients.csv", "-p", made / "patients.toml",
        "-o", tmp_path / "pack", "--sign", made / "key", code=6,
    )  # fmt: skip
    assert "openssh-client" in told
    assert not (tmp_path / "pack").exists()


def test_a_pack_says_what_was_perturbed_and_no_place_of_this_machine(tmp_path):
    """The card of a pack is that of the run, and its files name others without folders."""
    rows = pl.DataFrame({"age": [30, 31, 32, 50, 51, 52], "ill": list("abcabc"), "pay": [1, 2, 3, 4, 5, 6]})
    rows.write_csv(tmp_path / "data.csv")
    pl.concat([rows, rows]).write_csv(tmp_path / "everybody.csv")
    (tmp_path / "queries.toml").write_text(
        "[[query]]\nwhere = { age = { from = 30, to = 40 } }\n", encoding="utf-8"
    )
    policy = {
        "columns": {
            "age": "quasi", "ill": "sensitive", "pay": {"role": "plain", "perturb": {"round": 2}},
        },
        "privacy": {"k": 3},
        "population": {"file": str(tmp_path / "everybody.csv")},
        "utility": {"workload": str(tmp_path / "queries.toml")},
    }  # fmt: skip
    chosen = shoal.Policy.from_dict(policy, base=tmp_path)
    anonymize_file(
        tmp_path / "data.csv", chosen, tmp_path / "out.csv",
        record=tmp_path / "record.json", cards=[tmp_path / "card.md"],
    )  # fmt: skip
    evidence(
        tmp_path / "out.csv", chosen, original=tmp_path / "data.csv", record=tmp_path / "record.json",
        output=tmp_path / "pack",
    )  # fmt: skip
    own = (tmp_path / "card.md").read_text(encoding="utf-8").partition("## What the labels mean")[0].strip()
    packed = (tmp_path / "pack/public/card.md").read_text(encoding="utf-8").strip()
    assert "| pay | plain | perturbed: " in packed
    assert own.startswith(packed)
    for path in (tmp_path / "pack").rglob("*"):
        assert path.is_dir() or str(tmp_path).encode() not in path.read_bytes(), path
    population = tmp_path / "everybody.csv"
    found = check_evidence(tmp_path / "pack", original=tmp_path / "data.csv", population=population)
    assert found.right, (found.problems, found.notes)


def zipped(target: Path, *entries, pack: Path | None = None) -> Path:
    """Write a zip of a pack and of further entries, each a name or a ZipInfo with its content."""
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # two of one name
        for name in files(pack) if pack else ():
            archive.writestr(zipfile.ZipInfo(name), (pack / name).read_bytes(), zipfile.ZIP_DEFLATED)
        for entry, content in entries:
            own = entry if isinstance(entry, zipfile.ZipInfo) else zipfile.ZipInfo(entry)
            archive.writestr(own, content, zipfile.ZIP_DEFLATED)
    return target


def linked() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("public/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("public/release.csv", "have the same name"),
        ("public/RELEASE.csv", "have the same name"),
        ("Manifest.json", "have the same name"),
        ("public/release.csv.", "is not a plain name"),
        ("public//release.csv", "is not a plain name"),
        ("./manifest.json", "is not a plain name"),
        ("public\\release.csv", "is not a plain name"),
        ("a\x1b[2J", "is not a plain name"),
        ("../outside", "is outside of the pack"),
        ("/etc/outside", "is outside of the pack"),
        ("C:outside", "is outside of the pack"),
        ("further", "further does not belong to the pack"),
        ("public/", "is not a plain name"),
        ("public/further/", "is not a plain name"),
        (linked(), "is a link"),
    ],
)
def test_an_entry_more_is_found_in_a_signed_zip(made, tmp_path, entry, says):
    place = zipped(tmp_path / "a.zip", (entry, b"x"), pack=made / "pack")
    found = shoal.check_evidence(place)
    assert not found.right
    assert any(says in problem for problem in found.problems), found.problems
    run("evidence", "--check", place, code=5)


def test_names_that_differ_in_their_unicode_form_are_the_same(tmp_path):
    place = zipped(tmp_path / "a.zip", ("\u00e9", b"x"), ("e\u0301", b"y"))
    assert "have the same name" in run("evidence", "--check", place, code=5)


def test_links_in_a_folder_are_found(made, copied):
    outside = copied.parent / "outside"
    (copied / "public").rename(outside)
    (copied / "public").symlink_to(outside)
    assert "public is a link" in run("evidence", "--check", copied, code=5)
    (copied / "public").unlink()
    outside.rename(copied / "public")
    assert shoal.check_evidence(copied).right
    os.mkfifo(copied / "public" / "pipe")
    assert "public/pipe is a link or another special file" in run("evidence", "--check", copied, code=5)


def test_a_zip_that_unpacks_to_far_more_than_it_has_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "SMALL", 1 << 20)
    place = zipped(tmp_path / "a.zip", (MANIFEST, bytes(20 << 20)))
    monkeypatch.setattr(contents, "_unpack_one", None)
    assert "more than 100 times as many" in run("evidence", "--check", place, code=5)


@pytest.mark.parametrize("says", [5, 50_000])
def test_a_zip_that_lies_about_a_size_was_changed(tmp_path, says):
    place = zipped(tmp_path / "a.zip", (MANIFEST, b"x" * 10_000))
    content = place.read_bytes()
    for real in (struct.pack("<I", 10_000),):
        content = content.replace(real, struct.pack("<I", says))
    place.write_bytes(content)
    told = run("evidence", "--check", place, code=5)
    assert "manifest.json was changed: its content is not what the zip says" in told


def rezipped(pack: Path, target: Path, change=lambda _: None, comment: bytes = b"") -> Path:
    """Write the zip of a pack again, after a change of the entry of its release."""
    with zipfile.ZipFile(pack) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        new.comment = comment
        for name in old.namelist():
            entry = zipfile.ZipInfo(name)
            if name == "public/release.csv":
                change(entry)
            new.writestr(entry, old.read(name), zipfile.ZIP_DEFLATED)
    return target


def other_name(entry: zipfile.ZipInfo) -> None:
    """Add the Unicode path of Info-ZIP: `unzip` takes the name from there."""
    name = b"public/other.csv"
    body = b"\x01" + struct.pack("<L", zlib.crc32(entry.filename.encode())) + name
    entry.extra = struct.pack("<HH", 0x7075, len(body)) + body


@pytest.mark.parametrize(
    "change",
    [
        {"extra": None}, {"extra": struct.pack("<HH", 0xCAFE, 0)}, {"comment": b"see elsewhere"},
        {"external_attr": 0o104777 << 16}, {"external_attr": 0o777 << 16}, {"date_time": (2026, 1, 1, 0, 0, 0)},
        {"internal_attr": 1}, {"create_system": 10}, {"extract_version": 21}, {"reserved": 1}, {"volume": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_signed_zip_with_another_entry_was_changed(made, tmp_path, change):
    """Programs differ in what they read of an entry, so every field must be what Shoal writes."""

    def changed(entry):
        for key, value in change.items():
            if value is None:
                other_name(entry)
            else:
                setattr(entry, key, value)

    place = rezipped(made / "pack.zip", tmp_path / "a.zip", changed)
    if "volume" in change:  # Python does not write it
        content = bytearray(place.read_bytes())
        content[content.rindex(b"PK\1\2") + 34] = 1
        place.write_bytes(content)
    told = run("evidence", "--check", place, code=5)
    assert "does not have the form in which Shoal writes packs" in " ".join(told.split())
    assert "every file is as it was" not in told


def test_a_zip_of_the_same_form_is_right(made, tmp_path):
    assert shoal.check_evidence(rezipped(made / "pack.zip", tmp_path / "a.zip")).right


def hidden_entry() -> bytes:
    """A file as it stands in a zip, without the list of files."""
    whole = BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(zipfile.ZipInfo("public/hidden.csv"), b"x", zipfile.ZIP_DEFLATED)
    return whole.getvalue().partition(b"PK\1\2")[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda zip_: b"#!/bin/sh\n" + zip_,
        lambda zip_: zip_ + zip_,
        lambda zip_: hidden_entry() + zip_,
        lambda zip_: zip_ + b"more",
        lambda zip_: zip_[:-2] + b"\4\0more",
        lambda zip_: zip_.replace(b"public/release.csv", b"public/RELEASE.csv", 1),
        lambda zip_: zip_[: zip_.index(b"PK\1\2")] + hidden_entry() + zip_[zip_.index(b"PK\1\2") :],
    ],
    ids=[
        "in front",
        "another zip",
        "hidden in front",
        "at the end",
        "comment",
        "local name",
        "hidden between",
    ],
)
def test_a_signed_zip_with_other_bytes_was_changed(made, tmp_path, change):
    place = tmp_path / "a.zip"
    place.write_bytes(change((made / "pack.zip").read_bytes()))
    told = run("evidence", "--check", place, code=5)
    assert "does not have the form in which Shoal writes packs" in " ".join(told.split())


def test_a_zip_written_as_a_stream_was_changed(made, tmp_path):
    """Its sizes stand after the contents, so programs that read from the start find other ends."""

    class Stream(RawIOBase):
        def writable(self):
            return True

        def write(self, piece):
            file.write(piece)
            return len(piece)

    with (
        (tmp_path / "a.zip").open("wb") as file,
        zipfile.ZipFile(Stream(), "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in files(made / "pack"):
            archive.writestr(zipfile.ZipInfo(name), (made / "pack" / name).read_bytes(), zipfile.ZIP_DEFLATED)
    run("evidence", "--check", tmp_path / "a.zip", code=5)


def test_bytes_after_compressed_content_are_found(made, tmp_path):
    """Readers stop where the content ends, and do not see what follows it in its place."""
    entry = zipfile.ZipInfo(MANIFEST)
    packed = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    content = (made / "pack" / MANIFEST).read_bytes()
    data = packed.compress(content) + packed.flush() + b"hidden"
    entry.file_size, entry.compress_size, entry.CRC = len(content), len(data), zlib.crc32(content)
    entry.compress_type, entry.header_offset, entry.external_attr = zipfile.ZIP_DEFLATED, 0, 0o600 << 16
    (tmp_path / "a.zip").write_bytes(
        entry.FileHeader() + data + contents._directory([entry], len(entry.FileHeader()) + len(data), 3)
    )
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.read(MANIFEST) == content
    told = run("evidence", "--check", tmp_path / "a.zip", code=5)
    assert "its content is not what the zip says" in told


@pytest.mark.parametrize("limit", [1, 100, 3_000, 40_000])
def test_a_zip_with_sizes_in_64_bits_is_read(made, tmp_path, monkeypatch, limit):
    """Python writes them for files of 2 GB and more; here the limit is small."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    monkeypatch.setattr(sys.modules[zipfile.ZipInfo.__module__], "ZIP64_LIMIT", limit)
    place = zipped(tmp_path / "a.zip", pack=made / "pack")
    (tmp_path / "out").mkdir()
    assert contents.unpack(place, tmp_path / "out") == []
    assert files(tmp_path / "out") == files(made / "pack")


def test_a_name_in_another_script_is_read(tmp_path):
    place = zipped(tmp_path / "a.zip", ("public/données.csv", b"x"), ("empty", b""))
    (tmp_path / "out").mkdir()
    assert contents.unpack(place, tmp_path / "out") == []
    assert files(tmp_path / "out") == ["empty", "public/données.csv"]


def test_a_further_folder_is_found(copied):
    (copied / "public/further").mkdir()
    assert "public/further does not belong to the pack" in run("evidence", "--check", copied, code=5)
    assert not is_pack(copied)


def test_a_pack_that_replaces_a_public_one_leaves_no_empty_folder(made, copied):
    words = ("evidence", made / "release.csv", "--original", made / "patients.csv", "-p", made / "patients.toml",
             "--set", "privacy.k=200", "-o", copied, "--force")  # fmt: skip
    run(*words, code=5)
    assert not shoal.check_evidence(copied).problems


def with_reserved(signature: bytes) -> bytes:
    """Write into the field of a signature that OpenSSH does not read."""
    first, *lines, last, _ = signature.split(b"\n")
    blob = base64.b64decode(b"".join(lines))
    field = struct.pack(">L", 14) + b"shoal-evidence"
    blob = blob.replace(field + bytes(4), field + struct.pack(">L", 4) + b"more")
    text = base64.b64encode(blob)
    return b"\n".join([first, *(text[at : at + 70] for at in range(0, len(text), 70)), last, b""])


@pytest.mark.parametrize(
    "change",
    [
        lambda signature: signature + b"more\n",
        lambda signature: signature + signature,
        lambda signature: b"\n" + signature,
        lambda signature: signature.replace(b"\n", b"\r\n"),
        lambda signature: signature[:-1],
        lambda signature: signature[:40] + b"\n" + signature[40:],
        lambda signature: b"",
        with_reserved,
    ],
    ids=["text", "twice", "line in front", "line ends", "no line end", "other lines", "empty", "reserved"],
)
def test_a_signature_file_has_one_signature_and_nothing_else(made, copied, change):
    changed = change((copied / SIGNATURE).read_bytes())
    (copied / SIGNATURE).write_bytes(changed)
    (copied / SEAL).write_text(seal_text((copied / MANIFEST).read_bytes(), changed))
    (copied.parent / "signers").write_text(f"steward@example.org {(made / 'key.pub').read_text()}")
    for words in ((), ("--signers", copied.parent / "signers")):
        told = run("evidence", "--check", copied, *words, code=5)
        assert "is not exactly one signature" in " ".join(told.split())


def test_every_document_about_a_seeded_release_says_that_it_is_not_for_publication(made, tmp_path):
    release, record, policy = tmp_path / "release.csv", tmp_path / "record.json", made / "patients.toml"
    run("anonymize", made / "patients.csv", "-p", policy, "-o", release, "--record", record, "--seed", 3)
    words = ("evidence", release, "--original", made / "patients.csv", "-p", policy, "--record", record)
    pack = tmp_path / "pack"
    for told in (
        run(*words, "-o", pack),
        run(*words, "-o", tmp_path / "json", "--json"),
        run("evidence", "--check", pack),
        run("evidence", "--check", tmp_path / "pack.zip", "--json"),
        run("audit", release, "-p", policy, "--record", record),
        run("audit", release, "-p", policy, "--record", record, "--json"),
        *((pack / "private" / name).read_text() for name in
          ("card.md", "codebook.md", "anonymization-report.md", "expert-determination.md")),
    ):  # fmt: skip
        assert NOT_FOR_PUBLICATION in " ".join(told.split())
    # A changed pack says so, too, and one whose manifest has no such note.
    manifest = json.loads((pack / MANIFEST).read_text())
    reseal(pack, json.dumps({**manifest, "notes": []}))
    assert NOT_FOR_PUBLICATION in check_evidence(pack).notes
    (pack / "more").write_text("")
    assert NOT_FOR_PUBLICATION in check_evidence(pack).notes


def test_nothing_else_says_that_a_release_is_not_for_publication(made):
    words = ("-p", made / "patients.toml", "--record", made / "record.json")
    assert NOT_FOR_PUBLICATION not in " ".join(run("audit", made / "release.csv", *words).split())
    assert NOT_FOR_PUBLICATION not in check_evidence(made / "pack").notes
    assert not any(
        NOT_FOR_PUBLICATION in path.read_text() for path in (made / "pack").rglob("*") if path.is_file()
    )


def reseal(pack: Path, text: str) -> None:
    """Write another manifest, with its digest and without a signature."""
    (pack / SIGNATURE).unlink(missing_ok=True)
    (pack / MANIFEST).write_text(text)
    (pack / SEAL).write_text(seal_text(text.encode()))


def test_a_manifest_names_nothing_outside_of_the_pack(made, copied):
    real = json.loads((copied / MANIFEST).read_text())
    outside = made / "release.csv"
    shutil.copy(outside, copied.parent / "release.csv")
    facts = entry_of(outside)
    for name in ("../release.csv", str(outside), "public/../../release.csv"):
        for files_ in (real["files"], {**real["files"], name: facts}):
            reseal(copied, json.dumps({**real, "release": name, "files": files_}))
            assert "is not the manifest of an evidence pack" in run("evidence", "--check", copied, code=3)
            # Nor does a new pack take the place of this one, and remove what its manifest names.
            assert not is_pack(copied)
    for key in ("policy", "record", "second"):
        reseal(copied, json.dumps({**real, key: "../release.csv"}))
        assert f"its {key} is not one of its files" in run("evidence", "--check", copied, code=3)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "[" * 100_000, "{", '{"files": {}, "release": NaN}', '{"files": [], "release": ""}',
        '{"files": {"a": 1}, "release": "a"}', '{"files": {"a": {"sha256": 1, "bytes": true}}, "release": "a"}',
        '{"files": {}, "files": {}, "release": "a"}', '{"release": "\\ud800", "files": {"\\ud800": null}}',
        '{"files": {}, "release": ' + "9" * 5_000 + "}",
    ],
)  # fmt: skip
def test_strange_manifests_are_errors(copied, text):
    reseal(copied, text)
    run("evidence", "--check", copied, code=3)


def test_a_hierarchy_outside_of_the_pack_is_not_read(made, copied):
    real, policy = json.loads((copied / MANIFEST).read_text()), copied / "private" / "policy.toml"
    (copied.parent / "ages.csv").write_text("20,20-29\n")
    policy.write_text('[columns]\nage = { role = "quasi", hierarchy = "../../ages.csv" }\n[privacy]\nk = 2\n')
    real["files"]["private/policy.toml"] = entry_of(policy)
    reseal(copied, json.dumps(real))
    assert "the hierarchy of 'age' is outside of the pack" in run("evidence", "--check", copied, code=5)


def test_changed_packs_end_in_a_message(made, tmp_path):
    """Zips and manifests with random changes: never an exception that is not an error of Shoal."""
    zip_, manifest = (made / "pack.zip").read_bytes(), (made / "pack" / MANIFEST).read_bytes()
    random_ = random.Random(7)
    shutil.copytree(made / "pack", tmp_path / "pack")
    for turn in range(300):
        content = bytearray(zip_ if turn % 2 else manifest)
        # Names, sizes and offsets are at the end of a zip.
        first = len(content) - 1_500 if turn % 4 == 1 else 0
        for _ in range(random_.choice((1, 1, 3, 20))):
            at = random_.randrange(first, len(content))
            if random_.random() < 0.2:
                del content[at : at + random_.randrange(1, 50)]
            else:
                content[at] = random_.randrange(256)
            content = content or bytearray(1)
            first = min(first, len(content) - 1)
        if turn % 2:
            (tmp_path / "a.zip").write_bytes(content)
        else:
            (tmp_path / "pack" / MANIFEST).write_bytes(content)
            (tmp_path / "pack" / SEAL).write_text(seal_text(bytes(content)))
            (tmp_path / "pack" / SIGNATURE).unlink(missing_ok=True)
        with contextlib.suppress(ShoalError):
            shoal.check_evidence(tmp_path / ("a.zip" if turn % 2 else "pack"))


def over_time(folder: Path) -> tuple[Path, Path]:
    """A pack whose policy names two earlier releases of one name, with an original and a record; and a folder with
    copies of these."""
    rows = pl.DataFrame({"age": [20 + number % 30 for number in range(300)], "sex": ["f", "m"] * 150})
    rows.write_csv(folder / "patients.csv")
    base = shoal.Policy.from_keywords(quasi=["age", "sex"], k=5, other_columns="drop", base=folder)
    names = []
    for month in ("jan", "feb"):
        (folder / month).mkdir()
        rows.write_csv(folder / month / "data.csv")
        anonymize_file(
            folder / month / "data.csv", base, folder / month / "release.csv",
            record=folder / month / "record.json", seed=3,
        )  # fmt: skip
        names.append(
            {key: f"{month}/{name}" for key, name in
             (("release", "release.csv"), ("original", "data.csv"), ("record", "record.json"))}
        )  # fmt: skip
    policy = shoal.Policy.from_keywords(
        quasi=["age", "sex"], k=5, other_columns="drop", base=folder, earlier=names,
    )  # fmt: skip
    (folder / "next.toml").write_text(policy.to_toml())
    run(
        "anonymize", folder / "patients.csv", "-p", folder / "next.toml", "-o", folder / "next.csv",
        "--record", folder / "next.json",
    )  # fmt: skip
    run(
        "evidence", folder / "next.csv", "-p", folder / "next.toml", "--original", folder / "patients.csv",
        "--record", folder / "next.json", "-o", folder / "pack",
    )  # fmt: skip
    copies = folder / "copies"
    copies.mkdir()
    for month, before in (("jan", ""), ("feb", "_")):
        for name in ("release.csv", "data.csv", "record.json"):
            shutil.copy(folder / month / name, copies / f"{before}{name}")
    return folder / "pack", copies


def test_a_pack_over_time_is_audited_again_with_the_earlier_releases(tmp_path):
    """Its policy names files that are about people, so they are not in the pack. Without them nothing is known."""
    pack, copies = over_time(tmp_path)
    listed = json.loads((pack / MANIFEST).read_text())
    assert not [name for name in listed["files"] if "data.csv" in name]
    assert set(listed["outside"]) == {path.name for path in copies.iterdir()}
    original = ("--original", tmp_path / "patients.csv")
    told = run("evidence", "--check", pack, *original, code=9)
    assert "give a folder with copies of release.csv, data.csv, record.json, _release.csv" in " ".join(
        told.split()
    )
    assert "--earlier FOLDER" in told
    assert "violates" not in told
    told = run("evidence", "--check", pack, *original, "--earlier", copies, code=0)
    assert "audited again: the release satisfies its policy" in told
    (copies / "_data.csv").unlink()
    assert "there is no file" in run("evidence", "--check", pack, *original, "--earlier", copies, code=9)
    shutil.copy(copies / "release.csv", copies / "_data.csv")
    told = run("evidence", "--check", pack, *original, "--earlier", copies, code=5)
    assert "_data.csv is not the file of this pack" in " ".join(told.split())


def test_a_pack_with_a_population_is_not_judged_without_it(tmp_path):
    rows = pl.DataFrame({"age": [30, 31, 32, 50, 51, 52] * 5})
    rows.write_csv(tmp_path / "data.csv")
    pl.concat([rows, rows]).write_csv(tmp_path / "everybody.csv")
    (tmp_path / "p.toml").write_text(
        '[columns]\nage = "quasi"\n[privacy]\nk = 3\n[population]\nfile = "everybody.csv"\n'
    )
    run("anonymize", tmp_path / "data.csv", "-p", tmp_path / "p.toml", "-o", tmp_path / "r.csv")
    run(
        "evidence", tmp_path / "r.csv", "-p", tmp_path / "p.toml", "--original", tmp_path / "data.csv",
        "-o", tmp_path / "pack",
    )  # fmt: skip
    words = ("evidence", "--check", tmp_path / "pack", "--original", tmp_path / "data.csv")
    told = run(*words, code=9)
    assert "the population everybody.csv, which a pack does not contain: give it, --population" in " ".join(
        told.split()
    )
    assert "satisfies its policy" in run(*words, "--population", tmp_path / "everybody.csv")


def test_files_of_one_name_stay_apart_in_a_pack(made, tmp_path):
    """Hierarchies whose names differ only in case, and a release that is called like a hierarchy."""
    for name in ("patients.csv", "patients_zip.csv", "record.json", "release.csv"):
        shutil.copy(made / name, tmp_path / name)
    (tmp_path / "more").mkdir()
    shutil.copy(made / "patients_diagnosis.csv", tmp_path / "more" / "PATIENTS_ZIP.csv")
    shutil.copy(made / "release.csv", tmp_path / "more" / "patients_zip.csv")
    text = (made / "patients.toml").read_text().replace("patients_diagnosis.csv", "more/PATIENTS_ZIP.csv")
    (tmp_path / "p.toml").write_text(text)
    words = ("-p", tmp_path / "p.toml", "--original", tmp_path / "patients.csv")
    pack = tmp_path / "pack"
    run("evidence", tmp_path / "release.csv", *words, "-o", pack)
    for place in (pack, tmp_path / "pack.zip"):
        assert check_evidence(place, original=tmp_path / "patients.csv").right
    # Where it violates its policy, everything is in one folder.
    run("evidence", tmp_path / "more" / "patients_zip.csv", *words, "-o", tmp_path / "bad", "--set",
        "privacy.k=200", code=5)  # fmt: skip
    found = check_evidence(tmp_path / "bad", original=tmp_path / "patients.csv")
    assert (found.problems, found.holds, found.audited) == ((), False, True)


@pytest.mark.parametrize("name", ["a\\b.csv", "a\nb.csv", "folder"])
def test_a_release_that_a_pack_cannot_contain_is_rejected_before_the_work(made, tmp_path, name):
    release = tmp_path / name
    if name == "folder":
        release.mkdir()
        pl.read_csv(made / "release.csv", infer_schema=False).write_parquet(release / "part-0.parquet")
    else:
        shutil.copy(made / "release.csv", release)
    told = run("evidence", release, "-p", made / "patients.toml", "--original", made / "patients.csv",
               "-o", tmp_path / "pack", code=3 if name == "folder" else 6)  # fmt: skip
    assert "is not a file" in told or "give this file another name" in told
    assert not (tmp_path / "pack").exists()


@pytest.mark.parametrize("outside", [[], "x", None, {"a\0b": 1}, {"../../x": {}}])
def test_strange_digests_of_files_outside_of_a_pack_end_in_a_message(made, copied, outside):
    real = json.loads((copied / MANIFEST).read_text())
    reseal(copied, json.dumps({**real, "outside": outside}))
    with contextlib.suppress(ShoalError):
        shoal.check_evidence(copied, earlier=made, population=made / "patients.csv")


def test_a_pack_is_checked_with_its_own_population(tmp_path):
    """Another table would give another verdict. The population may be in a database."""
    rows = pl.DataFrame({"age": [30, 31, 32, 50, 51, 52] * 5})
    rows.write_csv(tmp_path / "data.csv")
    with contextlib.closing(sqlite3.connect(tmp_path / "people.db")) as database:
        database.execute("create table everybody (age integer)")
        database.executemany("insert into everybody values (?)", [*rows.rows(), *rows.rows()])
        database.commit()
    pl.concat([rows, rows]).write_csv(tmp_path / "everybody.csv")
    for number, (file, given) in enumerate(
        (("everybody.csv", tmp_path / "everybody.csv"),
         (f"sqlite:///{tmp_path}/people.db", f"sqlite:///{tmp_path}/people.db"))
    ):  # fmt: skip
        policy, pack = tmp_path / f"{number}.toml", tmp_path / f"pack{number}"
        table = 'table = "everybody"\n' if number else ""
        policy.write_text(
            f'[columns]\nage = "quasi"\n[privacy]\nk = 3\n[population]\nfile = "{file}"\n{table}'
        )
        run("anonymize", tmp_path / "data.csv", "-p", policy, "-o", tmp_path / f"r{number}.csv")
        run("evidence", tmp_path / f"r{number}.csv", "-p", policy, "--original", tmp_path / "data.csv",
            "-o", pack)  # fmt: skip
        assert str(tmp_path) not in (pack / "private/policy.toml").read_text()
        words = ("evidence", "--check", pack, "--original", tmp_path / "data.csv")
        run(*words, code=9)
        assert "satisfies its policy" in run(*words, "--population", given)
        if not number:
            told = run(*words, "--population", tmp_path / "data.csv", code=5)
            assert "data.csv is not the file of this pack" in " ".join(told.split())


def test_checking_a_pack_starts_no_cluster(made, copied):
    """A policy of a pack that was made on a cluster names it; the audit of one file needs none."""
    policy = copied / "private/policy.toml"
    policy.write_text(policy.read_text() + '\n[engine]\nname = "spark"\nmaster = "yarn"\n')
    real = json.loads((copied / MANIFEST).read_text())
    real["files"]["private/policy.toml"] = entry_of(policy)
    reseal(copied, json.dumps(real))
    assert check_evidence(copied, original=made / "patients.csv").right


def test_an_earlier_release_outside_of_a_pack_is_not_read(copied):
    """Also in the short form, which Shoal does not write into packs."""
    policy = copied / "private/policy.toml"
    text = policy.read_text().replace("[privacy]", f'[privacy]\nearlier = "{copied.parent}/x.csv"')
    (copied.parent / "x.csv").write_text("age\n1\n")
    policy.write_text(text)
    real = json.loads((copied / MANIFEST).read_text())
    real["files"]["private/policy.toml"] = entry_of(policy)
    reseal(copied, json.dumps(real))
    assert "give a folder with copies of" in " ".join(run("evidence", "--check", copied, code=9).split())
