"""Ways to change the values of a published column. A new one is a file here and a line in `PERTURBATIONS`."""

from shoal.perturbing.base import Judged, Perturbation
from shoal.registry import Registry

PERTURBATIONS: Registry[Perturbation] = Registry(
    "perturbation",
    {
        "round": "shoal.perturbing.rounding:Rounding",
        "noise": "shoal.perturbing.noise:Noise",
        "swap": "shoal.perturbing.swapping:Swapping",
        "pram": "shoal.perturbing.pram:Pram",
    },
)

__all__ = ["PERTURBATIONS", "Judged", "Perturbation"]
