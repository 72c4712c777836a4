"""Why a release is as it is: what each requirement and each column costs, and what would help most."""

from shoal.explaining.explanation import Cost, Explanation

__all__ = ["Cost", "Explanation"]
