"""Shapes that jobs might have had: wider ones that end sooner and narrower ones that take longer, by Amdahl's law."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.values import seed_of, whole
from fedsched.io.handed import workload_of
from fedsched.model.jobs.alternatives import Alternatives
from fedsched.model.jobs.layout import own_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.io.handed import AnyJobs
    from fedsched.model.jobs.workload import Workload


def alternatives(
    workload: AnyJobs,
    *,
    factors: Sequence[float] = (0.5, 2.0),
    parallel: float | tuple[float, float] = (0.9, 1.0),
    most: int | None = None,
    seed: int = 0,
) -> Workload:
    """Return the jobs with other shapes beside their own, which comes first.

    A job whose share `parallel` can be spread over its nodes takes, on t of them, (1 − parallel) + parallel/t of what
    it takes on one (Amdahl 1967); requests are as many times the run time as they were.

    Parameters
    ----------
    workload
        The jobs; they must have no alternatives yet.
    factors
        How many times as many nodes each other shape has, rounded to whole nodes, at least 1. What comes out as a
        shape that is there already is left out.
    parallel
        The share of a job's work that is spread: one for all, or the least and the greatest of what is drawn evenly.
    most
        The widest shape that is made; the log's machine when not given, where its size is known.
    seed
        The seed of the only random generator.
    """
    workload = workload_of("alternatives", "workload", workload)
    if workload.alternatives is not None:
        raise ValueError(
            "alternatives: the jobs have some; leave them out first: dataclasses.replace(workload, alternatives=None)."
        )
    low, high = parallel if isinstance(parallel, tuple) else (parallel, parallel)
    if not 0 <= low <= high <= 1:
        raise ValueError(f"parallel={parallel!r} must be a share from 0 to 1, or the least and the greatest of them.")
    wanted = [float(factor) for factor in factors]
    if not wanted or not all(0.0 < factor < np.inf for factor in wanted):
        raise ValueError(f"factors={factors!r} must be finite numbers above 0, one or more.")
    widest = (workload.nodes or np.inf) if most is None else whole("alternatives", "most", most, least=1)
    share = np.random.default_rng(seed_of("alternatives", seed)).uniform(low, high, len(workload))
    shapes = []
    of_jobs = own_tasks(workload)
    for row, spread in enumerate(share.tolist()):
        tasks, runtime = int(of_jobs[row]), float(workload.runtime[row])
        asked = float(workload.estimate[row]) / runtime
        own = [(tasks, runtime, float(workload.estimate[row]))]
        for factor in wanted:
            others = max(1, round(tasks * factor))
            if others > widest or others in [shape[0] for shape in own]:
                continue
            takes = runtime * (1 - spread + spread / others) / (1 - spread + spread / tasks)
            own.append((others, takes, takes * asked))
        shapes.append(own)
    said = f"alternatives: factors={tuple(wanted)}, parallel={parallel}, seed={seed}"
    made = Alternatives.of(shapes, workload.id)
    return replace(workload, alternatives=made, history=(*workload.history, said))
