"""Runs that came to nothing: in the check, in files, in words, in pictures and reports."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FederationError, ScheduleError
from fedsched.io import read_federation
from fedsched.io.platforms.toml import write_federation
from fedsched.io.tables.downtimes import read_calendar, write_calendar
from fedsched.market import Environment
from fedsched.model.schedule.closed_spans import numbered
from fedsched.model.schedule.lost import LostRuns, finished_runs
from fedsched.optimize.result.files import _plan_data, _plan_of
from fedsched.optimize.result.record import PlannedQueue
from fedsched.plot import gantt
from fedsched.report.plan_data import plan_of, sums_of

if TYPE_CHECKING:
    from pathlib import Path

RACKS = (
    fs.Downtime("cluster", 10.0, 14.0, "0-2", "outage", on_running="requeue", victims="random", seed=7),
    fs.Downtime("cluster", 25.0, 40.0, "4-5", "outage", on_running="kill", name="rack 2"),
)
NODE = fs.Downtime("cluster", 30.0, 45.0, "1,6", "outage", on_running="requeue", victims="recorded")
MACHINE = replace(fs.Federation.homogeneous(8, busy_watts=200.0, idle_watts=50.0), calendar=RACKS)
JOBS = fs.Workload(
    submit=np.arange(12.0), tasks=[2, 1, 3, 1, 2, 1, 4, 1, 2, 1, 2, 3], runtime=[9.0, 30.0, 8.0, 21.0] * 3,
    pools={"lm": [0, 1] * 6},
)  # fmt: skip


@cache
def made() -> fs.Schedule:
    """Return a schedule with jobs that were queued again, and one that was killed."""
    return fs.simulate(JOBS, replace(MACHINE, pools=(fs.Pool("lm", 3),)), "easy")


def test_some_runs_were_lost_in_both_ways() -> None:
    """What the other tests look at: jobs that were queued again, and one that was killed."""
    made().verify(claimed=made().metrics())
    assert made().lost.requeued.sum() >= 2
    assert made().lost.killed.size >= 1
    assert made().complete


def _without_first(lost: LostRuns) -> LostRuns:
    return LostRuns(*(column[1:] for column in lost))


def changed(schedule: fs.Schedule, **columns: object) -> fs.Schedule:
    """Return the schedule with other columns of its lost runs."""
    return replace(schedule, lost=schedule.lost._replace(**{name: np.array(to) for name, to in columns.items()}))


def test_the_check_names_what_is_wrong_with_a_lost_run() -> None:
    """An end where nothing begins, another fate, other nodes, a run before its submit, a run that was left out."""
    lost, killed = made().lost, int(np.flatnonzero(~made().lost.requeued)[0])
    for other, said in (
        (changed(made(), end=lost.end - 1.0), "when no downtime takes its nodes in that way"),
        (changed(made(), requeued=~lost.requeued), "when no downtime takes its nodes in that way"),
        (changed(made(), counts=lost.counts * 0), "nodes for"),
        (changed(made(), start=lost.start - 100.0), "is not between its submit and its next start"),
        (replace(made(), lost=None), "it was never started"),
        (replace(made(), start=np.where(np.arange(12) == lost.job[killed], 60.0, made().start)), "but was killed"),
    ):
        assert any(said in line for line in other.violations()), (said, other.violations())
    # Without one of the runs that it lost the nodes of a job stood idle.
    missing = replace(made(), lost=None if lost.runs < 2 else _without_first(lost))
    found = missing.violations(claimed=made().metrics())
    assert any("energy is given as" in line or "wasted_node_seconds is given as" in line for line in found)


def test_the_check_sees_who_held_on_and_who_lost_for_nothing() -> None:
    """A downtime that takes nodes has them at once, and takes no job where enough are free."""
    pair = fs.Workload(submit=[0.0, 0.0], tasks=[1, 2], runtime=[20.0, 20.0])
    four = fs.Federation.homogeneous(4)
    takes = fs.Downtime("cluster", 10.0, 12.0, "2 of all", "outage", on_running="requeue")
    waits = replace(takes, on_running="wait")
    mild = fs.simulate(pair, replace(four, calendar=(waits,)), "fcfs")
    stayed = replace(mild, federation=replace(four, calendar=(takes,)))
    assert any("but jobs keep 3" in line for line in stayed.violations())
    lost = fs.simulate(pair, replace(four, calendar=(replace(takes, nodes="3 of all"),)), "fcfs")
    few = replace(lost, federation=replace(four, calendar=(replace(takes, nodes="1 of all"),)))
    assert any("although enough are free" in line for line in few.violations())


def test_the_check_knows_who_was_on_the_recorded_nodes() -> None:
    """Who is on nodes that a downtime names and goes on is named, and so is who lost its run elsewhere."""
    pair = fs.Workload(submit=[0.0, 0.0], tasks=[1, 2], runtime=[20.0, 20.0])
    hits = fs.Downtime("cluster", 10.0, 12.0, "1-2", "outage", on_running="requeue", victims="recorded")
    machine = replace(fs.Federation.homogeneous(4), calendar=(hits,))
    schedule = fs.simulate(pair, machine, "fcfs")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.lost.job.tolist() == [1]
    waits = replace(machine, calendar=(replace(hits, on_running="wait", victims="latest"),))
    stayed = replace(fs.simulate(pair, waits, "fcfs"), federation=machine).violations()
    assert any("Job 2: it goes on at 10 on nodes of group 1 that a downtime names" in line for line in stayed)
    assert not any("Job 1" in line for line in stayed)
    elsewhere = changed(schedule, counts=[[1, 0, 1]])
    assert any("when no downtime takes its nodes in that way" in line for line in elsewhere.violations())


def test_charts_draw_recorded_outages_on_their_nodes() -> None:
    """The node that is named is closed, and whoever lost its run was on it."""
    one = replace(MACHINE, calendar=(NODE,))
    schedule = fs.simulate(replace(JOBS, pools=None), one, "easy")
    schedule.verify(claimed=schedule.metrics())
    _, lost, spans, closed, *_ = numbered(schedule)
    assert spans.start.tolist() == [30.0, 30.0]
    assert sorted(closed.first.tolist()) == sorted(closed.last.tolist()) == [1, 6]
    assert schedule.lost.runs >= 1
    for run in range(schedule.lost.runs):
        mine = np.repeat(np.arange(schedule.lost.runs), lost.pieces) == run
        pieces = zip(lost.first[mine].tolist(), lost.last[mine].tolist(), strict=True)
        assert any(first <= node <= last for first, last in pieces for node in (1, 6))


def test_plans_and_bounds_take_recorded_outages() -> None:
    """What comes of searches and rolling plans passes the check, and no makespan is below its bound."""
    earlier = replace(NODE, begin=12.0, end=20.0, known_from=12.0)
    machine, plain = replace(MACHINE, calendar=(earlier, NODE)), replace(JOBS, pools=None)
    bound = fs.bounds.lower_bounds(plain, machine).makespan
    found = fs.optimize(plain, machine, evaluations=100, submits="keep")
    for schedule in (found.best(), fs.simulate(plain, machine, fs.Rolling(evaluations=50))):
        schedule.verify(claimed=schedule.metrics())
        assert schedule.lost.runs >= 1
        assert bound <= schedule.makespan
    assert "planned without 2 downtimes that became known later" in str(found.foresight)
    words = {"objectives": "flow", "evaluations": 50, "package": 1, "submits": "keep", "knowledge": "estimate"}
    fs.optimize(plain, machine, **words).best().verify()


def test_random_losses_are_accepted_and_without_them_refused() -> None:
    """What the engine loses the check accepts; said of the same machine without what takes nodes, it does not."""
    seen = recorded = 0
    for seed in range(40_000, 40_000 + tries(250)):
        scenario = strategies.random_scenario(seed)
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen = scenario.settings
        rules = fs.Rules(
            order=chosen.order,
            dispatch=chosen.dispatch,
            placement=chosen.placement,
            backfill_order=chosen.backfill_order,
        )
        words = {
            name: getattr(chosen, name) for name in ("same_time", "saturation", "kill_at_estimate", "alternatives")
        }
        schedule = fs.simulate(workload, federation, rules, caps=caps, **words)
        schedule.verify(caps=caps, claimed=schedule.metrics())
        if schedule.lost.runs:
            seen += 1
            named = {one.begin for one in federation.calendar if one.victims == "recorded"}
            recorded += bool(named & set(schedule.lost.end.tolist()))
            tame = tuple(replace(one, on_running="wait", victims="latest") for one in federation.calendar)
            assert replace(schedule, federation=replace(federation, calendar=tame)).violations(caps=caps), seed
    assert seen >= 3
    assert recorded >= 1


def test_files_of_schedules_give_lost_runs_back(tmp_path: Path) -> None:
    """A row a run, with what became of the job; a log of the schedule says how many it leaves out."""
    made().to_csv(tmp_path / "plan.csv")
    again = fs.Schedule.read(tmp_path / "plan.csv", JOBS, made().federation, reading=made().reading)
    assert again == made()
    assert again.metrics().energy == pytest.approx(made().metrics().energy, rel=1e-12)
    again.verify()
    rows = (tmp_path / "plan.csv").read_text().splitlines()
    assert len(rows) == 1 + 12 + made().lost.runs
    (tmp_path / "odd.csv").write_text("\n".join([*rows[:-1], rows[-1].rsplit(",", 1)[0] + ",gone"]))
    with pytest.raises(ScheduleError, match=r"cut='gone' is none of requeued, killed"):
        fs.Schedule.read(tmp_path / "odd.csv", JOBS, made().federation)
    made().to_swf(tmp_path / "plan.swf")
    said = f"left out: {made().lost.runs} runs that lost their nodes to downtimes"
    assert said in (tmp_path / "plan.swf").read_text()
    plain = fs.simulate(JOBS, replace(made().federation, calendar=()), "easy")
    plain.to_csv(tmp_path / "plain.csv")
    assert "cut" not in (tmp_path / "plain.csv").read_text().splitlines()[0]


def test_saved_results_hold_them() -> None:
    """The schedule of a baseline comes back with the runs that it lost."""
    data = json.loads(json.dumps(_plan_data(PlannedQueue(schedule=made()))))
    assert _plan_of(data, JOBS, made().federation).schedule == made()


def test_files_of_downtimes_say_whom_they_take(tmp_path: Path) -> None:
    """CSV and TOML hold what becomes of jobs; nonsense is refused by line."""
    usual = (*RACKS, NODE, fs.Downtime("cluster", 50.0, 60.0))
    write_calendar(usual, tmp_path / "works.csv")
    assert read_calendar(tmp_path / "works.csv") == usual
    write_federation(replace(MACHINE, calendar=usual), tmp_path / "machine.toml")
    assert read_federation(tmp_path / "machine.toml").calendar == usual
    for row, said in (
        ("cluster,5,requeue,eldest,", "victims='eldest' is none of latest, random, recorded"),
        ("cluster,5,stop,,", "on_running='stop' is none of wait, requeue, kill"),
        ("cluster,5,,random,", "needs on_running='requeue' or 'kill'"),
        ("cluster,5,,recorded,", "needs on_running='requeue' or 'kill'"),
        ("cluster,5,kill,random,x", "seed='x' must be a whole number"),
    ):
        (tmp_path / "odd.csv").write_text(f"cluster,begin,on_running,victims,seed\n{row}\n")
        with pytest.raises(FederationError, match=f"line 2: .*{said}"):
            read_calendar(tmp_path / "odd.csv")


def test_nodes_of_lost_runs_are_nobody_elses() -> None:
    """Jobs, lost runs and closed nodes are given distinct numbers at every time; slots for a market keep off all."""
    jobs, lost, spans, closed, *_ = numbered(made())
    of_jobs, of_lost = (jobs, made().start, made().finish), (lost, made().lost.start, made().lost.end)
    columns = (of_jobs, of_lost, (closed, spans.start, spans.finish))
    for time in np.unique(np.concatenate([made().start, made().lost.start])):
        used: list[int] = []
        for runs, start, finish in columns:
            of_run = np.repeat(np.arange(start.size), runs.pieces)
            for k in np.flatnonzero((start[of_run] <= time) & (time < finish[of_run])).tolist():
                used += range(int(runs.first[k]), int(runs.last[k]) + 1)
        assert len(used) == len(set(used))
    run = int(np.argmax(made().lost.end - made().lost.start))
    begin, end = float(made().lost.start[run]), float(made().lost.end[run])
    slots = Environment.of_schedule(made(), begin=begin, end=end).slots
    first = int(lost.first[np.repeat(np.arange(made().lost.runs), lost.pieces) == run][0])
    assert not ((slots.node == first) & (slots.start < end) & (slots.end > begin)).any()


def test_pictures_and_reports_show_them() -> None:
    """Bars of their own in the chart; power and sums hold what they took."""
    axes = gantt.figure(made()).axes
    assert "lost its nodes" in [text.get_text() for text in axes[0].get_legend().get_texts()]
    runs = finished_runs(made())
    times, extra = gantt.steps_of(runs, runs.counts @ np.array([150.0] * runs.counts.shape[1]), made().t0, 1.0)
    energy = float((np.diff(times) * extra[:-1]).sum()) + 8 * 50.0 * made().makespan
    assert energy == pytest.approx(made().metrics().energy)
    sums = sums_of(made())["clusters"][0]
    assert sums["busyEnergy"] + sums["idleEnergy"] == pytest.approx(made().metrics().energy)
    drawn = plan_of(made(), 0.001)
    assert "lostJob" in [name for name, *_ in drawn["columns"]]
    plain = fs.simulate(JOBS, replace(made().federation, calendar=()), "easy")
    assert "lostJob" not in [name for name, *_ in plan_of(plain, 0.001)["columns"]]


def test_some_jobs_of_a_schedule_keep_their_lost_runs() -> None:
    """Rows that are taken bring their own, by their new places."""
    rows = np.sort(np.unique(made().lost.job))[::-1]
    part = made().take(rows)
    assert part.lost.runs == made().lost.runs
    assert part.workload.id[part.lost.job].tolist() == JOBS.id[made().lost.job].tolist()
    assert made().take(np.setdiff1d(np.arange(12), rows)).lost.runs == 0


def test_what_was_lost_is_told_to_other_programs(tmp_path: Path) -> None:
    """JSON names who was killed and who queued again; read back or taken apart, a schedule knows what that cost."""
    told = made().to_json()
    assert told["killed"] == JOBS.id[made().lost.killed].tolist()
    assert told["queued_again"] == sorted(set(JOBS.id[made().lost.job[made().lost.requeued]].tolist()))
    made().to_csv(tmp_path / "plan.csv")
    for again in (fs.Schedule.read(tmp_path / "plan.csv", JOBS, made().federation), made().take(np.arange(12))):
        row = again.metrics()
        assert (row.requeues, row.wasted_node_seconds) == (
            made().metrics().requeues, pytest.approx(made().metrics().wasted_node_seconds)
        )  # fmt: skip


def test_a_run_of_which_all_were_killed_has_cost_something() -> None:
    """No job has a wait; nodes were busy until the end."""
    gone = fs.Downtime("cluster", 5.0, 9.0, kind="outage", on_running="kill")
    pair = fs.Workload(submit=[0.0, 0.0], tasks=[1, 3], runtime=[20.0, 20.0])
    four = fs.Federation.homogeneous(4, busy_watts=2.0, idle_watts=1.0)
    schedule = fs.simulate(pair, replace(four, calendar=(gone,)), "fcfs")
    row = schedule.metrics()
    assert (row.makespan, row.utilisation, row.wasted_node_seconds, row.busy_energy) == (5.0, 1.0, 20.0, 40.0)
    assert np.isnan(row.mean_wait)
    assert np.isnan(row.flow)


def test_downtimes_that_began_before_kill_nobody() -> None:
    """Searches and bounds refuse only those that can."""
    pair = fs.Workload(submit=[0.0, 0.0], tasks=[1, 3], runtime=[20.0, 20.0])
    early = replace(fs.Federation.homogeneous(4), calendar=(fs.Downtime("cluster", -10.0, 5.0, on_running="kill"),))
    assert fs.optimize(pair, early, evaluations=20).best().start.tolist() == [5.0, 5.0]
    assert fs.bounds.lower_bounds(pair, early).makespan == pytest.approx(25.0)


def test_plans_beforehand_with_jobs_that_outrun_their_requests() -> None:
    """Rolling plans let whoever is in the way go on, and the run takes their nodes."""
    late = fs.Workload(submit=[0.0, 90.0, 91.0, 92.0, 93.0], tasks=[4, 2, 2, 2, 2], runtime=[150.0, 5, 5, 5, 40],
                       estimate=[50.0, 8, 8, 40, 50])  # fmt: skip
    works = fs.Downtime("cluster", 100.0, 200.0, on_running="requeue")
    machine = replace(fs.Federation.homogeneous(6), calendar=(works,))
    schedule = fs.simulate(late, machine, fs.Rolling(evaluations=50))
    schedule.verify(claimed=schedule.metrics())
    assert schedule.lost.job.tolist() == [0]
    words = {"objectives": "flow", "evaluations": 50, "package": 1, "submits": "keep", "knowledge": "estimate"}
    planned = fs.optimize(late, machine, **words).best()
    planned.verify(claimed=planned.metrics())


@pytest.mark.parametrize("words", [{"seed": -1}, {"seed": 1.5}, {"end_known": "yes"}])
def test_odd_words_of_a_downtime_are_refused(words: dict[str, object]) -> None:
    """As all others are."""
    with pytest.raises(FederationError):
        fs.Downtime("cluster", 1.0, 2.0, **words)


def test_numbers_of_numpy_are_numbers() -> None:
    """Whatever says when a downtime ends."""
    assert fs.Downtime("cluster", 1.0, np.int64(200)).end == 200.0
