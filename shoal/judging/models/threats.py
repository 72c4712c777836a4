"""What may happen to a person in a release: the three threats by which European data protection authorities judge
anonymity (Article 29 Working Party, Opinion 05/2014). Models and attacks say which of them they are about.
"""

from __future__ import annotations

from typing import Literal

Threat = Literal["", "singling out", "linkability", "inference"]
SINGLING_OUT: Threat = "singling out"
LINKABILITY: Threat = "linkability"
INFERENCE: Threat = "inference"

QUESTIONS: dict[Threat, str] = {
    SINGLING_OUT: "Can somebody pick out the row of one person?",
    LINKABILITY: "Can somebody who knows people link them to their rows?",
    INFERENCE: "Can somebody learn more about a person than others already know?",
}
