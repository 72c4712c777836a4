"""All of `shoal.evidence`: a release with everything that defends it, as one folder and a zip."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from shoal import io
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.hierarchy.kinds.file import File
from shoal.coding.roles import SENSITIVE
from shoal.documents.card import card_of
from shoal.documents.codebook.codebook_files import codebook_text
from shoal.documents.codebook.describe import codebook
from shoal.documents.evidence.manifest import (
    MANIFEST,
    SEAL,
    SIGNATURE,
    digest,
    entry,
    entry_of,
    foreign,
    manifest_text,
    publication_notes,
    read_manifest,
    seal_text,
)
from shoal.documents.evidence.outlines import anonymization_report, attack_list, expert_determination
from shoal.documents.evidence.pack_contents import folder_problems, plain_name, same_name
from shoal.documents.evidence.signatures import check_signing, sign_content
from shoal.documents.report.build_report import Report, Study, study_release
from shoal.documents.report.report_parts import SignOff
from shoal.errors import DataError, OutputError, PolicyError
from shoal.io.formats import scheme_of
from shoal.io.links import follow_links
from shoal.judging.read_case import Received
from shoal.policy import Policy, toml
from shoal.policy.file_limits import for_file, places_in
from shoal.policy.sources import inputs_of, name_of, without_folders
from shoal.release.conclusion import Conclusion
from shoal.release.received.read_record import read_record
from shoal.release.record import card_markdown, versions
from shoal.release.two_tables import second_beside
from shoal.support.run import Progress, silent
from shoal.support.wording import printable

PUBLIC, PRIVATE = "public", "private"
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
    draft = _Draft.of(received, study, told, most)
    texts, copies = draft.texts(), draft.copies()
    movable = _movable(chosen, (*OWN, *(Path(name).name for name in copies)))
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


@dataclass(frozen=True, eq=False)
class _Draft:
    """What a pack is written from."""

    received: Received
    """Files: the release, and its second table if it has one."""
    study: Study
    private: Report
    public: Report | None
    """None if the policy cannot have a public edition."""
    told: Mapping[str, Any] | None
    """The record of the run, if there is one."""
    notes: list[str]
    """What the pack lacks, and why."""

    @classmethod
    def of(
        cls, received: Received, study: Study, told: Mapping[str, Any] | None, progress: Progress
    ) -> _Draft:
        """Write both editions of the report."""
        private = study.report("private", progress)
        notes = publication_notes(told)
        public = _public_edition(study, notes)
        if told is None:
            notes.append(
                "there is no record of the run, so the pack has no card and does not say how the release was made"
            )
        return cls(received, study, private, public, told, notes)

    @property
    def may_be_published(self) -> bool:
        """Every requirement holds, and nothing speaks against publication."""
        return bool(self.private.holds) and not self.private.subject.is_seeded and self.public is not None

    @property
    def place(self) -> str:
        """The folder of what would be published."""
        return PUBLIC if self.may_be_published else PRIVATE

    def texts(self) -> dict[str, str]:
        """Write the documents."""
        private, told, release = self.private, self.told, self.received.release
        book = codebook(release, private.subject.policy, second=self.received.second)
        public = not publication_notes(told)
        texts = {
            f"{self.place}/codebook.md": codebook_text(
                book, Path("codebook.md"), release, for_publication=public
            ),
            f"{PRIVATE}/report.html": private.html,
            f"{PRIVATE}/attacks.json": _json_text(attack_list(private)),
            f"{PRIVATE}/anonymization-report.md": anonymization_report(private, told, self.study.sign_off),
            f"{PRIVATE}/expert-determination.md": expert_determination(private, told, self.study.sign_off),
        }
        if self.public is not None:
            # In one folder the private edition takes its place.
            texts = {f"{self.place}/report.html": self.public.html} | texts
        if told is not None:
            texts[f"{self.place}/card.md"] = card_markdown(_card(private, told, self.received.original))
            if not self._has_whole_record:
                policy = without_folders(told["policy"])
                texts[f"{PRIVATE}/record.json"] = _json_text({**told, "policy": policy})
        return texts

    @property
    def _has_whole_record(self) -> bool:
        """The record can be in the pack as it is, because it names no folders."""
        return self.told is not None and without_folders(self.told["policy"]) == self.told["policy"]

    def copies(self) -> dict[str, Path]:
        """Return the files that the pack contains as they are."""
        received = self.received
        tables = [table for table in (received.release, received.second) if table is not None]
        copies = {f"{self.place}/{table.name}": table for table in tables}
        if self._has_whole_record:
            copies[f"{PRIVATE}/record.json"] = Path(received.record)
        return copies

    def manifest(
        self, contents: Mapping[str, bytes], copies: Mapping[str, Path], outside: Mapping[str, str]
    ) -> dict[str, Any]:
        """Say what the pack contains, and what was found."""
        received, private = self.received, self.private
        return {
            "about": "What this evidence pack contains, with the digest of every file. Shoal can check it.",
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "release": f"{self.place}/{received.release.name}",
            "second": None if received.second is None else f"{self.place}/{received.second.name}",
            "policy": f"{PRIVATE}/policy.toml",
            "record": None if received.record is None else f"{PRIVATE}/record.json",
            "suppressed_as": received.suppressed_as,
            "original": _original(received.original, private),
            "outside": outside,
            "holds": private.holds,
            "conclusion": private.conclusion.to_json(),
            "for_publication": self.may_be_published,
            "requirements": [
                {"model": verdict.model, "holds": verdict.holds}
                for verdict, _ in private.subject.verdicts_with_meanings
            ],
            "notes": self.notes,
            "files": {
                **{name: entry(content) for name, content in contents.items()},
                **{name: entry_of(path) for name, path in copies.items()},
            },
        }


def _second_table(release: Path, given: str | Path | None, policy: Policy) -> Path | None:
    """Return the second table of a release: the given one, else the file next to it if that belongs to it."""
    if given is None:
        names = io.read(release, policy.release_options(None)).columns
        given = second_beside(release, names, policy.names(SENSITIVE))
    return None if given is None else Path(given)


def _public_edition(study: Study, notes: list[str]) -> Report | None:
    """Return the public edition of the report, or None and a note if the policy has none."""
    try:
        return study.report("public")
    except PolicyError as error:
        notes.append(f"not for publication: there is no public edition of the report: {error}")
        return None


def _json_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


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


def _original(original: Any, made: Report) -> Mapping[str, Any]:
    found: dict[str, Any] = {"rows": made.subject.table.rows}
    if isinstance(original, str | Path) and Path(original).is_file():
        found |= {"name": Path(original).name, "sha256": digest(Path(original))}
    return found


def _card(made: Report, record: Mapping[str, Any], original: Any) -> Mapping[str, Any]:
    """Make the card of a release again, from its record and from its rows."""
    case = made.subject
    return card_of(
        case,
        case.policy if case.policy_of_run is None else case.policy_of_run,
        io.read(original, case.policy.read_options()).columns,
        record,
        seed=record["seed"],
        recoded=[name for name, column in case.policy.columns.items() if column.null_values],
    )


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
