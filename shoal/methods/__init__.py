"""Ways to make a release. A new one is a file here and a line in `METHODS`."""

from shoal.methods.base import Method
from shoal.registry import Registry

METHODS: Registry[Method] = Registry(
    "method",
    {
        "mondrian": "shoal.methods.mondrian:Mondrian",
        "full-domain": "shoal.methods.full_domain:FullDomain",
        "incognito": "shoal.methods.incognito:Incognito",
    },
)

__all__ = ["METHODS", "Method"]
