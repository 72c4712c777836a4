"""Privacy models. A new one is a file here and a line in `MODELS`."""

from shoal.models.base import GroupModel, Model, Verdict
from shoal.registry import Registry

MODELS: Registry[Model] = Registry(
    "model",
    {
        "k-anonymity": "shoal.models.k_anonymity:KAnonymity",
    },
)

__all__ = ["MODELS", "GroupModel", "Model", "Verdict"]
