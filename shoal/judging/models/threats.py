"""What may happen to a person in a release. Models and attacks say which of these threats they are about.

They are not the three criteria of the Article 29 Working Party (Opinion 05/2014), which use some of the same words:
docs/how-to/report.md quotes those, and says what k-anonymity answers.
"""

from __future__ import annotations

from typing import Literal

Threat = Literal["", "re-identification", "attribute disclosure", "membership"]
RE_IDENTIFICATION: Threat = "re-identification"
ATTRIBUTE_DISCLOSURE: Threat = "attribute disclosure"
MEMBERSHIP: Threat = "membership"

QUESTIONS: dict[Threat, str] = {
    RE_IDENTIFICATION: "Can somebody who knows a person find their row?",
    ATTRIBUTE_DISCLOSURE: "Can somebody learn a sensitive value of a person?",
    MEMBERSHIP: "Can somebody learn whether a person is in the table?",
}
SECTION_TITLE = "Re-identification, attribute disclosure, membership"
KNOWN_COLUMNS_ONLY = (
    "This is about an adversary who knows only the columns that the policy names as known: the quasi-identifiers. It "
    "does not mean that no statement is true of one person only (predicate singling out)."
)
