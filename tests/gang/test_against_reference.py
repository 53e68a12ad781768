"""The compiled loop against the plain-Python model, job by job, and what must hold of every run."""

from __future__ import annotations

import numpy as np
import pytest
from gang.reference import Grid

import fedsched as fs
from fedsched.gang import GangSystem, simulate


def random_case(seed):
    """A small system and workload; whole-number times make events coincide in every other case."""
    rng = np.random.default_rng(seed)
    processors = tuple(int(count) for count in rng.integers(1, 7, rng.integers(1, 4)))
    approach = int(rng.integers(1, 4))
    system = GangSystem(
        processors=processors,
        approach=approach,
        overhead=float(rng.choice([0.0, 0.1, 0.5])),
        threshold=float(rng.choice([0.0, 0.5, 3.0])),
        routing=str(rng.choice(["shortest_waiting", "idle_first"])),
    )
    jobs = int(rng.integers(1, 80))
    local = rng.random(jobs) < rng.choice([0.2, 0.6, 0.9])
    tasks = np.where(local, 1, rng.integers(1, system.largest + 1, jobs))
    submit = np.sort(rng.uniform(0, jobs * rng.choice([0.2, 1.0, 3.0]), jobs))
    runtime = rng.exponential(3.0, jobs) + 0.01
    if seed % 2:
        submit, runtime = np.floor(submit), np.ceil(runtime)
    origin = np.where(local, rng.integers(0, len(processors), jobs), -1)
    sites = [f"s{k}" for k in range(len(processors))]
    return fs.Workload(submit=submit, tasks=tasks, runtime=runtime, origin=origin, sites=sites), system


def reference_of(workload, system, *, seed=0, completions=None):
    rows = zip(workload.submit, workload.tasks, workload.runtime, workload.origin, strict=True)
    jobs = [
        (float(submit), int(tasks), float(runtime), int(origin) if tasks == 1 and origin >= 0 else None)
        for submit, tasks, runtime, origin in rows
    ]
    return Grid(
        jobs,
        system.processors,
        approach=system.approach,
        overhead=system.overhead,
        threshold=system.threshold,
        routing=system.routing,
        seed=seed,
    ).run(completions)


def floats(values):
    return np.array([np.nan if value is None else value for value in values])


@pytest.mark.parametrize("block", range(10))
def test_kernel_and_reference_agree_on_every_job(block):
    """Starts, finishes, processors, lost capacity and overtakings are equal on four hundred random systems."""
    for case in range(block * 40, block * 40 + 40):
        workload, system = random_case(case)
        ours = simulate(workload, system, seed=case)
        grid = reference_of(workload, system, seed=case)
        np.testing.assert_array_equal(ours.start, floats(job.start for job in grid.jobs), err_msg=str(case))
        np.testing.assert_array_equal(ours.finish, floats(job.finish for job in grid.jobs), err_msg=str(case))
        places = [p.index for job in grid.jobs for p in job.processors]
        assert sorted(places) == sorted(ours.processor.tolist())
        for j, job in enumerate(grid.jobs):
            used = ours.processor[ours.first[j] : ours.first[j + 1]]
            assert sorted(used.tolist()) == sorted(p.index for p in job.processors)
        assert ours.lost == pytest.approx(grid.lost, rel=1e-12)
        assert (ours.backfilled, ours.complete) == (grid.backfilled, True)
        ours.verify()


@pytest.mark.parametrize("case", range(40))
def test_a_run_that_stops_early_agrees_too(case):
    """At the limit of completions the same jobs are done and the clock stands at the same instant."""
    workload, system = random_case(case)
    limit = max(1, len(workload) // 2)
    ours = simulate(workload, system, seed=case, max_completions=limit)
    grid = reference_of(workload, system, seed=case, completions=limit)
    assert ours.end == grid.now
    assert int(ours.completed.sum()) == limit == grid.completed
    ours.verify()


def test_without_a_threshold_no_overtaking_delays_a_gang():
    """T = 0: a gang dispatched to queues starts when the jobs that ran there at its dispatch are done."""
    delayed = overtakings = 0
    for case in range(200):
        workload, system = random_case(case)
        if system.threshold:
            continue
        grid = _Watching.watch(workload, system, case)
        ours = simulate(workload, system, seed=case)
        for number, promised in grid.promised.items():
            delayed += ours.start[number] > promised + 1e-9
        overtakings += ours.backfilled
    assert delayed == 0
    assert overtakings > 50


class _Watching(Grid):
    """The reference, noting for every gang the start that it could expect when it was dispatched."""

    @classmethod
    def watch(cls, workload, system, seed):
        rows = zip(workload.submit, workload.tasks, workload.runtime, workload.origin, strict=True)
        jobs = [(float(s), int(n), float(r), int(o) if n == 1 and o >= 0 else None) for s, n, r, o in rows]
        grid = cls(
            jobs,
            system.processors,
            approach=system.approach,
            overhead=system.overhead,
            threshold=system.threshold,
            routing=system.routing,
            seed=seed,
        )
        grid.promised = {}
        return grid.run()

    def place(self, gang, candidates):
        super().place(gang, candidates)
        self.promised[gang.number] = self.now + self.elapsed(gang) if gang.start is None else gang.start
