"""What nodes draw at least while no job runs on them, where they may go off [66]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedsched.model.switched import watts_off

if TYPE_CHECKING:
    from fedsched.model.federation import Federation, NodeGroup


def as_little_as_idle(federation: Federation) -> Federation:
    """Return the federation with nodes that are always on, and idle at the least that they draw in any state."""
    if federation.power is None:
        return federation

    def least(group: NodeGroup) -> NodeGroup:
        return replace(group, idle_watts=min(group.idle_watts, *watts_off(group)), off_watts=None, boot_watts=None,
                       shutdown_watts=None)  # fmt: skip

    clusters = [replace(one, groups=tuple(map(least, one.groups))) for one in federation.clusters]
    return replace(federation, clusters=tuple(clusters), power=None)
