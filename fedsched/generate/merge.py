"""Merging of several logs into one workload; the jobs of each log get a site of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs.log import FROM_SLURM, IN_CPUS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.model.jobs.workload import Workload


def _with_own_arrays(workload: Workload, site: str) -> Workload:
    """Return the jobs with `site/` before each job array's label, so that logs do not share arrays."""
    from dataclasses import replace

    from fedsched.model.jobs.labels import Labels

    if workload.labels is None or "array" not in workload.labels.texts:
        return workload
    arrays = workload.label("array")
    own = np.array([f"{site}/{text}" if text else "" for text in arrays.tolist()], dtype=object)
    return replace(workload, labels=Labels({**workload.labels.texts, "array": own}))


def merged(workloads: Sequence[Workload], *, sites: Sequence[str] | None, name: str) -> Workload:
    """Return one workload with the jobs of all logs, sorted by submit, then log, then id, and numbered anew from 1.

    Each log is one site, which is the origin of its jobs; it has the log's name unless `sites` gives others. Users of
    different logs get different numbers. Raise ValueError if names repeat, or if a log states allowed clusters.
    """
    from fedsched.model.jobs.job import OPTIONAL, UNKNOWN_USER
    from fedsched.model.jobs.workload import Workload

    names = tuple(w.name for w in workloads) if sites is None else tuple(sites)
    _check_logs(workloads, names)
    sizes = [len(w) for w in workloads]
    origin = np.repeat(np.arange(len(workloads)), sizes)
    users, known = [], 0
    for w in workloads:
        # Users of different logs are different people, whatever their numbers.
        users.append(np.where(w.user == UNKNOWN_USER, UNKNOWN_USER, w.user + known))
        known += max(0, int(w.user.max(initial=0)) + 1)

    workloads = [_with_own_arrays(w, name) for w, name in zip(workloads, names, strict=True)]

    def joined(field: str) -> np.ndarray:
        return np.concatenate([getattr(w, field) for w in workloads])

    submit, old_id = joined("submit"), joined("id")
    order = np.lexsort((old_id, origin, submit))
    new_id: list[dict[int, int]] = [{} for _ in workloads]
    for number, row in enumerate(order.tolist(), start=1):
        new_id[int(origin[row])][int(old_id[row])] = number
    optional: dict[str, Any] = {}
    for field, kind in OPTIONAL.items():
        parts = [
            (None if (part := getattr(w, field)) is None else part.renumbered(new), len(w))
            for w, new in zip(workloads, new_id, strict=True)
        ]
        if (whole := kind.joined(parts)) is not None:
            optional[field] = whole

    return Workload(
        submit=submit[order],
        tasks=joined("tasks")[order],
        runtime=joined("runtime")[order],
        estimate=joined("estimate")[order],
        compute_fraction=joined("compute_fraction")[order],
        task_bandwidth=joined("task_bandwidth")[order],
        origin=origin[order],
        user=np.concatenate(users)[order],
        sites=names,
        **{field: part.take(order) for field, part in optional.items()},
        name=name,
        nodes=sum(w.nodes for w in workloads) if all(w.nodes for w in workloads) else 0,
        header=[FROM_SLURM] * all(FROM_SLURM in w.header for w in workloads)
        + [IN_CPUS] * any(IN_CPUS in w.header for w in workloads),
        history=[f"{site}: {line}" for site, w in zip(names, workloads, strict=True) for line in w.history]
        + [f"merged {counted(len(workloads), 'log')}: {', '.join(names)}"],
    )


def _check_logs(workloads: Sequence[Workload], names: Sequence[str]) -> None:
    if not workloads:
        raise ValueError("merge: there is no workload to merge; give at least one.")
    if len(names) != len(workloads):
        raise ValueError(f"merge: {len(names)} sites for {len(workloads)} workloads; give one name for each.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"merge: two logs are named {twice!r}; tell them apart with sites=(...).")
    for w in workloads:
        if w.allowed is not None:
            raise ValueError(
                f"merge: {w.name!r} says which sites its jobs may use, and merging gives it one site of its own; "
                "give the merged workload its allowed sites afterwards (with_sites)."
            )
