"""Generator of alternative shapes of jobs by Amdahl's law: wider and shorter shapes, and narrower and longer ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.values import seed_of, whole
from fedsched.io.arguments import workload_of
from fedsched.model.jobs.alternatives import Alternatives
from fedsched.model.jobs.layout import own_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.io.arguments import AnyJobs
    from fedsched.model.jobs.workload import Workload


def alternatives(
    workload: AnyJobs,
    *,
    factors: Sequence[float] = (0.5, 2.0),
    parallel: float | tuple[float, float] = (0.9, 1.0),
    most: int | None = None,
    seed: int = 0,
) -> Workload:
    """Return the jobs with alternative shapes (other numbers of nodes and run times); each job's own shape comes first.

    On t nodes a job takes (1 − parallel) + parallel/t of its time on one node (Amdahl 1967). `parallel` is the share of
    its work that is spread over its nodes. The ratio of requested time to run time is the same in all shapes of a job.

    Parameters
    ----------
    workload
        The jobs; they must have no alternatives yet.
    factors
        By how much each alternative multiplies the job's number of nodes, rounded to whole nodes, at least 1. A number
        of nodes that the job already has is left out.
    parallel
        The share of a job's work that is spread over its nodes: one number for all jobs, or the least and the greatest
        of a uniform draw for each job.
    most
        The most nodes of an alternative; wider ones are left out. By default it is the size of the log's machine, if
        that is known.
    seed
        The seed of the only random generator.

    Examples
    --------
    >>> job = fs.Workload(submit=[0], tasks=[4], runtime=[600])
    >>> fs.generate.alternatives(job, factors=(2,), parallel=1.0)[0].alternatives
    '4x600|8x300'
    """
    workload = workload_of("alternatives", "workload", workload)
    if workload.alternatives is not None:
        raise ValueError(
            "alternatives: the jobs have some; leave them out first: dataclasses.replace(workload, alternatives=None)."
        )
    low, high = parallel if isinstance(parallel, tuple) else (parallel, parallel)
    if not 0 <= low <= high <= 1:
        raise ValueError(f"parallel={parallel!r} must be a share from 0 to 1, or a pair (least, greatest).")
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
