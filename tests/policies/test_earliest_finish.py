"""Jobs that take the shape which is planned to end first as they join the queue [52]."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from engine.test_against_naive import assert_same, run_engine
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.comparison.entrants import PolicyEntrant, bounds_on
from fedsched.comparison.instances import Budget, Instance
from fedsched.core.errors import IncompatibleError, InfeasibleError
from fedsched.model.jobs.alternatives import present_shapes
from fedsched.optimize.rolling import Rolling
from fedsched.simulate import prepare
from fedsched.study.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

RULE = "earliest_finish"
FOUR = fs.Federation.homogeneous(4)
# The first runs on all nodes until 10, whoever comes at 1 waits for it.
LINE = fs.Workload(
    submit=[0.0, 1.0, 1.0],
    tasks=[4, 2, 4],
    runtime=[10.0, 8.0, 6.0],
    alternatives={2: "2x8|4x5|1x16", 3: "4x6|2x9"},
)


def shapes(workload: fs.Workload, policy: str | fs.Rules = "easy", machine: fs.Federation = FOUR, **words: str) -> list:
    """Return how many tasks each job has in the schedule of a policy, which is checked."""
    schedule = fs.simulate(workload, machine, policy, alternatives=RULE, **words)
    schedule.verify(claimed=schedule.metrics())
    return schedule.workload.tasks.tolist()


@pytest.mark.parametrize("policy", ["fcfs", "greedy", "easy", "conservative", "lookahead"])
def test_a_job_takes_what_ends_first_behind_all_who_wait(policy: str) -> None:
    """The second waits from 10 to 15 on four nodes; behind it four nodes end at 21, two at 24. All rules alike."""
    assert shapes(LINE, policy) == [4, 4, 4]
    narrow = replace(LINE, alternatives={2: "2x8|4x7.5", 3: "4x6|2x7"})  # 17.5; 23.5 on four nodes, 24.5 on two
    assert shapes(narrow, policy) == [4, 4, 4]
    beside = replace(LINE, alternatives={2: "2x8|4x9", 3: "4x6|2x7"})  # two until 18; beside it two until 17
    assert shapes(beside, policy) == [4, 2, 2]


def test_a_wider_shape_that_starts_later_is_waited_for() -> None:
    """Two nodes are free now, and all at 3: two nodes would end at 13, four at 3 + 5."""
    busy = fs.Workload(submit=[0.0, 1.0], tasks=[2, 2], runtime=[3.0, 12.0], alternatives={2: "2x12|4x5"})
    schedule = fs.simulate(busy, FOUR, "greedy", alternatives=RULE)
    assert schedule.start.tolist() == [0.0, 3.0]
    assert shapes(busy) == [2, 4]
    later = replace(busy, runtime=[9.0, 12.0], estimate=[9.0, 12.0])  # 9 + 5 is later than 13
    assert shapes(later) == [2, 2]


def test_of_equal_ends_the_least_area_is_taken_then_the_first_that_is_listed() -> None:
    """Of 4x10, 2x10 and 1x10 the last; of equal areas, two nodes from 5 on and one from 0 on, the first."""
    alone = fs.Workload(submit=[0.0], tasks=[4], runtime=[10.0], alternatives={1: "4x10|2x10|1x10"})
    assert shapes(alone) == [1]
    for text, tasks in (("2x5|1x10", 2), ("1x10|2x5", 1)):
        first = int(text[0])
        pair = fs.Workload(submit=[0.0, 0.0], tasks=[3, first], runtime=[5.0, 10.0 / first], alternatives={2: text})
        assert shapes(pair) == [3, tasks]


def test_plans_go_by_requests() -> None:
    """What users ask for decides, whatever the jobs run; where run times are known, these do."""
    asked = fs.Workload(
        submit=[0.0], tasks=[4], runtime=[10.0], estimate=[10.0], alternatives={1: "4x10/10|2x6/20"}
    )
    assert shapes(asked) == [4]
    assert shapes(asked, knowledge="runtime") == [2]


def test_orders_go_by_the_recorded_shapes() -> None:
    """Largest first goes by the nodes that jobs asked for, in fixed orders and in those that change with time."""
    # All nodes are busy until 9. The second has become narrow, and still comes before the third.
    jobs = fs.Workload(
        submit=[0.0, 1.0, 2.0],
        tasks=[4, 4, 3],
        runtime=[9.0, 20.0, 20.0],
        alternatives={2: "4x20|2x10"},
    )
    rules = fs.Rules(order="largest", dispatch="strict")
    assert shapes(jobs, rules) == [4, 2, 3]
    assert fs.simulate(jobs, FOUR, rules, alternatives=RULE).start.tolist() == [0.0, 9.0, 19.0]
    rules = fs.Rules(order="wfp3", dispatch="strict")  # (8/20)³·4 at 9, against (7/20)³·3
    assert fs.simulate(jobs, FOUR, rules, alternatives=RULE).start.tolist() == [0.0, 9.0, 19.0]
    # (7/14)³·3 at 9 is more; by the chosen shape it would be less.
    shorter = replace(jobs, runtime=[9.0, 20.0, 14.0], estimate=[9.0, 20.0, 14.0])
    assert fs.simulate(shorter, FOUR, rules, alternatives=RULE).start.tolist() == [0.0, 23.0, 9.0]


def test_jobs_that_come_at_one_instant_choose_one_after_the_other() -> None:
    """Of four equal jobs at 0 two take two nodes each; the next would end at 24 on two, and take four until 20."""
    many = fs.Workload(submit=[0.0] * 4, tasks=[4] * 4, runtime=[10.0] * 4,
                       alternatives=dict.fromkeys(range(1, 5), "4x10|2x12"))  # fmt: skip
    # 1: four nodes, until 10. 2: four until 20, two until 22. And so on: no jobs share.
    assert shapes(many, "fcfs") == [4, 4, 4, 4]
    shared = {1: "2x12", **dict.fromkeys((2, 3, 4), "2x12|4x10")}
    first = replace(many, tasks=[2] * 4, runtime=[12.0] * 4, estimate=[12.0] * 4, alternatives=shared)
    # 2: beside the first, until 12. 3: four until 22, two until 24. 4: until 32.
    assert shapes(first, "fcfs") == [2, 2, 4, 4]


def test_what_has_no_place_is_not_chosen() -> None:
    """A shape wider than a cluster that must hold it alone, one that caps forbid, one that never finds its nodes."""
    two = fs.Federation((fs.Cluster("a", (fs.NodeGroup(4),)), fs.Cluster("b", (fs.NodeGroup(4),))))
    job = fs.Workload(submit=[0.0], tasks=[4], runtime=[10.0], alternatives={1: "4x10|8x5|9x1"})
    assert shapes(job, fs.Rules(dispatch="easy"), two) == [8]
    assert shapes(job, fs.Rules(dispatch="easy", placement="single"), two) == [4]
    capped = fs.simulate(job, two, "easy", alternatives=RULE, caps=np.array([[3, 3]]))
    assert capped.workload.tasks.tolist() == [4]
    gone = fs.Downtime(FOUR.clusters[0].name, nodes="2 of 0-3", begin=0.0, end=np.inf, kind="maintenance")
    closed = replace(FOUR, calendar=(gone,))
    narrow = fs.Workload(submit=[0.0], tasks=[2], runtime=[10.0], alternatives={1: "2x10|4x4"})
    assert shapes(narrow, "easy", closed) == [2]
    never = fs.Workload(submit=[0.0, 0.0], tasks=[3, 1], runtime=[10.0, 1.0], alternatives={1: "3x10|4x4"})
    assert fs.simulate(never, closed, "greedy", alternatives=RULE).workload.tasks.tolist() == [3, 1]


def test_running_jobs_are_as_they_are_and_others_choose_anew() -> None:
    """A run goes on from the running jobs of another, in the shapes that these have taken."""
    run = prepare(LINE, FOUR, "easy", alternatives=RULE).advance(until=12.0)
    whole, running = run.schedule(), run.running()
    assert whole.workload.tasks[running.rows].tolist() == [4]
    rest = np.flatnonzero(~(whole.finish <= 12.0))
    again = fs.simulate(
        whole.workload.take(rest), FOUR, "easy", alternatives=RULE, running=running.renumbered(rest)
    )
    finished = run.advance().schedule()
    assert again.finish.tolist() == finished.finish[rest].tolist()
    assert again.workload.tasks.tolist() == [4, 4]


@pytest.mark.parametrize("window", [2, 8])
def test_rolling_plans_order_the_shapes_that_jobs_have_taken(window: int, tmp_path: Path) -> None:
    """What it makes is true, whatever it chooses, and a checkpoint brings the shapes along."""
    made = fs.generate.alternatives(fs.Workload.example().head(40), factors=(0.5, 2.0), most=128)
    machine = fs.Federation.homogeneous(128)
    policy = Rolling(evaluations=60, window=window)
    schedule = fs.simulate(made, machine, policy, alternatives=RULE)
    schedule.verify(claimed=schedule.metrics())
    assert schedule.complete
    assert present_shapes(schedule.workload).any()
    kept = replace(policy, checkpoint=tmp_path / "run")
    assert fs.simulate(made, machine, kept, alternatives=RULE) == schedule
    again = prepare(made, machine, kept, alternatives=RULE)  # from the file
    np.testing.assert_array_equal(again.advance().schedule().start, schedule.start)


def test_no_checkpoint_has_what_memory_held_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for plans that no plan has reached is none of a run's state, and does not let its own file be refused."""
    made = fs.generate.alternatives(fs.Workload.example().head(12), factors=(0.5, 2.0), most=128)
    machine = fs.Federation.homogeneous(128)
    policy = Rolling(evaluations=20, window=2, checkpoint=tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(np, "empty", lambda shape, dtype=float, **words: np.full(shape, -7, dtype, **words))
        schedule = fs.simulate(made, machine, policy, alternatives=RULE)
    assert prepare(made, machine, policy, alternatives=RULE).advance().schedule() == schedule


def test_rolling_places_by_rules_that_hold_every_shape() -> None:
    """One shape spans both clusters: no plan may place by a rule that keeps jobs in one."""
    two = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2),)), fs.Cluster("b", (fs.NodeGroup(2),))))
    jobs = fs.Workload(submit=np.arange(8.0), tasks=[2] * 8, runtime=[9.0] * 8,
                       alternatives=dict.fromkeys(range(1, 9), "2x9|4x5|3x7"))  # fmt: skip
    schedule = fs.simulate(jobs, two, Rolling(evaluations=80), alternatives=RULE)
    schedule.verify()
    assert schedule.complete


def test_bounds_hold_whichever_shape_jobs_take() -> None:
    """No schedule of the rule is below what is proven of all."""
    looked = 0
    for seed in range(tries(60)):
        scenario = strategies.random_scenario(seed, alternatives=RULE).without_kills().without_reservations()
        jobs = [replace(job, caps=None) for job in scenario.jobs]
        workload, federation, _ = strategies.to_package(jobs, scenario.machine)
        if scenario.settings.alternatives != RULE or workload.alternatives is None:
            continue
        rules = fs.Rules(scenario.settings.order, scenario.settings.dispatch)
        kill = scenario.settings.kill_at_estimate
        schedule = fs.simulate(workload, federation, rules, alternatives=RULE, kill_at_estimate=kill)
        if not schedule.complete:
            continue
        found = schedule.metrics()
        if "ends" in strategies.by_shapes(scenario):
            with pytest.raises(IncompatibleError, match="start only if another is killed"):
                lower_bounds(workload, federation, reading=schedule.reading)
            continue
        bounds = lower_bounds(workload, federation, reading=schedule.reading, knowledge="runtime")
        for name in ("makespan", "mean_wait", "mean_response", "energy"):
            assert bounds.of(name) <= getattr(found, name) * (1 + 1e-9) + 1e-9, (seed, name)
        looked += 1
    assert looked > tries(10)


def test_policies_are_compared() -> None:
    """An instance of the rule gives each policy its figures, with bounds."""
    for calendar in ((), (fs.Downtime(FOUR.clusters[0].name, nodes="0", begin=20.0, end=np.inf),)):
        machine = fs.Federation(FOUR.clusters, calendar=calendar)
        narrow = replace(LINE, alternatives={2: "2x8|3x5|1x16", 3: "4x6|2x9"})
        instance = Instance("line", narrow, machine, ("makespan",), submits="keep", alternatives=RULE)
        outcome = PolicyEntrant("easy").run(instance, 0, Budget(evaluations=10))
        expected = fs.simulate(narrow, machine, "easy", alternatives=RULE, knowledge="runtime").metrics().makespan
        assert outcome.front == ((expected,),)
        assert bounds_on(instance)[0] <= expected


def test_a_long_queue_is_as_a_short_one() -> None:
    """A job behind thousands starts when it would if the queue were never grouped."""
    jobs = 2500
    tasks = np.tile([4, 1, 3], jobs)[:jobs]
    submit = np.concatenate([np.arange(500.0), np.full(jobs - 500, 500.0)])
    log = fs.Workload(submit=submit, tasks=tasks, runtime=np.tile([3.0, 9.0, 2.0], jobs)[:jobs],
                      alternatives={7: "4x3|2x5", 40: "4x3|2x5|1x9"})  # fmt: skip
    for policy in ("easy", "greedy"):
        schedule = fs.simulate(log, FOUR, policy, alternatives=RULE)
        schedule.verify()
        which = schedule.workload
        plain = fs.simulate(replace(which, alternatives=None), FOUR, policy)
        np.testing.assert_array_equal(schedule.start, plain.start)


@pytest.mark.parametrize("decided", ["limits", "ends"])
def test_limits_and_ends_go_by_the_shapes_that_jobs_take(decided: str) -> None:
    """Engine, reference and check agree where shapes decide what jobs take of limits, or which others may start."""
    checked = changed = 0
    for seed in itertools.count(500):
        scenario = strategies.random_scenario(seed, restless=True, alternatives=RULE, kill_at_estimate=True)
        if decided not in strategies.by_shapes(scenario):
            continue
        assert_same(scenario)
        schedule = run_engine(scenario)
        schedule.verify(caps=strategies.to_package(scenario.jobs, scenario.machine)[2], claimed=schedule.metrics())
        changed += present_shapes(schedule.workload).any()
        checked += 1
        if checked == tries(60, 6):
            break
    assert changed > tries(60, 6) // 3


def test_a_shape_over_the_users_limit_is_not_chosen() -> None:
    """Under four nodes it takes four and waits for none; under three it keeps two, and the third job waits for it."""
    jobs = fs.Workload(
        submit=[0.0, 0.0, 0.0], tasks=[2, 1, 1], runtime=[10.0, 3.0, 3.0], user=[1, 2, 1], alternatives={1: "2x10|4x4"}
    )
    eight = fs.Federation.homogeneous(8)
    for nodes, tasks, start in ((4, 4, 4.0), (3, 2, 0.0), (2, 2, 10.0)):
        limited = replace(eight, limits=(fs.Limit("user", nodes=nodes),))
        schedule = fs.simulate(jobs, limited, "greedy", alternatives=RULE)
        schedule.verify(claimed=schedule.metrics())
        assert (schedule.workload.tasks[0], schedule.start[2]) == (tasks, start)


def test_whether_others_start_is_known_when_a_shape_is_taken() -> None:
    """On four nodes the first is killed at 5, and the second never starts; on two it ends well. Bounds cannot know."""
    jobs = fs.Workload(
        submit=[0.0, 0.0, 0.0], tasks=[2, 1, 1], runtime=[10.0, 3.0, 3.0], estimate=[12.0, 3.0, 3.0],
        after=["", "afterok:1", "afternotok:1"], alternatives={1: "2x10/12|4x8/5"},
    )  # fmt: skip
    three = fs.Federation.homogeneous(3)
    for machine, tasks, starts in ((FOUR, 4, [0.0, np.nan, 5.0]), (three, 2, [0.0, 10.0, np.nan])):
        schedule = fs.simulate(jobs, machine, "easy", alternatives=RULE, kill_at_estimate=True)
        schedule.verify(claimed=schedule.metrics())
        assert schedule.workload.tasks[0] == tasks
        np.testing.assert_array_equal(schedule.start, starts)
        assert schedule.complete
    with pytest.raises(IncompatibleError, match=r"jobs that wait for job 1\): which jobs start, .* depends on"):
        lower_bounds(jobs, FOUR, alternatives=RULE, kill_at_estimate=True)
    found = lower_bounds(jobs, FOUR, alternatives="free", kill_at_estimate=True, knowledge="runtime")
    assert found.makespan == pytest.approx(13.0)  # plans take the shape in which the second may start


def test_limits_of_uneven_jobs_that_their_placement_decides_are_refused() -> None:
    """Eight tasks take two nodes of four, or four of two: over the limit of three only where they are put so."""
    groups = tuple(fs.NodeGroup(4, resources={"cpu": cpus}) for cpus in (4, 2))
    limit = fs.Limit("user", nodes=3)
    machine = fs.Federation((fs.Cluster("A", groups),), limits=(limit,))
    jobs = fs.Workload(submit=[0.0], tasks=[4], runtime=[9.0], user=[1], layout={"exclusive": 1},
                       alternatives={1: "4x9|8x5"})  # fmt: skip
    with pytest.raises(InfeasibleError, match="the limit of user '1' depends on the jobs' shapes"):
        fs.simulate(jobs, machine, "easy", alternatives=RULE)
    roomy = replace(machine, limits=(replace(limit, nodes=4),))
    assert shapes(jobs, "easy", roomy) == [2]


def test_list_heuristics_take_limits_of_nodes_as_other_policies_do() -> None:
    """Whatever shapes they choose, limits hold; jobs behind others run if these end so."""
    limited = fs.Federation(FOUR.clusters, limits=(fs.Limit("user", nodes=4),))
    assert shapes(LINE, "mct", limited) == shapes(LINE, "mct")
    behind = replace(LINE, after=["", "afterok:1", ""])
    fs.simulate(behind, FOUR, "easy", alternatives=RULE).verify()
    plain = replace(LINE, alternatives=None)
    assert fs.simulate(plain, FOUR, "mct", alternatives=RULE).complete


def test_a_scenario_and_a_schedule_keep_the_rule(tmp_path: Path) -> None:
    """The word stands in a scenario's file, and a schedule is read back in the shapes that jobs took."""
    LINE.write(tmp_path / "jobs.csv")
    machine = '[machine]\ncluster = [{ name = "m", group = [{ count = 4 }] }]\n'
    text = f'[log]\nfile = "jobs.csv"\n{machine}[reading]\nalternatives = "earliest_finish"\n'
    (tmp_path / "line.toml").write_text(text)
    schedule = Scenario.load(tmp_path / "line.toml").simulate()
    assert schedule.reading.alternatives == RULE
    assert "take the shapes that are planned to end first" in str(schedule.reading)
    assert schedule.workload.tasks.tolist() == [4, 4, 4]
    schedule.to_csv(tmp_path / "plan.csv")
    back = fs.Schedule.read(tmp_path / "plan.csv", LINE, schedule.federation, reading=schedule.reading)
    back.verify()
    assert back.workload == schedule.workload
