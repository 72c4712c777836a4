"""Which method, with which options, for this table and this adversary? Many trials, and a choice among them."""

from shoal.pipeline.comparison.comparison import Comparison
from shoal.pipeline.comparison.trial import Outcome, Trial

__all__ = ["Comparison", "Outcome", "Trial"]
