"""The papers' worked figures and rules, one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fedsched as fs
from fedsched.gang import GangSystem, simulate


def jobs(*rows):
    """A workload of (submit, tasks, runtime)."""
    submit, tasks, runtime = zip(*rows, strict=True)
    return fs.Workload(submit=submit, tasks=tasks, runtime=runtime)


ONE_SITE = GangSystem(processors=(4,), grid="load", dispatch="jsq", routing="dispatch")


def start_order(schedule, *, without):
    """The ids in the order of their starts."""
    order = schedule.workload.id[np.argsort(schedule.start, kind="stable")]
    return [int(job) for job in order if job not in without]


@pytest.mark.parametrize("dispatch", ["jsq", "olb", "jseq"])
@pytest.mark.parametrize("claim", ["hold", "skip"])
@pytest.mark.parametrize(
    ("discipline", "queue"),
    [("afcfs", [5, 2, 3, 1, 4]), ("ljfs", [1, 4, 2, 3, 5]), ("lgfs", [1, 4, 2, 3, 5]), ("fcfs", [1, 2, 3, 4, 5])],
)
def test_queues_are_served_as_in_figures_2_to_5(discipline, queue, claim, dispatch):
    """Five gangs of 4, 3, 3, 4 and 2 tasks queue at four processors; any two share one, so they run in queue order."""
    workload = jobs((0, 4, 10), (1, 4, 5), (2, 3, 5), (3, 3, 5), (4, 4, 5), (5, 2, 5)).take(np.arange(6))
    workload = replace_ids(workload, [9, 1, 2, 3, 4, 5])
    system = replace(ONE_SITE, discipline=discipline, claim=claim, dispatch=dispatch)
    assert start_order(simulate(workload, system), without={9}) == queue


def replace_ids(workload, ids):
    return fs.Workload(submit=workload.submit, tasks=workload.tasks, runtime=workload.runtime, id=ids)


def test_queues_are_served_as_in_figure_7():
    """The expansion factors are 1.6, 2.5, 1.8, 1.7 and 1.3 when the processors fall free; the largest goes first."""
    free = 100.0
    waits = np.array([96.0, 90.0, 80.0, 70.0, 60.0])
    seconds = waits / (np.array([1.6, 2.5, 1.8, 1.7, 1.3]) - 1.0)
    rows = zip(free - waits, (4, 3, 3, 4, 2), seconds, strict=True)
    workload = replace_ids(jobs((0, 4, free), *rows), [9, 1, 2, 3, 4, 5])
    schedule = simulate(workload, replace(ONE_SITE, discipline="lxf"))
    assert start_order(schedule, without={9}) == [2, 3, 4, 1, 5]


def test_the_smallest_expansion_factor_can_go_first():
    """Sxf is lxf the other way round: what Algorithm 7's comparison says where figure 7 shows the opposite."""
    free = 100.0
    waits = np.array([96.0, 90.0, 80.0, 70.0, 60.0])
    seconds = waits / (np.array([1.6, 2.5, 1.8, 1.7, 1.3]) - 1.0)
    rows = zip(free - waits, (4, 3, 3, 4, 2), seconds, strict=True)
    workload = replace_ids(jobs((0, 4, free), *rows), [9, 1, 2, 3, 4, 5])
    schedule = simulate(workload, replace(ONE_SITE, discipline="sxf"))
    assert start_order(schedule, without={9})[0] == 5
    assert sorted(start_order(schedule, without={9})) == [1, 2, 3, 4, 5]


# Nine gangs fill six processors so that, at 13, the last one heads the queues of the idle first two, and its third task
# waits at the busy sixth behind another job.
FIGURE_8 = (
    (0, 6, 10), (1, 3, 1), (1, 2, 100), (1, 1, 100), (2, 3, 1), (2, 2, 100), (2, 1, 100), (3, 3, 1), (3, 2, 100),
    (4, 3, 7),
)  # fmt: skip


def test_a_task_migrates_as_in_figure_8():
    """The task in a busy processor's queue moves to the idle one without a sibling, and the gang starts at once."""
    system = replace(ONE_SITE, processors=(6,))
    staying = simulate(jobs(*FIGURE_8), system)
    assert staying.start[9] == 210.0
    moving = simulate(jobs(*FIGURE_8), replace(system, local_migration=True))
    assert moving.start[9] == 13.0
    assert sorted(moving.processors_of(9).tolist()) == [0, 1, 2]
    assert (moving.local_migrations, moving.moved_tasks, moving.migrations[9]) == (1, 1, 1)
    moving.verify()


def test_loss_of_capacity_of_the_worked_example():
    """Of 96 processors 5, 3, 6, 4 and 8 are idle until 10, 13, 17, 30 and 100; the second and fourth lose nothing."""
    workload = jobs((0, 91, 10), (0, 3, 3), (0, 2, 7), (0, 88, 90), (11, 4, 13), (20, 6, 50))
    schedule = simulate(workload, replace(ONE_SITE, processors=(96,)), time_limit=100.0)
    times = np.array([5.0, 11.5, 15.0, 25.0, 60.0])
    assert (96 - schedule.series(times).working).tolist() == [5, 3, 6, 4, 8]
    assert (schedule.series(times).waiting > 0).tolist() == [True, True, True, True, True]
    assert schedule.metrics().loss_of_capacity == pytest.approx((5 * 10 + 6 * 4 + 8 * 70) / 9600)
    assert round(100 * schedule.metrics().loss_of_capacity, 1) == 6.6


def test_loss_of_capacity_by_site():
    """A gang of two waits while each of two sites has one idle processor: lost over all, not site by site."""
    workload = jobs((0, 3, 10), (0, 3, 10), (1, 2, 5))
    schedule = simulate(workload, replace(ONE_SITE, processors=(4, 4), dispatch="ald"))
    metrics = schedule.metrics()
    assert metrics.loss_of_capacity == pytest.approx(2 * 9 / (8 * 15))
    assert metrics.loss_by_site == 0.0


def test_the_grid_sends_gangs_to_the_least_loaded_site_that_is_large_enough():
    """Tasks a processor decide (eq. 1), not tasks; a site that is too small is no choice."""
    system = replace(ONE_SITE, processors=(2, 8), dispatch="ald")
    for seed in range(5):
        schedule = simulate(jobs((0, 4, 100), (1, 1, 100), (2, 1, 100), (3, 2, 100)), system, seed=seed)
        sites = [int(schedule.processors_of(job)[0] >= 2) for job in range(4)]
        assert sites == [1, 0, sites[2], 1 - sites[2]]  # 1/2 against 4/8 is drawn


def test_equally_loaded_sites_are_drawn():
    """Over many seeds an empty grid's first gang goes to either site."""
    workload = jobs((0, 2, 1))
    system = replace(ONE_SITE, processors=(4, 8))
    first = {int(simulate(workload, system, seed=seed).processors_of(0)[0] >= 4) for seed in range(20)}
    assert first == {0, 1}


@pytest.mark.parametrize(
    ("dispatch", "expected"), [("jsq", [0, 1]), ("ald", [2, 3]), ("jseq", [2, 3]), ("least_remaining", [2, 3])]
)
def test_jsq_alone_does_not_see_what_runs(dispatch, expected):
    """With two processors at work and nothing waiting, JSQ takes the first ones, the others the idle ones."""
    schedule = simulate(jobs((0, 2, 100), (1, 2, 10)), replace(ONE_SITE, dispatch=dispatch))
    assert schedule.processors_of(1).tolist() == expected


@pytest.mark.parametrize(
    ("dispatch", "expected"), [("jseq", [2, 1]), ("least_remaining", [1, 2]), ("ald", [0, 2]), ("jsq", [0, 2])]
)
def test_jseq_adds_the_seconds_that_wait(dispatch, expected):
    """Processors 0 to 2 run 100, 20 and 30 s; 50 s wait at 1."""
    system = replace(ONE_SITE, processors=(3,), dispatch=dispatch, routing="fastest")
    schedule = simulate(jobs((0, 1, 100), (0, 1, 20), (0, 1, 30), (0, 1, 50), (0, 2, 10)), system)
    assert schedule.processors_of(4).tolist() == expected


def test_olb_takes_idle_processors_first_in_random_order():
    """A gang of two never waits while two are idle, and different jobs get different ones."""
    system = replace(ONE_SITE, processors=(8,), dispatch="olb")
    workload = jobs((0, 4, 1000), *((10 * k, 2, 5) for k in range(1, 40)))
    schedule = simulate(workload, system)
    assert (schedule.start == workload.submit).all()
    assert len({tuple(schedule.processors_of(job)) for job in range(1, 40)}) > 6


def test_the_fastest_idle_processor_takes_a_sequential_job():
    """Routing by clock: the fastest idle one of all sites; when all are busy, the least remaining and waiting time."""
    system = GangSystem(
        processors=(2, 2), clocks=(1500, 2000, 3500, 1000), grid="load", routing="fastest", local_site="any"
    )
    schedule = simulate(jobs((0, 1, 70), (1, 1, 10), (2, 1, 30), (3, 1, 100), (4, 1, 1)), system)
    assert [int(schedule.processors_of(job)[0]) for job in range(5)] == [2, 1, 0, 3, 1]
    assert schedule.finish[0] == pytest.approx(70 * 2000 / 3500)


def test_a_gang_runs_at_its_slowest_processor_and_pays_the_latency():
    """10 s at 2000 MHz are 20 s at 1000 MHz, and T(z) = α + z/ρ comes on top; sequential jobs pay none."""
    system = replace(
        ONE_SITE, processors=(2,), clocks=(4000, 1000), latency=0.5, megabytes=3.0, bandwidth=4.0, dispatch="ald"
    )
    schedule = simulate(jobs((0, 2, 10), (100, 1, 10)), system)
    assert schedule.finish.tolist() == [20.0 + 0.5 + 2 * 3.0 / 4.0, 105.0]
    schedule.verify()


PRIORITY = replace(ONE_SITE, processors=(2,), preempts="site")


@pytest.mark.parametrize(
    ("preempted", "finish", "wait", "wasted"), [("restart", 17.0, 7.0, 8.0), ("resume", 13.0, 3.0, 0.0)]
)
def test_a_local_job_stops_a_gang(preempted, finish, wait, wasted):
    """All siblings stop; the gang starts again from nothing, or goes on; its wait runs from its arrival."""
    schedule = simulate(jobs((0, 2, 10), (4, 1, 3)), replace(PRIORITY, preempted=preempted))
    assert schedule.start.tolist() == [0.0, 4.0]
    assert schedule.finish.tolist() == [finish, 7.0]
    assert schedule.preemptions.tolist() == [1, 0]
    gangs = schedule.metrics("gangs")
    assert (gangs.mean_wait, gangs.mean_response) == (wait, finish)
    assert gangs.wasted == pytest.approx(wasted / (2 * finish))
    assert gangs.utilisation == pytest.approx(20 / (2 * finish))
    schedule.verify()


@pytest.mark.parametrize(("preempts", "stopped"), [("never", [0, 0]), ("site", [1, 1]), ("system", [0, 1])])
def test_a_local_job_stops_a_gang_where_no_processor_of_its_site_or_of_the_system_is_idle(preempts, stopped):
    """With one idle at the other, more loaded site it goes there under "system"; the next one finds all busy."""
    system = replace(PRIORITY, processors=(2, 2), preempts=preempts)
    rows = [(0, 2, 10), (1, 1, 100), (2, 2, 5), (4, 1, 3), (5, 1, 1)]  # the second gang waits for the first local job
    for last, count in ((4, stopped[0]), (5, stopped[1])):
        schedule = simulate(jobs(*rows[:last]), system)
        schedule.verify()
        assert int(schedule.preemptions.sum()) == schedule.preemptions[0] == count
        assert (schedule.start[last - 1] == rows[last - 1][0]) == (preempts != "never")
    first, other = (simulate(jobs(*rows[:4]), system).processors_of(k) // 2 for k in (0, 3))
    assert (first[0] == other[0]) == (preempts != "system")


@pytest.mark.parametrize(("preempts", "start"), [("site", 101.0), ("system", 4.0)])
def test_where_its_site_runs_only_local_jobs_a_local_job_may_stop_a_gang_elsewhere(preempts, start):
    """It starts at once while any gang runs, if the whole system is what must be busy; else it waits at its site."""
    system = replace(PRIORITY, processors=(1, 2), preempts=preempts)
    schedule = simulate(jobs((0, 2, 10), (1, 1, 100), (2, 2, 5), (4, 1, 3)), system)
    schedule.verify()
    assert schedule.start[3] == start
    assert schedule.preemptions[0] == (start == 4.0)


@pytest.mark.parametrize(("preempts", "start"), [("site", 4.0), ("system", 10.0)])
def test_a_local_job_that_names_its_site_stops_nobody_while_another_site_has_an_idle_processor(preempts, start):
    """It may not go there, and waits for the gang's end."""
    workload = fs.Workload(submit=[0, 4], tasks=[3, 1], runtime=[10, 3], origin=[-1, 0], sites=("a", "b"))
    schedule = simulate(workload, replace(PRIORITY, processors=(3, 2), preempts=preempts))
    schedule.verify()
    assert schedule.start[1] == start


def test_local_jobs_never_stop_each_other():
    """The third finds two running, and waits; it goes before the gang that was there first."""
    schedule = simulate(jobs((0, 2, 10), (1, 1, 5), (2, 1, 5), (3, 1, 5)), PRIORITY)
    assert schedule.start.tolist() == [0.0, 1.0, 2.0, 6.0]
    assert schedule.finish[0] == 21.0
    assert schedule.preemptions.tolist() == [1, 0, 0, 0]


def test_the_processors_of_a_stopped_migrated_gang_stay_reserved():
    """Nobody but local jobs may use them; when the local job ends, the gang runs again at once."""
    system = replace(PRIORITY, processors=(6,), local_migration=True, external_migration=True)
    rows = [(0, 6, 10), (1, 2, 100), (1, 2, 1), (1, 2, 1), (2, 3, 20), (12, 4, 5), (13, 1, 3), (14, 1, 10), (15, 2, 5)]
    schedule = simulate(jobs(*rows), system)
    moved, late = 4, 8
    assert schedule.migrations[moved] == 1
    assert schedule.preemptions[moved] == 1
    stretches = np.flatnonzero(schedule.segment_job == moved)
    assert schedule.segment_start[stretches].tolist() == [11.0, 24.0]
    # Two of the reserved processors are idle from 14 to 24, and the last gang could migrate there at 16.
    assert schedule.idle[schedule.event_time == 16.0][-1] == 3
    assert schedule.start[late] >= 24.0
    schedule.verify()


@pytest.mark.parametrize(("aging", "start"), [(0, 8.0), (2, 8.0), (1, 105.0)])
def test_aging_stops_the_migration_of_later_arrivals(aging, start):
    """A gang that one migrated start has overtaken goes first: the next one may not migrate before it has started."""
    system = replace(ONE_SITE, local_migration=True, aging=aging)
    schedule = simulate(jobs((0, 2, 100), (1, 3, 5), (2, 2, 5), (8, 2, 5)), system)
    assert schedule.start.tolist() == [0.0, 100.0, 2.0, start]


def test_a_gang_migrates_to_another_site_as_a_whole():
    """A gang with a task on an idle processor goes to the lowest idle ones elsewhere when they are enough."""
    system = replace(ONE_SITE, processors=(4, 4), dispatch="ald")
    workload = jobs((0, 3, 100), (0, 3, 10), (1, 2, 5))
    stayed = moved = 0
    for seed in range(12):
        staying = simulate(workload, system, seed=seed)
        moving = simulate(workload, replace(system, external_migration=True), seed=seed)
        assert moving.start[2] == 10.0
        if staying.start[2] == 10.0:  # it was sent to the site that is free first
            stayed += 1
            assert moving.external_migrations == 0
        else:
            moved += 1
            short = int(moving.processors_of(1)[0])
            assert moving.processors_of(2).tolist() == [short - short % 4, short - short % 4 + 1]
            assert (moving.external_migrations, moving.moved_tasks) == (1, 2)
    assert stayed > 0
    assert moved > 0


def test_head_first_looks_at_arrivals_before_sizes():
    """order="head" starts the gang that came first where it can start; order="sort" the smaller one."""
    workload = jobs((0, 4, 10), (1, 4, 5), (2, 2, 5))
    assert simulate(workload, replace(ONE_SITE, discipline="afcfs", order="head")).start.tolist() == [0.0, 10.0, 15.0]
    assert simulate(workload, replace(ONE_SITE, discipline="afcfs", order="sort")).start.tolist() == [0.0, 15.0, 10.0]


def test_claims_hold_or_skip():
    """A later gang passes one that lacks a processor under skip, and not under hold."""
    # Two run on 0 and 1; the gang of four waits for them; the gang of two queues at 2 and 3, which are idle.
    workload = jobs((0, 2, 100), (1, 4, 5), (2, 2, 5))
    system = replace(ONE_SITE, dispatch="jseq")
    assert simulate(workload, replace(system, claim="hold")).start.tolist() == [0.0, 100.0, 105.0]
    assert simulate(workload, replace(system, claim="skip")).start[2] == 2.0
