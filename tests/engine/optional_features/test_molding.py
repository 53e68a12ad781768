"""The choice of a shape, one call at a time: who is planned before, and what stays as it was."""

from __future__ import annotations

import numpy as np
from support.plain import plain

import fedsched as fs
from fedsched.engine.numbers import Counter
from fedsched.engine.optional_features.moldable import PLANNED_TO, STANDS
from fedsched.simulate import prepare

molding = plain("fedsched.engine.optional_features.molding")
FOUR = fs.Federation.homogeneous(4)
WORDS = {"alternatives": "earliest_finish"}


def test_without_extras_nothing_is_chosen() -> None:
    """Where a problem has no extras, or no job chooses, a job is as it comes."""
    assert molding.choose_shape(None, None, None, None, None, 0) is None
    log = fs.Workload(submit=[0.0], tasks=[2], runtime=[3.0], begin=[1.0])
    run = prepare(log, FOUR, "easy")
    molding.choose_shape(run.problem.extras, run.state.extras, run.problem, run.plan, run.state, 0)
    assert run.problem.tasks.tolist() == [2]


def test_a_plan_stands_while_jobs_come_at_its_end() -> None:
    """Jobs of one instant lengthen the plan of those before; one that comes before planned ones lets it fall."""
    log = fs.Workload(submit=[0.0] * 4, tasks=[4] * 4, runtime=[8.0] * 4,
                      alternatives=dict.fromkeys((1, 2, 4), "4x8|2x9"))  # fmt: skip
    for order, stands, planned in (((0, 1, 2, 3), 1, 3), ((3, 2, 1, 0), 0, 4)):
        run = prepare(log, FOUR, fs.Rules(order=order, dispatch="strict"), **WORDS)
        plain("fedsched.engine.loop.events").arrive_all(run.problem, run.plan, run.state)
        number = run.state.extras.molded.number
        assert (number[STANDS], number[PLANNED_TO]) == (stands, planned)
        assert run.state.counter[Counter.PLAN_HOLDS] == 0


def test_links_are_as_loaded_as_they_were() -> None:
    """Who is planned to start now loads the links for those behind, and for nobody else."""
    two = fs.Federation(
        (fs.Cluster("a", (fs.NodeGroup(2),), uplink=1.5), fs.Cluster("b", (fs.NodeGroup(2),), uplink=1.5))
    )
    log = fs.Workload(submit=[0.0, 0.0], tasks=[3, 1], runtime=[9.0, 9.0], task_bandwidth=[1.0, 1.0],
                      compute_fraction=[0.5, 0.5], alternatives={2: "1x9|3x1"})  # fmt: skip
    run = prepare(log, two, fs.Rules(dispatch="easy", placement="link_aware"), **WORDS)
    plain("fedsched.engine.loop.events").arrive_all(run.problem, run.plan, run.state)
    assert run.state.load.tolist() == [0.0, 0.0]
    assert run.state.extras.molded.load.tolist() == [1.0, 1.0]
    assert run.problem.tasks.tolist() == [3, 1]


def test_a_job_of_a_reservation_looks_at_its_nodes_and_its_end() -> None:
    """On the two nodes that are kept until 30 the narrow shape ends too late; everybody sees what they saw."""
    kept = fs.Downtime("cluster", 10, 30, "0-1", kind="reservation", name="r")
    machine = fs.Federation(FOUR.clusters, calendar=[kept])
    log = fs.Workload(submit=[0.0, 12.0, 40.0], tasks=[2, 1, 1], runtime=[50.0, 19.0, 5.0],
                      labels={"reservation": ["", "r", "r"]},
                      alternatives={2: "1x19|2x18|3x1", 3: "1x5|2x2"})  # fmt: skip
    for policy in ("easy", "conservative"):
        schedule = fs.simulate(log, machine, policy, **WORDS)
        schedule.verify()
        assert schedule.workload.tasks.tolist() == [2, 2, 1]
        np.testing.assert_array_equal(schedule.start, [0.0, 12.0, np.nan])


def test_a_pending_finish_has_given_its_nodes_back() -> None:
    """In the sequential reading whoever comes as another ends plans on its nodes."""
    log = fs.Workload(submit=[0.0, 5.0], tasks=[4, 1], runtime=[5.0, 9.0], alternatives={2: "1x9|4x3"})
    schedule = fs.simulate(log, FOUR, "easy", same_time="sequential", **WORDS)
    schedule.verify()
    assert schedule.workload.tasks.tolist() == [4, 4]
    assert schedule.start.tolist() == [0.0, 5.0]
