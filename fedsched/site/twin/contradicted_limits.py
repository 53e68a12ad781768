"""Finds limits with values that the record contradicts: more ran at once than allowed, or less than in a replay."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import TraceError
from fedsched.core.text import counted
from fedsched.slurm import Slurm
from fedsched.slurm.conf.job_factors import JobRequest
from fedsched.slurm.passes.limits_of_accounts import Part, Parts, are_enforced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.site.twin.replaying import Replayed
    from fedsched.site.twin.site import Site
    from fedsched.slurm.priority.associations import Associations, Limits

    Column = NDArray[np.float64]


class ContradictedLimit(NamedTuple):
    """A limit that probably had another value once: its name, its value today, and its greatest recorded use."""

    of: str
    value: float
    recorded: float
    accounts: Associations  # with the limit at its recorded use
    jobs: NDArray[np.bool_]  # which records count in the limit

    def in_words(self, more: int) -> str:
        """Return both values in words, and that `more` further starts are as recorded with the recorded value."""
        return (
            f"{self.of} is {self.value:g} in the accounts, and {self.recorded:g} on record: with that "
            f"{counted(more, 'more start')} {'is' if more == 1 else 'are'} equal"
        )


def other_limits(site: Site, plain: Replayed) -> Iterator[ContradictedLimit]:
    """Yield the limits that probably had other values when the jobs ran.

    If more ran at once than a limit allows, the limit was wider. If a replay that takes no recorded facts as given
    (`plain`) runs more at once than the record ever had, the limit may have been narrower. There are none unless the
    policy is Slurm's with limits.
    """
    policy = plain.problem.policy
    if not isinstance(policy, Slurm) or site.accounts is None or not are_enforced(policy):
        return
    records, rows = site.records, plain.problem.rows
    of_partitions = {name: line.words.get("qos", "") for name, line in policy.conf.partitions.items()}
    parts = _parts(site, Parts(site.accounts, of_partitions))
    start, end = plain.schedule.start + site.zero, plain.schedule.finish + site.zero
    widest: dict[str, float] = {}
    for of, taken in parts.items():
        shared = _shared(of)
        widest[shared] = max(widest.get(shared, 0.0), *(part.weight for _, part in taken))
    for of, taken in parts.items():
        value = taken[0][1].amount
        whose = np.array([row for row, _ in taken], dtype=np.int64)
        weight = np.array([part.weight for _, part in taken])
        recorded = _most(records.start[whose], records.end[whose], weight)
        here = np.flatnonzero(np.isin(rows, whose))
        of_row = dict(zip(whose.tolist(), weight.tolist(), strict=True))
        simulated = _most(start[here], end[here], np.array([of_row[row] for row in rows[here].tolist()]))
        # With a limit narrower than a single job's request, that job would never start.
        if recorded < widest[_shared(of)] or not (recorded > value or simulated > recorded):
            continue
        changed = _with(site.accounts, of, recorded)
        if changed is not None:
            mine = np.zeros(len(records), dtype=np.bool_)
            mine[whose] = True
            yield ContradictedLimit(of, value, recorded, changed, mine)


def _parts(site: Site, parts: Parts) -> dict[str, list[tuple[int, Part]]]:
    """Return for each limit the runs that count in it, and how much of it each run takes."""
    records, limits = site.records, site.limits
    label = records.labels
    found: dict[str, list[tuple[int, Part]]] = {}
    for row in range(len(records)):
        nodes, cpus = int(records.nodes[row]), max(1, int(records.cpus[row]))
        asked = JobRequest(
            **{name: label[name][row] for name in ("user", "account", "partition", "qos")},
            nodes=nodes,
            cpus=cpus,
            limit=float(limits[row]),
            amounts={"cpu": float(cpus), "node": float(nodes)},
        )
        try:
            for part in parts.of(asked):
                found.setdefault(part.of, []).append((row, part))
        except TraceError:  # the association has been removed since
            continue
    return found


def _shared(of: str) -> str:
    """Return a limit's name without the user or account: a QOS has one value for all, each with its own count."""
    return re.sub(r"( of QOS '[^']*') of .*", r"\1", of)


def _most(start: Column, end: Column, weight: Column) -> float:
    """Return the greatest sum of weights of runs that run at once; a run that ends as another starts counts no longer.

    Runs without a start are ignored, and runs without an end never end.
    """
    ran = ~np.isnan(start)
    end = np.where(np.isnan(end), np.inf, end)
    times = np.concatenate([start[ran], end[ran]])
    change = np.concatenate([weight[ran], -weight[ran]])
    order = np.lexsort((change, times))
    return float(np.cumsum(change[order]).max(initial=0.0))


def _with(accounts: Associations, of: str, value: float) -> Associations | None:
    """Return the accounts with a limit set to another value; None if no account or QOS has the limit."""
    name, _, whose = of.partition(" of ")
    field, _, resource = name.partition("=")

    def changed(limits: Limits) -> Limits:
        there = limits.get(field)
        if resource and isinstance(there, dict) and resource in there:
            return {**limits, field: {**there, resource: value}}
        return {**limits, field: value} if there is not None and not resource else limits

    if whose.startswith("QOS "):
        mine = [key for key, one in accounts.qos.items() if whose.startswith(f"QOS {one.name!r}")]
        key = max(mine, key=len, default="")
        if not key:
            return None
        quality = replace(accounts.qos[key], limits=changed(accounts.qos[key].limits))
        return replace(accounts, qos={**accounts.qos, key: quality})
    members = tuple(
        replace(one, limits=changed(one.limits))
        if whose in (f"account {one.account!r}" if not one.user else "", f"{one.user!r} in {one.account!r}")
        else one
        for one in accounts.members
    )
    return replace(accounts, members=members) if members != accounts.members else None
