"""The machine of an sacct dump, estimated from its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FederationError
from fedsched.io.slurm_files.sacct import Unit, read_sacct
from fedsched.io.slurm_files.sacct_lines import COMMAND
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray


def read_federation(path: str | PathLike[str], *, unit: Unit = "cpus") -> Federation:
    """Return the clusters of a dump, each as large as its peak use by jobs: a lower bound of the real size."""
    jobs = read_sacct(path, sites="auto", unit=unit)
    wait = np.full(len(jobs), -1.0) if jobs.log is None else jobs.log.wait
    if (wait < 0).all():
        raise FederationError(f"{path}: without Start no job says when it ran; dump with: {COMMAND}")
    start, site = jobs.submit + wait, jobs.origin if jobs.sites else np.zeros(len(jobs), dtype=np.int64)
    clusters = []
    named = [text.partition(" ")[2] for label, text in jobs.header if label == "Partition"]  # the column's clusters
    for k, name in enumerate(jobs.sites or named or (jobs.name,)):
        here = (site == k) & (wait >= 0)
        if here.any():
            peak = _most_at_once(start[here], (start + jobs.runtime)[here], jobs.tasks[here])
            clusters.append(Cluster(name, (NodeGroup(peak),)))
    return Federation(
        tuple(clusters),
        name=jobs.name,
        description=f"From an sacct dump: the most {unit} of a cluster in use at once, which it has at least.\n"
        "Speeds, watts and uplinks are not in such a dump: nodes are alike, watts assumed, and uplinks unlimited, "
        "so that a job on several clusters pays nothing for it.",
    )


def _most_at_once(start: NDArray[np.float64], end: NDArray[np.float64], tasks: NDArray[np.int64]) -> int:
    times = np.concatenate([end, start])
    change = np.concatenate([-tasks, tasks])
    # Ends come before starts at the same time: the tasks of ended jobs are free for jobs that start then.
    return int(np.cumsum(change[np.argsort(times, kind="stable")]).max())
