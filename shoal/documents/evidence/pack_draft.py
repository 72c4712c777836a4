"""What an evidence pack is written from, and the documents in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal import io
from shoal.documents.card import card_of
from shoal.documents.codebook.codebook_files import codebook_text
from shoal.documents.codebook.describe import codebook
from shoal.documents.evidence.manifest import digest, entry, entry_of, publication_notes
from shoal.documents.evidence.outlines import anonymization_report, attack_list, expert_determination
from shoal.documents.report.build_report import Report, Study
from shoal.errors import PolicyError
from shoal.judging.read_case import Received
from shoal.policy.sources import without_folders
from shoal.release.record import card_markdown, versions
from shoal.support.run import Progress

PUBLIC, PRIVATE = "public", "private"


@dataclass(frozen=True, eq=False)
class Draft:
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
    ) -> Draft:
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


def _public_edition(study: Study, notes: list[str]) -> Report | None:
    """Return the public edition of the report, or None and a note if the policy has none."""
    try:
        return study.report("public")
    except PolicyError as error:
        notes.append(f"not for publication: there is no public edition of the report: {error}")
        return None


def _json_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


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
