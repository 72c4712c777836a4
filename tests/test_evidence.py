"""Evidence packs: what they contain, and that a change of any byte is found."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import main
from shoal.packs.manifest import MANIFEST, SEAL, SIGNATURE


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
    parts = re.split(r"\*\*(Singling out|Linkability|Inference)\*\*", text)[1:]
    assert parts[::2] == ["Singling out", "Linkability", "Inference"]
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
    assert cards["linkability"].badge == "not limited by the policy"
    assert cards["linkability"].state == cards["singling-out"].state == "warn"
    assert "Requirement: none; only the attacks speak about it." in cards["linkability"].lines


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
        assert "The release satisfies its policy and withstands the attacks" in text


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
    from shoal.packs.manifest import entry, manifest_text, seal_text

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
    assert shoal.check_evidence(copied).right


def test_a_zip_that_is_none_and_a_folder_that_is_no_pack(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK no")
    assert "cannot be read as a zip" in run("evidence", "--check", tmp_path / "a.zip", code=3)
    assert "is not an evidence pack" in run("evidence", "--check", tmp_path, code=3)
    assert "does not exist" in run("evidence", "--check", tmp_path / "none", code=3)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("../outside", "x")
    assert "outside of itself" in run("evidence", "--check", tmp_path / "b.zip", code=3)


def test_without_openssh_signing_is_refused_with_what_to_install(made, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.packs.signing.shutil.which", lambda _: None)
    told = run(
        "evidence", made / "release.csv", "--original", made / "patients.csv", "-p", made / "patients.toml",
        "-o", tmp_path / "pack", "--sign", made / "key", code=6,
    )  # fmt: skip
    assert "openssh-client" in told
    assert not (tmp_path / "pack").exists()
