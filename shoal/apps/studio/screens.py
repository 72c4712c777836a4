"""The screens of Studio. A new one is a file here, a template, and a line in `SCREENS`."""

from __future__ import annotations

from shoal.apps.studio.screen_base import Screen, State
from shoal.support.registry import Registry

SCREENS: Registry[Screen] = Registry(
    "screen",
    {
        "data": "shoal.apps.studio.data.screen:Data",
        "roles": "shoal.apps.studio.roles.screen:Roles",
        "hierarchies": "shoal.apps.studio.hierarchies.screen:Hierarchies",
        "promise": "shoal.apps.studio.requirements.screen:Promise",
        "compare": "shoal.apps.studio.compare.screen:Compare",
        "look": "shoal.apps.studio.look.screen:Look",
        "handover": "shoal.apps.studio.handover.screen:HandOver",
        "audit": "shoal.apps.studio.audit.screen:AuditRelease",
        "network": "shoal.apps.studio.network.screen:Network",
    },
)

__all__ = ["SCREENS", "Screen", "State"]
