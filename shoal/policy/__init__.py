"""Policy files: roles, hierarchies, requirements, method; checked as a whole, all problems at once."""

from shoal.hierarchy.kinds.cuts import Cuts
from shoal.hierarchy.kinds.dates import Dates
from shoal.hierarchy.kinds.mask import Mask
from shoal.hierarchy.kinds.tree import Tree
from shoal.hierarchy.kinds.widths import Widths
from shoal.policy.hierarchies import HierarchySpec
from shoal.policy.model import Policy
from shoal.policy.overrides import reading_options
from shoal.policy.parts import Column, Data, MethodChoice, Utility
from shoal.policy.privacy import Privacy
from shoal.policy.schema import json_schema

__all__ = [
    "Column",
    "Cuts",
    "Data",
    "Dates",
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
