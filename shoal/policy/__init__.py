"""Policy files: roles, hierarchies, requirements, method; checked as a whole, all problems at once."""

from shoal.coding.hierarchy.kinds.cuts import Cuts
from shoal.coding.hierarchy.kinds.dates import Dates
from shoal.coding.hierarchy.kinds.mask import Mask
from shoal.coding.hierarchy.kinds.tree_kind import Tree
from shoal.coding.hierarchy.kinds.widths import Widths
from shoal.policy.column_section import Column
from shoal.policy.hierarchies import HierarchySpec
from shoal.policy.overrides import parse_reading_options
from shoal.policy.policy import Policy
from shoal.policy.privacy import Privacy
from shoal.policy.schema import json_schema
from shoal.policy.sections import Data, MethodChoice, Utility

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
    "parse_reading_options",
]
