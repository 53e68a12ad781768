"""The compiled loop against the plain-Python model, event by event, and what must hold of every run."""

from __future__ import annotations

import numpy as np
import pytest
from gang.reference import System
from support.tiers import tries

import fedsched as fs
from fedsched.gang import GangSystem, simulate
from fedsched.gang.system import DISCIPLINES, DISPATCHES, ROUTINGS


def random_case(seed, **fixed):
    """A small system and workload; whole-number times make events coincide in every other case."""
    rng = np.random.default_rng(seed)
    processors = tuple(int(count) for count in rng.choice([1, 2, 3, 4, 5, 6, 8], rng.integers(1, 4)))
    multi_site = bool(rng.random() < 0.3)
    options = {
        "processors": processors,
        "clocks": tuple(rng.choice([1500.0, 2000.0, 2500.0, 4000.0], sum(processors))) if rng.random() < 0.6 else None,
        "approach": int(rng.integers(1, 4)),
        "overhead": float(rng.choice([0.0, 0.1, 0.5])),
        "threshold": float(rng.choice([0.0, 0.5, 3.0])),
        "dispatch": str(rng.choice(DISPATCHES)),
        "routing": str(rng.choice(ROUTINGS)),
        "latency": float(rng.choice([0.0, 0.0, 0.5])),
        "megabytes": float(rng.choice([0.0, 3.0])),
        "bandwidth": float(rng.choice([np.inf, 8.0])),
    }
    if not multi_site:
        options |= {
            "grid": str(rng.choice(["load", "random"])),
            "local_site": str(rng.choice(["grid", "random", "any"])),
            "discipline": str(rng.choice(DISCIPLINES)),
            "order": str(rng.choice(["sort", "head"])),
            "claim": str(rng.choice(["hold", "skip"])),
            "local_migration": bool(rng.random() < 0.5),
            "external_migration": bool(rng.random() < 0.5),
            "aging": int(rng.choice([0, 0, 1, 3])),
            "preempts": str(rng.choice(["never", "never", "site", "system"])),
            "preempted": str(rng.choice(["restart", "resume"])),
        }
    system = GangSystem(**options | fixed)
    jobs = int(rng.integers(1, 80))
    local = rng.random(jobs) < rng.choice([0.2, 0.6, 0.9])
    tasks = np.where(local, 1, rng.integers(1, system.largest + 1, jobs))
    submit = np.sort(rng.uniform(0, jobs * rng.choice([0.2, 1.0, 3.0]), jobs))
    runtime = rng.exponential(3.0, jobs) + 0.01
    if seed % 2:
        submit, runtime = np.floor(submit), np.ceil(runtime)
    origin = np.where(local & (rng.random(jobs) < 0.7), rng.integers(0, len(processors), jobs), -1)
    sites = [f"s{k}" for k in range(len(processors))]
    ids = rng.permutation(jobs) + 1
    return fs.Workload(id=ids, submit=submit, tasks=tasks, runtime=runtime, origin=origin, sites=sites), system


def reference_of(workload, system, *, seed=0, completions=None, model=System):
    multi_site = system.grid == "multi_site"
    columns = (workload.id, workload.submit, workload.tasks, workload.runtime, workload.origin)
    jobs = []
    for number, submit, tasks, runtime, origin in zip(*(column.tolist() for column in columns), strict=True):
        local = tasks == 1 and (origin >= 0 or not multi_site)
        jobs.append((number, submit, tasks, runtime, local, origin if local and origin >= 0 else None))
    return model(jobs, system, seed=seed).run(completions)


def assert_equal_runs(ours, model, case):
    """Every event, every stretch of running and every counter agree."""
    ids = ours.workload.id
    numbers = [job.id for job in model.jobs]
    words = np.where(ours.event_ends, "ends", "arrives")
    events = list(
        zip(ours.event_time.tolist(), words.tolist(), ids[ours.event_job].tolist(), ours.idle.tolist(),
            ours.waiting.tolist(), strict=True)
    )  # fmt: skip
    assert events == [(time, word, numbers[k], idle, queued) for time, word, k, idle, queued in model.events], case
    ended = len(model.segments)
    first = ours.segment_first
    segments = [
        (int(ids[ours.segment_job[k]]), ours.segment_start[k], ours.segment_end[k],
         ours.segment_processor[first[k] : first[k + 1]].tolist())
        for k in range(ended)
    ]  # fmt: skip
    expected = [(numbers[k], begin, end, used) for k, begin, end, used in model.segments]
    assert segments == expected, case
    assert ours.lost[-1] == pytest.approx([model.lost, model.lost_by_site], rel=1e-12, abs=1e-12), case
    counts = (ours.backfilled, ours.local_migrations, ours.external_migrations, ours.moved_tasks)
    theirs = (model.backfilled, model.local_migrations, model.external_migrations, model.moved_tasks)
    assert counts == theirs, case
    by_id = {job.id: job for job in model.jobs}
    assert ours.preemptions.tolist() == [by_id[i].preemptions for i in ids.tolist()]
    assert ours.migrations.tolist() == [by_id[i].migrations for i in ids.tolist()]


@pytest.mark.parametrize("block", range(tries(20)))
def test_kernel_and_reference_agree_on_every_event(block):
    """Events, stretches, lost capacity, moves, preemptions and overtakings are equal on six hundred random systems."""
    for case in range(block * 30, block * 30 + 30):
        workload, system = random_case(case)
        ours = simulate(workload, system, seed=case)
        assert_equal_runs(ours, reference_of(workload, system, seed=case), case)
        assert ours.complete
        ours.verify()


@pytest.mark.parametrize("block", range(4))
def test_a_run_that_stops_early_agrees_too(block):
    """At the limit of completions the same events have happened and the clock stands at the same instant."""
    for case in range(block * 15, block * 15 + tries(15)):
        workload, system = random_case(case)
        limit = max(1, len(workload) // 2)
        ours = simulate(workload, system, seed=case, max_completions=limit)
        model = reference_of(workload, system, seed=case, completions=limit)
        assert_equal_runs(ours, model, case)
        assert ours.end == model.now
        assert int(ours.completed.sum()) == limit == model.completed
        ours.verify()


@pytest.mark.compiled
def test_the_cases_exercise_every_rule():
    """The random systems overtake, migrate both ways, stop gangs, and need a longer record."""
    totals = dict.fromkeys(("overtaken", "locally", "externally", "stopped", "stopped after moving", "longer"), 0)
    for case in range(150):
        workload, system = random_case(case)
        run = simulate(workload, system, seed=case)
        totals["overtaken"] += run.backfilled
        totals["locally"] += run.local_migrations
        totals["externally"] += run.external_migrations
        totals["stopped"] += int(run.preemptions.sum())
        totals["stopped after moving"] += int(((run.preemptions > 0) & (run.migrations > 0)).sum())
        totals["longer"] += run.segment_job.size > len(workload) + 1
    assert min(totals.values()) >= 5, totals


def test_nothing_is_lost_or_run_twice():
    """With migration and preemption every job completes once, having run for its service; nobody stops a local job."""
    options = {"local_migration": True, "external_migration": True, "grid": "load", "discipline": "afcfs"}
    for case in range(tries(60)):
        workload, system = random_case(case, **options, preempts=("site", "system")[case % 4 // 2])
        run = simulate(workload, system, seed=case)
        run.verify()
        assert sorted(run.event_job[run.event_ends].tolist()) == list(range(len(workload)))
        assert np.bincount(run.segment_job, minlength=len(workload)).tolist() == (1 + run.preemptions).tolist()
        assert not run.preemptions[run.local].any()
        lengths = np.diff(run.segment_first)
        assert lengths.tolist() == workload.tasks[run.segment_job].tolist()


@pytest.mark.compiled
@pytest.mark.parametrize("multi_site", [True, False])
def test_without_a_threshold_no_overtaking_delays_a_gang(multi_site):
    """T = 0: who overtakes a gang is done before the last job that it waits for anyway; with T some are not."""
    late, overtakings = {0.0: 0, 3.0: 0}, 0
    own = {"grid": "multi_site"} if multi_site else {"grid": "load", "routing": "dispatch", "dispatch": "jsq"}
    fixed = own | {"discipline": "fcfs", "claim": "hold", "local_migration": False, "external_migration": False}
    for threshold in late:
        for case in range(80):
            workload, system = random_case(case, **fixed, preempts="never", local_site="grid", threshold=threshold)
            model = reference_of(workload, system, seed=case, model=_Watching)
            taken = [pair for pair in model.pairs if pair[0].begun == pair[1] and pair[0].processors == [pair[2]]]
            overtakings += len(taken)
            late[threshold] += sum(local.finish > free + 1e-9 for local, *_, free in taken)
            if multi_site and threshold == 0.0:
                begun = simulate(workload, system, seed=case).start
                rows = {number: row for row, number in enumerate(workload.id.tolist())}
                late[0.0] += sum(begun[rows[job.id]] > time + 1e-9 for job, time in model.promised)
    assert late[0.0] == 0
    assert late[3.0] > 0
    assert overtakings > 100


class _Watching(System):
    """The model, noting who might overtake a gang, when, where and what it waits for; and what gangs were promised."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.pairs, self.promised = [], []

    def may_overtake(self, local, p, gang):
        answer = super().may_overtake(local, p, gang)
        if answer:
            self.pairs.append((local, self.now, p, self.now + self.elapsed(gang)))
        return answer

    def place(self, gang, candidates):
        super().place(gang, candidates)
        if gang.begun is None:
            self.promised.append((gang, self.now + self.elapsed(gang)))
