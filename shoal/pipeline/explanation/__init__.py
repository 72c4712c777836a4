"""Why a release is as it is: what each requirement and each column costs, and what would help most."""

from shoal.pipeline.explanation.explanation import Cost, Explanation

__all__ = ["Cost", "Explanation"]
