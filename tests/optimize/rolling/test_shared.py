"""Rolling on nodes that jobs share: what a plan says is what happens, and everybody keeps to its nodes."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.sharing_cases import BOUND, case
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FedschedError
from fedsched.engine.codes import Dispatch, Placement
from fedsched.io.checkpoint_file import DIGEST
from fedsched.io.trees import pack, unpack
from fedsched.optimize.rolling import checkpoint
from fedsched.optimize.rolling.planner import RollingPlanner
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.engine.arrays.structs import Ints
    from fedsched.optimize.rolling.instant import Instant

GA = fs.Rolling(method="ga", evaluations=30, objective="mean_wait")
SITE = fs.Federation((fs.Cluster("site", (fs.NodeGroup(2, resources={"cpu": 4}, off_watts=0.0),)),))
JOBS = fs.Workload(submit=[0, 1, 2, 2], tasks=[2, 3, 1, 8], runtime=[5, 4, 3, 2], demand={"cpu": [1, 2, 4, 1]})
CLOSED = ("downtimes", "counted", "taking", "reserved")
# By what jobs are kept back, beside nodes.
KEPT_BACK = ((), BOUND, ("held",), (*BOUND, "held", "tiers"), CLOSED, (*BOUND, *CLOSED, "nodes", "tiers"))


class Remembering(RollingPlanner):
    """A planner that remembers when, by its last plan, each job starts."""

    def _best(self, instant: Instant, at_hand: Ints) -> Ints:
        row = super()._best(instant, at_hand)
        trials = instant.trials()  # type: ignore[attr-defined]
        trials.run(instant.plan(row))  # type: ignore[attr-defined]
        self.last = instant.problem.t0, instant.jobs, trials.state.start.copy()
        return row


class Watched:
    """A rolling policy that keeps its planner."""

    def __init__(self, policy: fs.Rolling) -> None:
        self.policy = policy

    def rules(self, workload: fs.Workload, federation: fs.Federation) -> fs.Rules:
        return self.policy.rules(workload, federation)

    def planner(self, run: Any) -> RollingPlanner:
        self.made = Remembering(self.policy, run)
        return self.made


def test_the_last_plan_is_what_happens() -> None:
    """Tests that a plan made when all jobs are there, and run as long as asked, comes true to the start."""
    seen = 0
    for seed in range(tries(40)):
        one = case(seed)
        exact = replace(one.workload, estimate=one.workload.runtime)
        policy = Watched(replace(GA, every=14.0, seed=seed))
        schedule = fs.simulate(exact, one.federation, policy, sharing=one.sharing)
        schedule.verify(claimed=schedule.metrics())
        time, jobs, start = policy.made.last
        if time >= exact.submit.max():
            seen += 1
            assert np.array_equal(schedule.start[jobs], start)
    assert seen > tries(40) // 4


def keeps_to_the_model(schedule: fs.Schedule) -> None:
    """Fail where a schedule breaks the model; whom downtimes leave no room may be left."""
    if schedule.complete:
        schedule.verify(claimed=schedule.metrics())
    else:
        assert schedule.federation.calendar
        assert all("was never started" in line for line in schedule.violations())


@pytest.mark.parametrize("seed", range(tries(20)))
def test_plans_on_the_way_keep_to_the_model(seed: int) -> None:
    """Tests that whatever is planned at each change, of estimates that are wrong, is a schedule that is one."""
    one = case(seed, jobs=10, bound=KEPT_BACK[seed % 6])
    schedule = fs.simulate(one.workload, one.federation, replace(GA, seed=seed), sharing=one.sharing)
    keeps_to_the_model(schedule)


def test_a_plan_may_be_strict_and_the_next_not() -> None:
    """Tests that jobs that wait through plans of several rules all start."""
    schedule = fs.simulate(JOBS, SITE, GA, sharing="pack")
    assert schedule.complete
    assert schedule.metrics().mean_wait <= fs.simulate(JOBS, SITE, "easy", sharing="pack").metrics().mean_wait


class InReverse:
    """A policy that plans at each instant that whoever came last, behind the first of all, has the first turn."""

    def rules(self, workload: fs.Workload, federation: fs.Federation) -> fs.Rules:
        return fs.Rules(order="fcfs", dispatch="easy")

    def planner(self, run: Any) -> InReverse:
        run.consult(self, jobs=len(run.workload))
        return self

    def replan(self, run: Any) -> None:
        queued = run.queued()
        order = np.concatenate([queued[:1], queued[:0:-1]])
        run.follow(order, run.limits(order), order[:0], dispatch=Dispatch.EASY, placement=Placement.FASTEST)


def test_those_who_are_alike_have_their_turn_in_the_order_of_the_plan() -> None:
    """Tests that of two jobs that ask for the same beside a waiting head the plan's first is backfilled."""
    node = fs.Federation((fs.Cluster("one", (fs.NodeGroup(1, resources={"cpu": 2}, off_watts=0.0),)),))
    jobs = fs.Workload(submit=[0, 1, 1, 1], tasks=[1, 2, 1, 1], runtime=[10, 3, 9, 5])
    schedule = fs.simulate(jobs, node, InReverse(), sharing="first")
    assert schedule.start.tolist() == [0.0, 10.0, 13.0, 1.0]
    assert fs.simulate(jobs, node, "easy", sharing="first").start.tolist() == [0.0, 10.0, 1.0, 13.0]


@pytest.mark.parametrize("seed", range(tries(12)))
def test_an_interrupted_run_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Tests that after Ctrl-C, wherever it strikes, a second call has each job where an undisturbed run has it."""
    one = case(seed, jobs=10, bound=KEPT_BACK[seed % 6])
    policy = replace(GA, evaluations=8, seed=seed)
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    whole = fs.simulate(one.workload, one.federation, policy, sharing=one.sharing)
    for strike in (1, 3, 6):
        told: list[int] = []

        def stop(done: int, total: int, told: list[int] = told, strike: int = strike) -> None:
            told.append(done)
            if len(told) == strike:
                raise KeyboardInterrupt

        kept = replace(policy, checkpoint=tmp_path / f"{strike}.ckpt")
        fs.simulate(one.workload, one.federation, kept, sharing=one.sharing, progress=stop)
        begun: list[int] = []

        def hear(done: int, total: int, begun: list[int] = begun) -> None:
            begun.append(done)

        again = fs.simulate(one.workload, one.federation, kept, sharing=one.sharing, progress=hear)
        assert begun[0] >= max(told[:-1], default=0)  # it did not begin anew
        assert again == whole
        assert again.use.node.tolist() == whole.use.node.tolist()  # type: ignore[attr-defined]
        assert np.array_equal(again.use.devices, whole.use.devices)  # type: ignore[attr-defined]


def test_a_forged_node_is_refused(tmp_path: Path) -> None:
    """Tests that no node beyond the machine is taken from a file whose digest holds, nor one of other sharing."""
    path = tmp_path / "run.ckpt"
    policy = replace(GA, checkpoint=path)
    fs.simulate(JOBS, SITE, policy, sharing="first")
    with pytest.raises(FedschedError, match="the checkpoint of another run"):
        fs.simulate(JOBS, SITE, policy, sharing="pack")
    head = len(checkpoint.MARK) + DIGEST
    forged = ({"node": np.array([10**6]), "tasks": np.array([1])}, {"pieces": np.full(4, 99)}, {"tasks": np.array([1])})
    for change in forged:
        tree = unpack(path.read_bytes()[head:])
        tree["held"] |= change
        content = pack(tree)
        path.write_bytes(checkpoint.MARK + hashlib.sha256(content).digest() + content)
        with pytest.raises(FedschedError, match="not a checkpoint as a rolling run leaves it"):
            fs.simulate(JOBS, SITE, policy, sharing="first")
        path.unlink()
        fs.simulate(JOBS, SITE, policy, sharing="first")


def test_what_does_not_share_is_refused_by_name() -> None:
    """Tests that walks are named."""
    with pytest.raises(ValueError, match="whole nodes"):
        fs.simulate(JOBS, SITE, replace(GA, method="memetic"), sharing="first")


def test_plans_see_what_closes() -> None:
    """Tests that a plan puts long jobs behind a downtime that is known, and short ones before it."""
    closing = replace(SITE, calendar=(fs.Downtime("site", 6.0, 20.0),))
    jobs = fs.Workload(submit=[0, 0, 0], tasks=[8, 8, 8], runtime=[9, 2, 3])
    schedule = fs.simulate(jobs, closing, GA, sharing="first")
    schedule.verify(claimed=schedule.metrics())
    assert sorted(schedule.start[1:].tolist()) in ([0, 2], [0, 3])
    assert schedule.start[0] == 20


@pytest.mark.parametrize("seed", range(6))
def test_plans_keep_to_caps(seed: int) -> None:
    """Rolling plans give no job more tasks on a group than the run's caps allow."""
    drawn = np.random.default_rng(seed)
    clusters = tuple(fs.Cluster(name, (fs.NodeGroup(3, resources={"cpu": 2}),)) for name in "ab")
    jobs = fs.Workload(submit=[0] * 6, tasks=[4] * 6, runtime=drawn.integers(10, 80, 6))
    caps = np.full((6, 2), 2)
    rolling = fs.Rolling(method="ga", evaluations=40, window=5)
    fs.simulate(jobs, fs.Federation(clusters), rolling, sharing="first", caps=caps).verify(caps=caps)


def test_a_checkpoint_is_of_the_nodes_that_running_jobs_hold(tmp_path: Path) -> None:
    """A run does not go on from the file of a run in which the running jobs hold other nodes."""
    site = fs.Federation((fs.Cluster("s", (fs.NodeGroup(3, resources={"cpu": 2}),)),))
    jobs = fs.Workload(submit=[0, 0, 1, 1, 1], tasks=[1, 1, 2, 1, 2], runtime=[50, 60, 5, 6, 7])
    policy = fs.Rolling(method="ga", evaluations=20, checkpoint=tmp_path / "rolling")
    begun = [prepare(jobs, site, sharing=choice).advance(until=0.0) for choice in ("first", "least_loaded")]
    together, apart = (run.running() for run in begun)
    fs.simulate(jobs, site, policy, sharing="pack", running=together)
    with pytest.raises(FedschedError, match="checkpoint of another run"):
        fs.simulate(jobs, site, policy, sharing="pack", running=apart)
