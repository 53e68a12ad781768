"""PyJobShop as the referee: the exact model's optimum is that of a solver's own model of breaks, precedences and modes.

Its modes are the ways in which a job can be spread over the clusters, at the pace of the slowest one it uses, and the
shapes that it may have.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import pytest
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import exact, lower_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.needs("ortools", "pyjobshop"), pytest.mark.slow]  # the solvers' time, whatever is compiled
PATIENCE = 600.0  # seconds that no case here needs, on however busy a machine
SPEEDS = (1.0, 2.0)


@dataclass(frozen=True)
class Case:
    """A small problem in plain numbers, all of them whole."""

    nodes: list[int]  # of each cluster, the second one twice as fast
    breaks: list[list[tuple[int, int]]]  # of each cluster: when all of it is closed
    submit: list[int]
    shapes: list[list[tuple[int, int]]]  # of each job: tasks and run time, the recorded one first
    waits: list[tuple[str, int, int] | None]  # of each job: the kind of its condition, the job's row, the lag

    @property
    def federation(self) -> fs.Federation:
        """Return the machine, with its maintenance."""
        groups = [fs.NodeGroup(count, speed, 200.0, 90.0) for count, speed in zip(self.nodes, SPEEDS, strict=False)]
        clusters = tuple(fs.Cluster(f"c{k}", (group,), 1e9) for k, group in enumerate(groups))
        windows = [
            fs.Downtime(f"c{k}", float(begin), float(end)) for k, each in enumerate(self.breaks) for begin, end in each
        ]
        return replace(fs.Federation(clusters), calendar=tuple(windows))

    def workload(self, chosen: tuple[int, ...]) -> fs.Workload:
        """Return the jobs in these shapes."""
        shapes = [each[k] for each, k in zip(self.shapes, chosen, strict=True)]
        return fs.Workload(
            submit=self.submit,
            tasks=[tasks for tasks, _ in shapes],
            runtime=[float(runtime) for _, runtime in shapes],
            after=["" if wait is None else f"{wait[0]}:{wait[1] + 1}+{wait[2]}s" for wait in self.waits],
        )

    def choices(self) -> Iterator[tuple[int, ...]]:
        """Give every choice of shapes."""
        return product(*(range(len(each)) for each in self.shapes))


def drawn(seed: int, *, clusters: int, jobs: int, shapes: int) -> Case:
    """Return a random problem."""
    rng = random.Random(seed)
    nodes = [rng.randint(2, 4) for _ in range(clusters)]
    breaks = []
    for _ in nodes:
        begin = rng.randint(2, 12)
        breaks.append([(begin, begin + rng.randint(1, 6))] if rng.random() < 0.8 else [])
    return Case(
        nodes,
        breaks,
        submit=[0] + [rng.choice((0, 0, 3, 7)) for _ in range(jobs - 1)],
        shapes=[
            list(
                {
                    tasks: (tasks, 2 * rng.randint(1, 6)) for tasks in rng.choices(range(1, sum(nodes) + 1), k=shapes)
                }.values()
            )
            for _ in range(jobs)
        ],
        waits=[
            (rng.choice(("after", "afterany", "afterok")), rng.randrange(j), rng.randint(0, 5))
            if j and rng.random() < 0.5
            else None
            for j in range(jobs)
        ],
    )


def optimum(case: Case) -> int:
    """Return the least makespan, from time 0 on, as PyJobShop proves it."""
    import pyjobshop

    model = pyjobshop.Model()
    clusters = [model.add_renewable(count, breaks=each) for count, each in zip(case.nodes, case.breaks, strict=True)]
    tasks = [model.add_task(earliest_start=begin) for begin in case.submit]
    for task, shapes in zip(tasks, case.shapes, strict=True):
        for width, runtime in shapes:
            for spread in product(*(range(count + 1) for count in case.nodes)):
                used = [k for k, count in enumerate(spread) if count]
                if sum(spread) == width:
                    seconds = int(runtime / min(SPEEDS[k] for k in used))
                    model.add_mode(task, [clusters[k] for k in used], seconds, [spread[k] for k in used])
    for task, wait in zip(tasks, case.waits, strict=True):
        if wait is not None:
            kind, on, lag = wait
            bind = model.add_start_before_start if kind == "after" else model.add_end_before_start
            bind(tasks[on], task, lag)
    found = model.solve(time_limit=PATIENCE, display=False, num_workers=1)
    assert found.status == pyjobshop.SolveStatus.OPTIMAL
    return int(found.objective)


@pytest.mark.parametrize(
    ("clusters", "fewest", "most", "cases"), [(1, 2, 7, 40), (2, 2, 6, 40), (1, 8, 10, 12), (2, 7, 10, 12)]
)
def test_the_exact_optimum_is_pyjobshops(clusters: int, fewest: int, most: int, cases: int) -> None:
    """Up to ten jobs with submits, breaks, starts and ends that others wait for, on one cluster or across two."""
    waiting = broken = 0
    for seed in range(tries(cases)):
        case = drawn(seed, clusters=clusters, jobs=random.Random(seed).randint(fewest, most), shapes=1)
        workload, federation = case.workload((0,) * len(case.shapes)), case.federation
        answer = exact(workload, federation, seconds=PATIENCE, workers=1)
        best = optimum(case)
        assert (answer.status, answer.value) == ("optimal", best), f"seed {seed}"
        answer.schedule.verify()
        assert lower_bounds(workload, federation).makespan <= best
        waiting += any(case.waits)
        broken += any(case.breaks)
    assert min(waiting, broken) > tries(cases) // 3


def test_the_best_of_all_shapes_is_pyjobshops() -> None:
    """The best choice of the shapes that jobs may have reaches it, and the bound over all of them is no more."""
    gains = 0
    for seed in range(100, 100 + tries(20)):
        case = drawn(seed, clusters=random.Random(seed).randint(1, 2), jobs=3, shapes=2)
        best, federation = optimum(case), case.federation
        values = [exact(case.workload(each), federation, seconds=PATIENCE, workers=1).value for each in case.choices()]
        assert min(values) == best, f"seed {seed}"
        shapes = {j + 1: [(*each, each[1]) for each in listed] for j, listed in enumerate(case.shapes)}
        recorded = replace(case.workload((0,) * len(case.shapes)), alternatives=shapes)
        assert lower_bounds(recorded, federation, alternatives="free").makespan <= best
        gains += best < values[0]
    assert gains > 0
