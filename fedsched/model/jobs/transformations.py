"""Workloads made from another workload: with all jobs submitted at one time, or with other sites."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.model.constraints.dependencies import replace_singletons
from fedsched.model.jobs.validation import site_table, table_column
from fedsched.model.reading import SUBMITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from fedsched.model.jobs.workload import Workload


def with_submits(call: str, workload: Workload, submits: str, t0: float | None, *, some_run: bool) -> Workload:
    """Return the jobs unchanged for submits="keep"; all submitted at t0 for "now".

    Without t0, "now" is the earliest submit. Raise if "now" is asked and some jobs run already (`some_run`). `call`
    names the caller in errors.
    """
    if submits not in SUBMITS:
        raise unknown_name("submits", submits, SUBMITS)
    if submits == "keep" or len(workload) == 0:
        return workload
    if some_run:
        raise ValueError(
            f"{call}: submits='now' would move the running jobs' submits too; use submits='keep' with running."
        )
    return submit_all_at(workload, float(workload.submit.min()) if t0 is None else float(t0))


def submit_all_at(workload: Workload, now: float) -> Workload:
    """Return the workload with all jobs submitted at the time `now`, in seconds.

    Jobs still wait for the end of a preceding job [45]. Singletons become conditions on the jobs before them by the
    old submits. Cancellations before `now` are moved to `now`. Recorded waits, which belong to other submits, are
    dropped.
    """
    leaving = workload.cancel_at
    if leaving is not None:
        leaving = leaving.moved(lambda times: np.maximum(times, now))
    log = None if workload.log is None else workload.log.without_waits()
    submit, after = np.full(len(workload), now), replace_singletons(workload)
    return replace(workload, submit=submit, after=after, cancel_at=leaving, log=log)


def with_sites(
    workload: Workload, sites: Sequence[str], origin: ArrayLike | None, allowed: ArrayLike | None
) -> Workload:
    """Return the jobs with these site names; `origin` is the index of the site at which each job is submitted.

    Without `origin` the present sites are renamed in their order. `allowed` (jobs × sites) says which sites a job may
    use; without it, and with `origin`, all sites are allowed.
    """
    jobs = len(workload)
    if origin is None and workload.sites and len(sites) != len(workload.sites):
        raise ValueError(
            f"with_sites: {len(sites)} names for the {len(workload.sites)} present sites; "
            "give as many names, or an origin for every job."
        )
    keep_allowed = allowed is None and origin is None
    may_use = None if allowed is None else site_table(allowed, jobs, len(sites))
    return replace(
        workload,
        sites=tuple(sites),
        origin=workload.origin if origin is None else table_column("origin", origin, jobs, np.int64, workload.id),
        allowed=workload.allowed if keep_allowed else may_use,
    )


def renamed_sites(sites: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return the sites' names after renaming some: {present name: new name}; raise if a present name is unknown."""
    for name in names:
        if name not in sites:
            raise unknown_name("site", name, sites)
    return [names.get(site, site) for site in sites]
