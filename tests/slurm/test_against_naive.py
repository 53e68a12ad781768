"""Slurm's own scheduler: start for start that of a naive reference on random sites, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.slurm_cases import case, differences
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import (
    FederationError,
    InfeasibleError,
    ScheduleError,
    TraceError,
    UnknownNameError,
)
from fedsched.simulate import prepare
from fedsched.slurm import Clocks, SlurmSchedule
from fedsched.slurm.priority.associations import Association, Associations, Qos
from fedsched.slurm.result.clocks import seconds_to_clear

if TYPE_CHECKING:
    from pathlib import Path

CONF = (
    "ClusterName=c SelectType=select/linear PriorityType=priority/basic\n"
    "NodeName=n[1-4] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """Return a slurm.conf of four nodes."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF, encoding="utf-8")
    return path


def on_four(conf: Path, policy: object = None, t0: float | None = None, **columns: object) -> SlurmSchedule:
    """Return what becomes of jobs on the four nodes."""
    jobs = fs.Workload(**columns)  # type: ignore[arg-type]
    schedule = fs.simulate(jobs, fs.read_federation(conf), policy or fs.policies.Slurm(conf), t0=t0)  # type: ignore[arg-type]
    assert isinstance(schedule, SlurmSchedule)
    schedule.verify()
    return schedule


@pytest.mark.parametrize("tenth", range(10))
def test_it_is_the_naive_reference_start_for_start(tenth: int, tmp_path: Path) -> None:
    """On random sites, with every parameter, jobs start in the same second on the same nodes by the same pass."""
    for seed in range(tenth, tries(400), 10):
        assert differences(case(seed, tmp_path)) == [], f"seed {seed}"


def test_the_arrival_of_a_lost_job_asks_for_no_pass(tmp_path: Path) -> None:
    """One of this site waits for a job that ended well to end badly, and for its start, which has come."""
    assert differences(case(541, tmp_path)) == []


def test_a_short_job_goes_around_a_wide_one(conf: Path) -> None:
    """Backfill lets whoever ends before a reservation go ahead; the main scheduler lets nobody."""
    columns = {"submit": [0, 1, 2], "tasks": [3, 4, 1], "runtime": [600, 60, 60], "estimate": [600, 600, 500]}
    schedule = on_four(conf, **columns)
    assert schedule.start.tolist() == [0.0, 600.0, 30.0]
    assert schedule.started_by == ("main", "main", "backfill")
    assert [schedule.nodes_of(row) for row in range(3)] == [(0, 1, 2), (0, 1, 2, 3), (3,)]
    conf.write_text(CONF + "SchedulerType=sched/builtin\n", encoding="utf-8")
    assert on_four(conf, **columns).start.tolist() == [0.0, 600.0, 660.0]


def test_nodes_that_complete_are_busy(conf: Path) -> None:
    """A job waits for them, and its schedule says nothing of them but that."""
    policy = fs.policies.Slurm(conf, completing=5)
    schedule = on_four(conf, policy, submit=[0, 0], tasks=[4, 4], runtime=[100, 100])
    assert schedule.start.tolist() == [0.0, 105.0]


def test_a_higher_tier_comes_first(tmp_path: Path) -> None:
    """Whoever is in a partition of a higher tier is looked at first, and holds its nodes for itself."""
    conf = tmp_path / "slurm.conf"
    lines = "NodeName=n[1-4]\nPartitionName=low Nodes=ALL Default=YES\nPartitionName=high Nodes=n[1-2] PriorityTier=9\n"
    conf.write_text(lines, encoding="utf-8")
    schedule = on_four(
        conf, submit=[0, 1, 2], tasks=[4, 4, 2], runtime=[100, 100, 100], labels={"partition": ["low", "low", "high"]}
    )
    assert schedule.start.tolist() == [0.0, 200.0, 100.0]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("SchedulerParameters=bf_interval=x", "bf_interval=x is no whole number from -1 on"),
        ("SchedulerParameters=bf_resolution=0", "bf_resolution=0 is no whole number from 1 on"),
        ("SchedulerType=sched/wiki", "SchedulerType=sched/wiki is not modelled; give sched/backfill or sched/builtin"),
        ("SelectType=select/cray", "SelectType=select/cray is not modelled"),
        ("PriorityType=priority/multifactor\nPriorityWeightFairshare=5", "PriorityWeightFairshare=5 needs accounts"),
    ],
)
def test_what_a_conf_says_wrongly_is_an_error(conf: Path, word: str, said: str) -> None:
    """The error names the file, the word and what it may be."""
    conf.write_text(f"{CONF}{word}\n", encoding="utf-8")
    with pytest.raises(FederationError, match=said):
        fs.policies.Slurm(conf)


def test_what_is_not_modelled_is_said(conf: Path) -> None:
    """Every other parameter of the schedulers is named wherever the schedule is shown."""
    words = "SchedulerParameters=bf_busy_nodes,bf_window=60,defer\nPreemptType=preempt/qos\n"
    conf.write_text(CONF + words, encoding="utf-8")
    [note] = on_four(conf, submit=[0], tasks=[1], runtime=[1]).notes
    assert note == f"not modelled of {conf}: bf_busy_nodes, defer, PreemptType=preempt/qos"


def test_what_it_has_not_is_refused(conf: Path) -> None:
    """By name, with a cure."""
    policy, machine = fs.policies.Slurm(conf), fs.read_federation(conf)
    jobs = {"submit": [0, 0], "tasks": [1, 1], "runtime": [1, 1]}
    with pytest.raises(InfeasibleError, match="has 4 nodes, but the federation 5"):
        fs.simulate(fs.Workload(**jobs), fs.Federation.homogeneous(5), policy)
    with pytest.raises(InfeasibleError, match="tasks=9 exceeds the 4 nodes"):
        fs.simulate(fs.Workload(submit=[0], tasks=[9], runtime=[1]), machine, policy)
    with pytest.raises(ValueError, match="runs by simulate"):
        policy.rules(fs.Workload(**jobs), machine)
    with pytest.raises(TraceError, match="is empty"):
        fs.simulate(fs.Workload(submit=[], tasks=[], runtime=[]), machine, policy)
    with pytest.raises(UnknownNameError, match="passes"):
        fs.policies.Slurm(conf, passes="slow")
    with pytest.raises(ValueError, match=r"completing= says nothing of job 2"):
        fs.simulate(fs.Workload(**jobs), machine, fs.policies.Slurm(conf, completing={1: 3}))


def test_who_waits_for_others(conf: Path) -> None:
    """Conditions hold as ends and starts come, in the next pass; who can never start is left out, and said."""
    after = ["", "afterok:1", "afternotok:1", "after:1", "afterany:3", "singleton"]
    schedule = on_four(
        conf, submit=[0] * 6, tasks=[1] * 6, runtime=[100] * 6, after=after, cancel_at=[-1, -1, -1, -1, 50, -1],
        labels={"name": ["a", "", "", "", "", "a"]},
    )  # fmt: skip
    start = schedule.start.tolist()
    assert [start[0], start[1], start[3], start[5]] == [0.0, 100.0, 30.0, 100.0]
    assert np.isnan(start[2])
    assert np.isnan(start[4])
    assert any("because their conditions cannot hold: 1 job (3)" in line for line in schedule.remarks)
    assert any("cancelled before they started: 1 job (5)" in line for line in schedule.remarks)


def test_limits_hold_where_they_are_enforced(conf: Path) -> None:
    """A QOS's goes before an account's; what is over one by itself is refused; what is not modelled is named."""
    members = (Association("root"), Association("a", parent=0, limits={"grpjobs": 1.0, "grptresmins": {"cpu": 9.0}}),
               Association("a", user="0", parent=1))  # fmt: skip
    qos = {"normal": Qos("normal"), "two": Qos("two", limits={"grpjobs": 2.0, "maxtrespu": {"node": 3.0}})}
    accounts = Associations(members, qos)
    columns = {"submit": [0] * 3, "tasks": [1] * 3, "runtime": [100] * 3, "user": [0] * 3}
    labels = {"account": ["a"] * 3}
    free = on_four(conf, fs.policies.Slurm(conf, assoc=accounts), **columns, labels=labels)
    assert free.start.tolist() == [0.0] * 3
    assert any("AccountingStorageEnforce does not ask for" in note for note in free.notes)
    conf.write_text(CONF + "AccountingStorageEnforce=limits\n", encoding="utf-8")
    policy = fs.policies.Slurm(conf, assoc=accounts)
    held = on_four(conf, policy, **columns, labels=labels)
    assert held.start.tolist() == [0.0, 100.0, 200.0]
    assert "not modelled of the accounts' limits: grptresmins" in held.notes
    two = on_four(conf, policy, **columns, labels=labels | {"qos": ["two"] * 3})
    assert two.start.tolist() == [0.0, 0.0, 100.0]
    with pytest.raises(InfeasibleError, match=r"Job 1: its 4 are over the limit of 3 of maxtrespu=node of QOS 'two'"):
        on_four(conf, policy, submit=[0], tasks=[4], runtime=[1], user=[0], labels={"account": ["a"], "qos": ["two"]})


def test_another_begin(conf: Path) -> None:
    """Jobs submitted before it join with the ages and numbers of their submits; clocks begin with it, jobs or not."""
    columns = {"submit": [5.0, 0.0, 300.0], "tasks": [4, 4, 1], "runtime": [60, 60, 60]}
    schedule = on_four(conf, **columns, t0=100.5)
    assert schedule.t0 == 100.5
    assert schedule.start.tolist() == [161.0, 101.0, 300.0]
    assert schedule.wait.tolist() == [156.0, 101.0, 0.0]
    later = on_four(conf, submit=[10.0, 20.0], tasks=[4, 4], runtime=[600, 60], t0=0.0)
    assert later.start.tolist() == [10.0, 610.0]
    assert later.metrics().makespan == 670.0
    aging = "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityMaxAge=0-01:00:00\n"
    conf.write_text(CONF + aging, encoding="utf-8")
    held = {"submit": [0, 1], "tasks": [4, 4], "runtime": [60, 60]}
    assert on_four(conf, **held, t0=900).start.tolist() == [900.0, 960.0]
    assert on_four(conf, **held, t0=900, held={1: [(100, 600)]}).start.tolist() == [960.0, 900.0]


def test_jobs_follow_others(conf: Path) -> None:
    """Each is submitted its think time after the end that came out, or the cancellation; the schedule says when."""
    columns = {"submit": [0, 0, 5, 9, 7], "tasks": [4, 4, 4, 1, 1], "runtime": [100.5, 60, 60, 10, 10]}
    follows = {"preceding": [-1, -1, 1, 3, 2], "think_time": [-1, -1, 20.25, 0, 7.5]}
    schedule = on_four(conf, **columns, feedback=follows, cancel_at=[-1, 50, -1, -1, -1])
    assert schedule.workload.submit.tolist() == [0.0, 0.0, 120.75, 181.0, 57.5]
    assert schedule.start[[0, 2, 3, 4]].tolist() == [0.0, 121.0, 181.0, 101.0]
    never = on_four(conf, **columns, feedback=follows, after=["", "afternotok:1", "", "", ""])
    assert np.isnan(never.start[[1, 4]]).all()
    assert any("because their conditions cannot hold: 2 jobs (2, 5)" in line for line in never.remarks)
    aging = "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityMaxAge=0-01:00:00\n"
    conf.write_text(CONF + aging, encoding="utf-8")
    later = on_four(conf, submit=[0, 1, 2], tasks=[2, 4, 4], runtime=[100, 50, 50], feedback={
        "preceding": [-1, 1, -1], "think_time": [-1, 900, -1]})  # fmt: skip
    assert later.start.tolist() == [0.0, 1000.0, 100.0]


def test_jobs_run_at_the_begin(conf: Path) -> None:
    """They hold the lowest free nodes of their groups that are open, until their ends; others plan by their limits."""
    machine = fs.read_federation(conf)
    columns = {"submit": [0, 10, 20, 30], "tasks": [1, 2, 4, 1], "runtime": [300, 100, 50, 40]}
    jobs = fs.Workload(**columns, estimate=[600, 600, 60, 100])  # type: ignore[arg-type]
    drain = (fs.Downtime("c", 0.0, 1000.0, kind="drain", nodes="1"),)
    for shut, nodes, starts in ((), [(0,), (1, 2)], [300.0, 50.0]), (drain, [(0,), (2, 3)], [1000.0, 110.0]):
        closed = replace(machine, calendar=shut)
        running = prepare(jobs, closed, "greedy").advance(until=25).running()
        schedule = fs.simulate(jobs, closed, fs.policies.Slurm(conf), running=running)
        schedule.verify()
        assert (schedule.t0, schedule.started_by[:2]) == (20.0, ("", ""))  # type: ignore[attr-defined]
        assert [schedule.nodes_of(row) for row in range(2)] == nodes  # type: ignore[attr-defined]
        assert schedule.start[:2].tolist() == [0.0, 10.0]
        assert schedule.finish[:2].tolist() == [300.0, 110.0]
        assert schedule.start[2:].tolist() == starts
        assert "assumed of 2 jobs running at 20 s: the lowest free nodes of their groups" in " ".join(schedule.notes)


def test_jobs_on_nodes_that_fail(conf: Path) -> None:
    """They run again, after the seconds that Slurm lets them wait, or have failed; a job that just ends is spared."""
    machine = fs.read_federation(conf)
    columns = {"submit": [0, 1, 2, 3], "tasks": [2, 1, 1, 1], "runtime": [600, 97, 600, 50], "estimate": [600] * 4}
    jobs = fs.Workload(**columns, after=["", "", "", "afternotok:1"])  # type: ignore[arg-type]
    for becomes, start, third in (("requeue", 230.0, np.nan), ("kill", np.nan, 101.0)):
        fails = fs.Downtime("c", 100.5, 200.0, nodes="1-2", kind="outage", on_running=becomes)
        schedule = fs.simulate(jobs, replace(machine, calendar=(fails,)), fs.policies.Slurm(conf))
        schedule.verify()
        lost = schedule.lost
        assert (lost.job.tolist(), lost.start.tolist(), lost.end.tolist()) == ([0], [0.0], [100.5])
        assert lost.requeued.tolist() == [becomes == "requeue"]
        np.testing.assert_equal(schedule.start, [start, 3.0, 3.0, third])
        assert schedule.metrics().requeues == (becomes == "requeue")
        assert any(("queued again" if becomes == "requeue" else "killed") in line for line in schedule.remarks)
        assert schedule.nodes_of(0) == ((0, 1) if becomes == "requeue" else ())  # type: ignore[attr-defined]
    conf.write_text(f"{CONF}AuthInfo=socket=/run/m,cred_expire=20\n", encoding="utf-8")
    fails = fs.Downtime("c", 100.5, 110.0, nodes="1", kind="outage", on_running="requeue")
    again = fs.simulate(jobs, replace(machine, calendar=(fails,)), fs.policies.Slurm(conf))
    assert again.start[0] == 130.0  # the first backfill pass from second 101 + 21 on


def test_a_job_that_lacks_a_licence_blocks_no_other(conf: Path) -> None:
    """A real Slurm 22.05 did so: the main scheduler passes it over, and backfill reserves nothing for it."""
    machine = replace(fs.read_federation(conf), pools=(fs.Pool("a", 2),))
    jobs = fs.Workload(
        submit=[0, 20, 24, 28, 32], tasks=[1, 1, 1, 3, 1], runtime=[300] * 5, estimate=[600] * 5,
        pools={"a": [2, 1, 0, 0, 0]},
    )  # fmt: skip
    schedule = fs.simulate(jobs, machine, fs.policies.Slurm(conf))
    schedule.verify()
    assert schedule.start.tolist() == [0.0, 300.0, 24.0, 324.0, 600.0]
    with pytest.raises(InfeasibleError, match="Job 1: it needs 2 of pool 'a', which has 1"):
        fs.simulate(jobs, replace(machine, pools=(fs.Pool("a", 1),)), fs.policies.Slurm(conf))
    conf.write_text(f"{CONF}SchedulerParameters=bf_licenses\n", encoding="utf-8")
    said = fs.simulate(jobs, machine, fs.policies.Slurm(conf)).notes
    assert any("not modelled" in note and "bf_licenses" in note for note in said)


def test_a_downtime_of_some_nodes_closes_named_ones(conf: Path) -> None:
    """The last ones that no other downtime closes then; a note and the schedule's federation say which."""
    machine = fs.read_federation(conf)
    jobs = fs.Workload(submit=[0, 0, 0], tasks=[1, 1, 2], runtime=[60] * 3)

    def drain(nodes: str) -> fs.Downtime:
        return fs.Downtime("c", 0.0, 500.0, nodes=nodes, kind="drain")

    for calendar, closed in (
        (("2 of all",), ["2-3"]),
        (("1 of all", "1 of all"), ["3", "2"]),
        (("1 of 0-1", "3"), ["1", "3"]),
        (("1 of all", "3"), ["3", "3"]),  # the last group is closed already, and it is the first that is taken
    ):
        schedule = fs.simulate(jobs, replace(machine, calendar=tuple(map(drain, calendar))), fs.policies.Slurm(conf))
        schedule.verify()
        assert [one.nodes for one in schedule.federation.calendar] == closed
        assert any(f"{calendar[0]} are nodes {closed[0]}" in note for note in schedule.notes)
        first = {str(node) for row in range(2) for node in schedule.nodes_of(row)}  # type: ignore[attr-defined]
        assert first.isdisjoint({"2", "3"} if closed == ["2-3"] else closed)
    fails = fs.Downtime("c", 30.0, 500.0, nodes="2 of all", kind="outage", on_running="kill", victims="random")
    hit = set()
    for seed in range(5):
        calendar = (replace(fails, seed=seed),)
        schedule = fs.simulate(jobs, replace(machine, calendar=calendar), fs.policies.Slurm(conf))
        schedule.verify()
        assert schedule.lost.runs > 0
        hit.add(schedule.federation.calendar[0].nodes)
    assert len(hit) > 1


def test_an_array_is_one_record(conf: Path) -> None:
    """Its tasks start one after the other, so many together; whoever waits at the limit holds up nobody."""
    columns = {"submit": [0] * 5 + [1], "tasks": [1] * 6, "runtime": [100] * 6}
    schedule = on_four(conf, **columns, labels={"array": ["7%2"] * 5 + [""]})
    assert schedule.start.tolist() == [0.0, 0.0, 100.0, 100.0, 200.0, 3.0]
    conf.write_text(f"{CONF}SchedulerParameters=bf_max_job_test=1,sched_interval=-1\n", encoding="utf-8")
    assert on_four(conf, **columns).start.tolist()[:3] == [0.0, 30.0, 60.0]  # a pass looks at one job, or one array
    assert on_four(conf, **columns, labels={"array": ["7"] * 5 + [""]}).start.tolist()[:4] == [0.0] * 4


def test_nobody_runs_into_maintenance(conf: Path) -> None:
    """Whoever would is passed over on the nodes that close; what is closed for ever leaves jobs unstarted."""
    machine = fs.read_federation(conf)
    closed = replace(machine, calendar=(fs.Downtime("c", 600, 900, nodes="0-1", name="works"),))
    jobs = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[600, 300], estimate=[720, 300])
    schedule = fs.simulate(jobs, closed, fs.policies.Slurm(conf))
    schedule.verify()
    assert [schedule.nodes_of(row) for row in range(2)] == [(2, 3), (0, 1)]  # type: ignore[attr-defined]
    shut = replace(machine, calendar=(fs.Downtime("c", 0, kind="drain", nodes="0"),))
    jobs = fs.Workload(submit=[0, 1], tasks=[4, 3], runtime=[10, 10])
    schedule = fs.simulate(jobs, shut, fs.policies.Slurm(conf))
    assert np.isnan(schedule.start[0])
    assert schedule.start[1] == 3.0
    assert "nodes that stay closed leave the others no room: 1 of 2 jobs finished" in schedule.notes


def test_a_reservation_is_for_its_jobs(conf: Path) -> None:
    """They have its nodes to themselves, from its begin on, as far as they end within it."""
    machine = fs.read_federation(conf)
    kept = replace(machine, calendar=(fs.Downtime("c", 100, 400, nodes="0-2", kind="reservation", name="course"),))
    jobs = fs.Workload(
        submit=[0, 0, 0, 5], tasks=[2, 1, 2, 2], runtime=[60, 60, 60, 900], estimate=[60, 60, 120, 900],
        labels={"reservation": ["course", "", "", "course"]},
    )  # fmt: skip
    schedule = fs.simulate(jobs, kept, fs.policies.Slurm(conf))
    schedule.verify()
    assert schedule.start[:3].tolist() == [120.0, 0.0, 420.0]
    assert np.isnan(schedule.start[3])


def test_an_ensemble_is_several_runs(conf: Path) -> None:
    """The first has the clocks as they are given; starts are intervals, metrics means with a spread, ever the same."""
    columns = {"submit": [0, 1, 2], "tasks": [3, 4, 1], "runtime": [600, 60, 60], "estimate": [600, 600, 500]}
    alone, several = on_four(conf, **columns), on_four(conf, fs.policies.Slurm(conf, ensemble=8), **columns)
    assert several.start.tolist() == alone.start.tolist() == [0.0, 600.0, 30.0]
    assert alone.interval_of(2) == (30.0, 30.0)
    assert len(several.runs) == 8
    least, most = several.interval_of(2)
    assert 2.0 <= least < 30.0 <= most <= 64.0
    spread = several.spread_of("mean_wait")
    assert spread.least < spread.mean < spread.most
    assert spread.deviation > 0.0
    assert any("8 runs with drawn clocks: mean wait" in note for note in several.notes)
    again = on_four(conf, fs.policies.Slurm(conf, ensemble=8), **columns)
    assert [run.start.tolist() for run in again.runs] == [run.start.tolist() for run in several.runs]
    with pytest.raises(UnknownNameError, match="metric"):
        several.spread_of("beauty")
    with pytest.raises(ValueError, match="clocks= fixes them"):
        fs.policies.Slurm(conf, clocks=Clocks(passes=(5.0,)), ensemble=2)


def test_a_policy_of_another_conf_is_the_same_but_for_what_was_recorded(conf: Path, tmp_path: Path) -> None:
    """Clocks are those of the conf that they were recorded on, and an ensemble is asked for anew."""
    path = tmp_path / "other.conf"
    path.write_text(f"{CONF}SchedulerType=sched/builtin\n", encoding="utf-8")
    other, words = fs.policies.Slurm(path).conf, {"rate": 5, "completing": 3, "phase": 2, "epoch": 7, "aged": {1: 5.0}}
    changed = fs.policies.Slurm(path, passes="timed", **words)  # type: ignore[arg-type]
    for own in ({"clocks": Clocks(passes=(5.0,))}, {"ensemble": 4}):
        policy = fs.policies.Slurm(conf, passes="timed", **words, **own)  # type: ignore[arg-type]
        assert policy.on_another(other) == replace(changed, conf=other)
        assert policy.on_another(other).parameters.backfill != policy.parameters.backfill


def test_who_would_wait_for_ever_is_an_error(conf: Path) -> None:
    """Without a main scheduler somebody may be left when the last given pass is over."""
    conf.write_text(f"{CONF}SchedulerParameters=sched_interval=-1\n", encoding="utf-8")
    policy = fs.policies.Slurm(conf, clocks=Clocks(passes=(5.0,)))
    assert on_four(conf, policy, submit=[0], tasks=[1], runtime=[1]).start.tolist() == [5.0]
    with pytest.raises(ScheduleError, match="1 job would wait for ever"):
        on_four(conf, policy, submit=[0, 9], tasks=[1, 1], runtime=[1, 1])


def test_clocks_are_read_and_checked(tmp_path: Path) -> None:
    """A file that is no recording's clock is an error that says why."""
    path = tmp_path / "clock.json"
    path.write_text('{"epoch": 7, "backfill_passes_that_started_a_job": [3.5, 1.25], "decay_thread_started": -9}')
    clocks = Clocks.read(path)
    assert (clocks.epoch, clocks.seconds_of_passes, clocks.ticks) == (7, [1, 3], -9)
    for text, said in (("{", "not valid JSON"), ("{}", "no epoch"), ('{"epoch": 1, "x": 2}', "'x' is none of"),
                       ('{"epoch": 1.5}', "whole number"),
                       ('{"epoch": 1, "backfill_passes_that_started_a_job": 3}', "a list"),
                       ('{"epoch": 1, "main_passes_over_all_jobs": 3}', "a list"),
                       ('{"epoch": 1, "jobs_tested_as_the_second_turned": [3]}', "a list of lists"),
                       ('{"epoch": 1, "jobs_tested_before_it_broke_off": 3}', "a list of numbers")):  # fmt: skip
        path.write_text(text)
        with pytest.raises(TraceError, match=said):
            Clocks.read(path)
    with pytest.raises(TraceError, match="must be finite"):
        Clocks(passes=(np.inf,))
    with pytest.raises(TraceError, match="full=nan must be finite"):
        Clocks(full=(np.nan,))
    with pytest.raises(TraceError, match="turns has 2 passes, but there are 1"):
        Clocks(passes=(1.0,), turns=((), (3,)))
    with pytest.raises(TraceError, match="turns has -1"):
        Clocks(passes=(1.0,), turns=((-1,),))
    with pytest.raises(TraceError, match="broke_off has"):
        Clocks(passes=(1.0,), broke_off=(1.5,))  # type: ignore[arg-type]


def test_main_passes_over_all_are_when_they_are_given(conf: Path) -> None:
    """Whom no event passes by, as nobody ends and the queue before it is long, waits for one over all."""
    said = conf.read_text(encoding="utf-8")
    alone = said + "SchedulerType=sched/builtin\nSchedulerParameters=default_queue_depth=0,sched_interval=60\n"
    conf.write_text(alone, encoding="utf-8")
    starts = {}
    for full in (None, (37.0, 500.0), (41.5,)):
        policy = fs.policies.Slurm(conf, clocks=Clocks(full=full))
        starts[full] = [*on_four(conf, policy, submit=[0, 0, 0], tasks=[1, 1, 1], runtime=[600, 600, 600]).start]
    assert starts == {None: [0.0, 60.0, 60.0], (37.0, 500.0): [0.0, 37.0, 37.0], (41.5,): [0.0, 41.0, 41.0]}
    with pytest.raises(ValueError, match="clocks= fixes them"):
        fs.policies.Slurm(conf, clocks=Clocks(full=(5.0,)), ensemble=2)


def test_main_passes_over_all_keep_their_own_time_while_nobody_waits(conf: Path) -> None:
    """Whoever ends meanwhile does not put them off: slurmctld's clock asks nobody whether there is a queue."""
    said = conf.read_text(encoding="utf-8")
    alone = said + "SchedulerType=sched/builtin\nSchedulerParameters=default_queue_depth=0,sched_interval=60\n"
    conf.write_text(alone, encoding="utf-8")
    schedule = on_four(conf, submit=[0, 110, 110], tasks=[1, 1, 1], runtime=[100, 600, 600])
    assert schedule.start.tolist() == [0.0, 110.0, 120.0]


def test_who_had_waited_before_has_his_age(conf: Path) -> None:
    """Of two jobs that came one after another the older one goes first, and that is a matter of ages alone."""
    said = conf.read_text(encoding="utf-8")
    aging = "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityMaxAge=0-01:00:00\n"
    for words, aged, starts in (
        (aging, None, [0.0, 600.0, 1200.0]),
        (aging, {3: 600.0}, [0.0, 1200.0, 600.0]),
        (aging, {2: 7.0, 3: 6.0}, [0.0, 600.0, 1200.0]),
        ("", {3: 600.0}, [0.0, 600.0, 1200.0]),
    ):
        conf.write_text(said + words, encoding="utf-8")
        policy = fs.policies.Slurm(conf, aged=aged)
        schedule = on_four(conf, policy, submit=[0, 1, 1], tasks=[4, 4, 4], runtime=[600, 600, 600], id=[1, 2, 3])
        assert schedule.start.tolist() == starts
    with pytest.raises(ValueError, match=r"aged=-1\.0 of job 3 must be finite seconds"):
        fs.policies.Slurm(conf, aged={3: -1.0})


def test_what_clocks_say_of_a_pass_stays_with_it(tmp_path: Path) -> None:
    """Passes are put in order, each with its turns and where it broke off."""
    path = tmp_path / "clock.json"
    path.write_text(
        '{"epoch": 7, "backfill_passes_that_started_a_job": [9, 3],'
        '"jobs_tested_as_the_second_turned": [[8, 4], []], "jobs_tested_before_it_broke_off": [9, null]}'
    )
    clocks = Clocks.read(path)
    assert (clocks.passes, clocks.turns, clocks.broke_off) == ((3.0, 9.0), ((), (4, 8)), (None, 9))


@pytest.mark.parametrize(
    ("clocks", "start"),
    [
        (Clocks(passes=(59.0, 1300.0)), 59.0),
        (Clocks(passes=(59.0, 1300.0), turns=((0,), ())), 1200.0),
        (Clocks(passes=(59.0, 1300.0), turns=((1,), ())), 1200.0),
        (Clocks(passes=(59.0, 1300.0), turns=((2,), ())), 59.0),
        (Clocks(passes=(59.0, 1300.0), broke_off=(1, None)), 1200.0),
        (Clocks(passes=(59.0, 1300.0), broke_off=(2, None)), 59.0),
    ],
)
def test_a_second_that_turns_within_a_pass_counts_for_those_behind(conf: Path, clocks: Clocks, start: float) -> None:
    """A job of nine minutes fits before a reservation of the tenth in second 59, in 60 not, nor if it is not tested."""
    schedule = on_four(
        conf, fs.policies.Slurm(conf, clocks=clocks), submit=[0, 1, 2], tasks=[3, 4, 1], runtime=[600, 600, 540]
    )
    assert schedule.start.tolist() == [0.0, 600.0, start]


def test_how_long_nodes_clear_is_measured(conf: Path) -> None:
    """No longer than until the next job comes to one of them, and never below nothing."""
    assert seconds_to_clear([0, 12, 12], [10, 20, 30], [[0, 1], [1], [2]], most=4) == [2, 4, 4]


def test_a_schedule_made_of_columns_knows_no_nodes(conf: Path) -> None:
    """What a filtered schedule does not know, it does not make up."""
    schedule = on_four(conf, submit=[0, 0], tasks=[1, 1], runtime=[1, 1])
    part = SlurmSchedule(
        workload=schedule.workload, federation=schedule.federation, start=schedule.start, finish=schedule.finish,
        counts=schedule.counts, t0=0.0,
    )  # fmt: skip
    with pytest.raises(ScheduleError, match="which lack this"):
        part.nodes_of(0)
