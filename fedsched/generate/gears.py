"""Functions that put jobs in given gears (speed levels of nodes), or add all gears as alternatives of each job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.io.arguments import nouns_of
from fedsched.model.jobs.alternatives import Alternatives
from fedsched.model.jobs.layout import own_tasks
from fedsched.model.power.gears import in_gear, speeds_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.jobs.workload import Workload


def geared(workload: AnyJobs, federation: AnyMachine, gear: ArrayLike) -> Workload:
    """Return the jobs in a given gear; a slower gear lengthens the computing part of run times and estimates.

    Parameters
    ----------
    workload
        The jobs; they must have neither alternatives nor watts of their own.
    federation
        The federation with the gears.
    gear
        The gear's number, 0 for full speed: one number for all jobs, or one for each job.

    Examples
    --------
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(4, gears=((0.8, 100.0),)),)),))
    >>> fs.generate.geared(fs.Workload(submit=[0], tasks=[4], runtime=[600]), machine, 1).runtime
    array([750.])
    """
    workload, federation = nouns_of("geared", workload, federation, second="federation")
    said = f"geared: {gear!r}" if np.ndim(gear) == 0 else "geared: each in its own"
    moved = in_gear(workload, federation.groups, gear)
    return replace(moved, history=(*workload.history, said))


def gears(workload: AnyJobs, federation: AnyMachine) -> Workload:
    """Return the jobs, each with one alternative for every gear of the federation's nodes; its own gear comes first.

    With `optimize(..., alternatives="free")` a search chooses each job's gear.

    Parameters
    ----------
    workload
        The jobs; they must have neither alternatives nor watts of their own.
    federation
        The federation with the gears.

    Examples
    --------
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(4, gears=((0.8, 100.0),)),)),))
    >>> fs.generate.gears(fs.Workload(submit=[0], tasks=[4], runtime=[600]), machine)[0].alternatives
    '4x600~1.0|4x750@1~1.0'
    """
    workload, federation = nouns_of("gears", workload, federation, second="federation")
    last = speeds_of(federation.groups).size
    every = [in_gear(workload, federation.groups, gear) for gear in range(last)]
    tasks, own = own_tasks(workload), [0] * len(workload) if workload.gear is None else workload.gear.values.tolist()
    shapes = []
    for row, first in enumerate(own):
        turn = [first, *(gear for gear in range(last) if gear != first)]
        shapes.append(
            [
                (int(tasks[row]), float(jobs.runtime[row]), float(jobs.estimate[row]), gear,
                 float(jobs.compute_fraction[row]))
                for gear, jobs in ((gear, every[gear]) for gear in turn)
            ]
        )  # fmt: skip
    made = Alternatives.of(shapes, workload.id)
    return replace(workload, alternatives=made, history=(*workload.history, f"gears: {last}"))
