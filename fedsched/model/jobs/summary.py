"""The text that summarises a workload, and the texts about implausible values, which are shown with every result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, duration, one_line
from fedsched.model.jobs.unmodelled import sentence

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation


def summary(workload: Workload) -> str:
    """Return the text of a workload's summary: its size, period, load, job sizes, estimates, sites and more.

    Each of them has a line, which is left out if nothing is known of it.
    """
    w, name = workload, one_line(workload.name)
    if not len(w):
        return f"{name}: no jobs"
    lines = [f"{name}: {counted(len(w), 'job')} submitted in {duration(float(np.ptp(w.submit)))}"]
    lines += _generated(w)
    if w.nodes and np.ptp(w.submit) > 0:
        lines.append(f"machine: {counted(w.nodes, 'node')}, offered load {w.load():.2f}")
    lines.append(
        f"sizes: {w.tasks.min():,} to {counted(w.tasks.max(), 'node')}, {np.mean(w.tasks == 1):.0%} serial; "
        f"run times: median {duration(float(np.median(w.runtime)))}, longest {duration(float(w.runtime.max()))}"
    )
    lines.append(_estimates(w))
    if w.sites:
        counts = np.bincount(w.origin[w.origin >= 0], minlength=len(w.sites))
        shown = [f"{one_line(site)} {count:,}" for site, count in zip(w.sites[:8], counts[:8], strict=True)]
        more = len(w.sites) - len(shown)
        lines.append(f"sites: {', '.join(shown)}" + (f" and {more} more" if more else ""))
    if w.allowed is not None:
        lines.append(f"allowed: {counted(int((~w.allowed.all(axis=1)).sum()), 'job')} may not use every site")
    lines += [one_line(f"{field}: {part}") for field, part in w.extras.items()]
    if w.task_bandwidth.any():
        sends = w.task_bandwidth[w.task_bandwidth > 0]
        lines.append(
            f"communication: mean compute fraction {w.compute_fraction.mean():.2f}, "
            f"median task bandwidth {np.median(sends):.3g} bytes/s"
        )
    if (found := w.recorded) is not None:
        lines.append(f"recorded: {found}")
    if w.cleaning is not None:
        lines.append(f"cleaning: {w.cleaning}")
    if facts := w.unmodelled:
        lines.append(one_line(sentence(facts)))
    lines += implausible_lines(w)
    return "\n".join(lines)


MADE = ("generated: ", "estimates: ", "scale_load(")  # steps that make jobs, as the header and the history say them


def _generated(workload: Workload) -> list[str]:
    """Return a line that says how the jobs were generated, or none if they were not."""
    notes = (text.removeprefix("fedsched: ") for _, text in workload.header if text.startswith("fedsched: "))
    steps = [step for step in (*notes, *workload.history) if step.startswith(MADE)]
    if not any(step.startswith(MADE[0]) for step in steps):
        return []
    return [one_line(f"generated, not recorded: {'; '.join(step.removeprefix(MADE[0]) for step in steps)}")]


def _estimates(workload: Workload) -> str:
    factor = workload.estimate / workload.runtime
    if (factor == 1).all():
        return "estimates: the run times, as no job has another request"
    past = float(np.mean(factor < 1))
    values = counted(len(np.unique(workload.estimate)), "value")
    text = f"estimates: {values}, median {np.median(factor):.1f} times the run time"
    return text + (f", {past:.0%} of the jobs run past theirs" if past else "")


# No real machine has an offered load above 10. The load of a log of fewer than 100 jobs is not judged.
LOAD, JOBS = 10.0, 100
UPLINK = 1e6  # bytes a second; slower uplinks are usually given in gigabits, or without their unit
SLOWER = 1000.0  # a task's bandwidth may exceed its uplink this many times; beyond that, the two have different units
YEAR = 365 * 86400.0  # seconds
WATTS = 1e5  # of one node


def implausible_values(workload: Workload, federation: Federation | None = None) -> tuple[str, ...]:
    """Return the implausible values of the jobs, and of the federation if given, a few words each.

    An example is "an offered load of 424". Load, run times, uplinks and watts are judged.
    """
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


def implausible_lines(workload: Workload, federation: Federation | None = None) -> list[str]:
    """Return a list with one line that names the implausible values; [] if all values are plausible."""
    facts = implausible_values(workload, federation)
    return [f"implausible: {'; '.join(facts)}"] if facts else []
