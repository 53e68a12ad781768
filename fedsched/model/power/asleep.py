"""Lower bounds on the power of nodes without jobs, if nodes may go off [66]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedsched.model.power.switching import Planned

if TYPE_CHECKING:
    from fedsched.model.machine.federation import Federation, NodeGroup


def as_little_as_idle(federation: Federation) -> Federation:
    """Return the federation with nodes always on, that idle at the least watts of any of their states."""
    if federation.power is None:
        return federation

    def least(group: NodeGroup) -> NodeGroup:
        return replace(group, idle_watts=min(group.idle_watts, *watts_off(group)), off_watts=None, boot_watts=None,
                       shutdown_watts=None)  # fmt: skip

    clusters = [replace(one, groups=tuple(map(least, one.groups))) for one in federation.clusters]
    return replace(federation, clusters=tuple(clusters), power=None)


def as_weighed(federation: Federation) -> Federation:
    """Return the federation to use when weighing energy: with planned power saving, idle nodes count as off."""
    return as_little_as_idle(federation) if isinstance(federation.power, Planned) else federation


def watts_off(group: NodeGroup) -> tuple[float, float, float]:
    """Return the watts of a node that is off, boots, and shuts down."""
    off = group.idle_watts if group.off_watts is None else group.off_watts
    boot = group.busy_watts if group.boot_watts is None else group.boot_watts
    return off, boot, group.idle_watts if group.shutdown_watts is None else group.shutdown_watts
