"""The best schedules of tiny problems, found in plain Python by trying every order and every limit on groups."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import naive

if TYPE_CHECKING:
    from collections.abc import Iterator


def schedules(jobs: list[naive.Job], machine: naive.Machine, *, caps: bool = True) -> Iterator[naive.Result]:
    """Return the strict schedules, by the rule `powerful`, of all orders × whole groups that each job may use."""
    groups = range(len(machine.groups))
    subsets = [set(some) for size in range(1, len(groups) + 1) for some in itertools.combinations(groups, size)]

    def limited(job: naive.Job, used: set[int]) -> naive.Job:
        own = naive.effective_caps(job, machine)
        return replace(job, caps=[own[g] if g in used else 0 for g in groups])

    choices = [
        [one for used in (subsets if caps else [set(groups)]) if naive.feasible(one := limited(job, used), machine,
                                                                               "powerful")]
        for job in jobs
    ]  # fmt: skip
    for chosen in itertools.product(*choices):
        for order in itertools.permutations(range(len(jobs))):
            yield naive.simulate(list(chosen), machine, order=order, dispatch="strict", placement="powerful")
