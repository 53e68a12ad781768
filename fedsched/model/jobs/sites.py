"""Change the sites of a workload's jobs, or rename them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.model.jobs.validation import site_table, table_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from fedsched.model.jobs.workload import Workload


def with_sites(
    workload: Workload, sites: Sequence[str], origin: ArrayLike | None, allowed: ArrayLike | None
) -> Workload:
    """Return the jobs with these sites; without `origin` the present sites are renamed in order."""
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


def renamed(sites: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return the sites after renaming: {present name: new name}."""
    for name in names:
        if name not in sites:
            raise unknown_name("site", name, sites)
    return [names.get(site, site) for site in sites]
