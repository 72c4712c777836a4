"""Ways to change the values of a published column. A new one is a file here and a line in `PERTURBATIONS`."""

from shoal.release.perturbing.perturbation import Judged, Perturbation
from shoal.support.registry import Registry

PERTURBATIONS: Registry[Perturbation] = Registry(
    "perturbation",
    {
        "round": "shoal.release.perturbing.rounding:Rounding",
        "noise": "shoal.release.perturbing.noise:Noise",
        "swap": "shoal.release.perturbing.swapping:Swapping",
        "pram": "shoal.release.perturbing.pram:Pram",
    },
)

__all__ = ["PERTURBATIONS", "Judged", "Perturbation"]
