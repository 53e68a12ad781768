"""The batch entry gives, row by row, what single runs give."""

from __future__ import annotations

import numpy as np
import pytest
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.pack.problem import pack
from fedsched.engine.run.batch import Evaluator
from fedsched.model.reading import Reading
from fedsched.model.schedule.metrics import OF_A_SCHEDULE, Column


def instance(seed: int) -> tuple[fs.Workload, fs.Federation]:
    """Return a small federation and a workload whose jobs fit on it under every placement but home."""
    scenario = strategies.random_scenario(seed, placement="single", dispatch="greedy")
    scenario = scenario.without_partitions().without_wishes()  # of which an evaluator is told by caps
    scenario = scenario.without_reservations()
    workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
    return workload, federation


def problem_of(workload: fs.Workload, federation: fs.Federation):
    """Return the packed problem."""
    return pack(workload, federation, reading=Reading())


@pytest.mark.parametrize("dispatch", list(Dispatch))
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_equal_single_runs(dispatch: Dispatch, threads: int) -> None:
    """A candidate's row is the metric row of the simulation with its order, caps and rules."""
    rng = np.random.default_rng(3)
    for seed in range(tries(25)):
        workload, federation = instance(seed)
        orders = np.array([rng.permutation(len(workload)) for _ in range(5)])
        caps = None if workload.allowed is None else "allowed"
        if caps is not None:
            continue
        evaluator = Evaluator(problem_of(workload, federation), threads=threads, users=True)
        rows = evaluator(orders, dispatch=dispatch, placement=Placement.SINGLE)
        for order, row in zip(orders, rows, strict=True):
            rules = fs.Rules(order=order, dispatch=dispatch.name.lower(), placement="single")
            single = fs.simulate(workload, federation, rules).metrics(users=True)
            expected = [np.nan if name in OF_A_SCHEDULE else value for name, value in single.as_dict().items()]
            np.testing.assert_array_equal(row, expected)


def test_fcfs_at_submit_zero_is_the_identity_order() -> None:
    """FCFS with every submit at 0 equals the evaluator on the identity order, in each column."""
    for seed in range(tries(20)):
        workload, federation = instance(seed)
        if workload.allowed is not None:
            continue
        rows = workload.take(np.lexsort((workload.id, workload.submit)))
        package = fs.Workload(
            submit=np.zeros(len(rows)),
            tasks=rows.tasks,
            runtime=rows.runtime,
            estimate=rows.estimate,
            compute_fraction=rows.compute_fraction,
            task_bandwidth=rows.task_bandwidth,
        )
        row = Evaluator(problem_of(package, federation))(
            np.arange(len(package))[None], dispatch=Dispatch.STRICT, placement=Placement.SINGLE
        )[0]
        schedule = fs.simulate(package, federation, fs.Rules(dispatch="strict", placement="single"))
        assert row[Column.MAKESPAN] == schedule.metrics().makespan
        assert row[Column.ENERGY] == schedule.metrics().energy


def test_wrong_orders_are_refused() -> None:
    """An order that is no permutation is an error, not a crash."""
    workload, federation = instance(1)
    evaluator = Evaluator(problem_of(workload, federation))
    with pytest.raises(ValueError, match="exactly once"):
        evaluator(np.zeros((1, len(workload)), dtype=int))
