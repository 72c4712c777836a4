"""The screens of Studio. A new one is a file here, a template, and a line in `SCREENS`."""

from __future__ import annotations

from shoal.registry import Registry
from shoal.studio.screens.base import Screen, State

SCREENS: Registry[Screen] = Registry(
    "screen",
    {
        "data": "shoal.studio.screens.data:Data",
        "roles": "shoal.studio.screens.roles:Roles",
        "hierarchies": "shoal.studio.screens.hierarchies:Hierarchies",
        "promise": "shoal.studio.screens.promise:Promise",
        "compare": "shoal.studio.screens.compare:Compare",
        "look": "shoal.studio.screens.look:Look",
        "handover": "shoal.studio.screens.handover:HandOver",
        "audit": "shoal.studio.screens.audit:AuditRelease",
        "network": "shoal.studio.screens.network:Network",
    },
)

__all__ = ["SCREENS", "Screen", "State"]
