"""What does not go with nodes that are switched off, and is refused by name [66]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedsched.core.errors import InfeasibleError
from fedsched.engine.codes import Dispatch
from fedsched.model.power.switching import is_switching

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading

BOOTING = (Dispatch.STRICT, Dispatch.GREEDY, Dispatch.LOCAL, Dispatch.EASY)  # rules that know nodes which boot


def refuse_unswitched(workload: Workload, federation: Federation, reading: Reading, *, running: bool) -> None:
    """Raise where jobs, nodes or reading have what has no meaning yet where jobs wait for boots."""
    power = f"power={federation.power}"
    if federation.calendar:
        raise InfeasibleError(f"{power} does not go with downtimes, which boots may run into; leave one of them out.")
    narrow = len(federation.clusters) > 1 and any(math.isfinite(cluster.uplink) for cluster in federation.clusters)
    if narrow and workload.task_bandwidth.any():
        raise InfeasibleError(
            f"{power} does not go with jobs that send over finite uplinks, for they have no rate while nodes boot; "
            "leave out the power saving, the uplinks, or what jobs send."
        )
    if running:
        raise InfeasibleError(f"{power} does not go with running jobs, for nobody says whose nodes boot; leave it out.")
    if reading.same_time == "sequential":
        raise InfeasibleError(f"{power} takes instants whole; leave out same_time='sequential'.")
    if reading.chooses_late(workload):
        raise InfeasibleError(f"{power} does not go with alternatives={reading.alternatives!r}; take fixed shapes.")


def refuse_rule(federation: Federation, dispatch: str) -> None:
    """Raise where a dispatch rule plans ahead on nodes that may have to boot, which it does not know."""
    if is_switching(federation.power) and Dispatch[dispatch.upper()] not in BOOTING:
        known = ", ".join(rule.name.lower() for rule in BOOTING)
        raise InfeasibleError(f"power={federation.power} goes with dispatch {known}, not {dispatch}; take one of them.")


def refuse_boots(who: str, federation: Federation) -> None:
    """Raise where jobs may wait for boots, and somebody plans as if all nodes were on."""
    if is_switching(federation.power):
        raise InfeasibleError(
            f"{who}: power={federation.power} lets jobs wait for nodes to boot, which only simulate() knows; take "
            "power=planned, or leave it out (None)."
        )


def refuse_power(who: str, federation: Federation) -> None:
    """Raise where somebody does not know of nodes that go off."""
    if federation.power is not None:
        raise InfeasibleError(
            f"{who}: power={federation.power} switches nodes off, which only simulate() knows; leave it out (None)."
        )
