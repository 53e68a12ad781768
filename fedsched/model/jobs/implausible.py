"""Implausible values of jobs and machine, as a wrong unit causes them: they are reported beside every result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import duration

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

# No real machine has an offered load above 10. The load of a log of fewer than 100 jobs is not judged.
LOAD, JOBS = 10.0, 100
UPLINK = 1e6  # bytes a second; slower uplinks are usually given in gigabits, or without their unit
SLOWER = 1000.0  # a task's bandwidth may exceed its uplink this many times; beyond that, the two have different units
YEAR = 365 * 86400.0  # seconds
WATTS = 1e5  # of one node


def implausible(workload: Workload, federation: Federation | None = None) -> tuple[str, ...]:
    """Return the implausible values, a few words each: "an offered load of 424"."""
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
    least = float(np.median(sends)) / SLOWER if sends.size else UPLINK  # teaching examples have small ones
    slow = [cluster for cluster in federation.clusters if cluster.uplink < min(UPLINK, least)]
    if slow and len(federation.clusters) > 1:
        facts.append(f'an uplink of {slow[0].uplink:g} bytes/s, of {slow[0].name} ("1.25G" is 10 Gbit/s)')
    watts = float(np.max([group.busy_watts for group in federation.groups]))
    if watts > WATTS:
        facts.append(f"a node of {watts:,.0f} W")
    return tuple(facts)


def lines(workload: Workload, federation: Federation | None = None) -> list[str]:
    """Return the line about implausible values for printing; no line if all is plausible."""
    facts = implausible(workload, federation)
    return [f"implausible: {'; '.join(facts)}"] if facts else []
