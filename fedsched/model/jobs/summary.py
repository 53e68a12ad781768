"""The summary of a workload in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, duration, one_line
from fedsched.model.jobs.unmodelled import sentence

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload


def summary(workload: Workload) -> str:
    """Return size, period, load, job sizes, estimates, sites and cleaning report, one line each."""
    from fedsched.model.jobs import implausible

    w, name = workload, one_line(workload.name)
    if not len(w):
        return f"{name}: no jobs"
    lines = [f"{name}: {counted(len(w), 'job')} submitted in {duration(float(np.ptp(w.submit)))}"]
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
    lines += implausible.lines(w)
    return "\n".join(lines)


def _estimates(workload: Workload) -> str:
    factor = workload.estimate / workload.runtime
    if (factor == 1).all():
        return "estimates: the run times"
    past = float(np.mean(factor < 1))
    values = counted(len(np.unique(workload.estimate)), "value")
    text = f"estimates: {values}, median {np.median(factor):.1f} times the run time"
    return text + (f", {past:.0%} of the jobs run past theirs" if past else "")
