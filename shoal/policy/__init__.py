"""Policy files: roles, hierarchies, requirements, method; checked as a whole, all problems at once."""

from shoal.policy.hierarchies import Cuts, Dates, HierarchySpec, Mask, Tree, Widths
from shoal.policy.model import Policy
from shoal.policy.overrides import reading_options
from shoal.policy.parts import Column, Data, MethodChoice, Utility
from shoal.policy.privacy import Closeness, Diversity, Privacy
from shoal.policy.schema import json_schema

__all__ = [
    "Closeness",
    "Column",
    "Cuts",
    "Data",
    "Dates",
    "Diversity",
    "HierarchySpec",
    "Mask",
    "MethodChoice",
    "Policy",
    "Privacy",
    "Tree",
    "Utility",
    "Widths",
    "json_schema",
    "reading_options",
]
