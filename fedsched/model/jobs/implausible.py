"""What jobs and machine have that no real ones do, as a slip of a unit makes it: said beside every result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import duration

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

# No real machine has an offered load above 10. A log of fewer than 100 jobs is not judged by its load.
LOAD, JOBS = 10.0, 100
UPLINK = 1e6  # bytes a second: slower ones are usually gigabits, or lack their unit
SLOWER = 1000.0  # times what a task sends is above its uplink: the two have different units
YEAR = 365 * 86400.0  # seconds
WATTS = 1e5  # of a node


def implausible(workload: Workload, federation: Federation | None = None) -> tuple[str, ...]:
    """Return what no real log or machine has, a few words each: "an offered load of 424"."""
    facts = []
    nodes = workload.nodes if federation is None else federation.nodes
    load = workload.load(nodes) if nodes and len(workload) >= JOBS else 0.0
    if LOAD < load < math.inf:
        facts.append(f"an offered load of {load:,.0f} (are run times in seconds, and the nodes all there?)")
    longest = float(workload.runtime.max(initial=0.0))
    if longest > YEAR:
        facts.append(f"a run time of {duration(longest)} (is it in seconds?)")
    if federation is None:
        return tuple(facts)
    sends = workload.task_bandwidth[workload.task_bandwidth > 0]
    least = float(np.median(sends)) / SLOWER if sends.size else UPLINK  # a teaching example's jobs send little, too
    slow = [cluster for cluster in federation.clusters if cluster.uplink < min(UPLINK, least)]
    if slow and len(federation.clusters) > 1:
        facts.append(f'an uplink of {slow[0].uplink:g} bytes/s, of {slow[0].name} ("1.25G" is 10 Gbit/s)')
    watts = float(np.max([group.busy_watts for group in federation.groups]))
    if watts > WATTS:
        facts.append(f"a node of {watts:,.0f} W")
    return tuple(facts)


def lines(workload: Workload, federation: Federation | None = None) -> list[str]:
    """Return the line that prints show of this; no line if all is plausible."""
    facts = implausible(workload, federation)
    return [f"implausible: {'; '.join(facts)}"] if facts else []
