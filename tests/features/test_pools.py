"""Pools from end to end: nouns, files, checks, bounds, searches; what is not modelled is said."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import strategies

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError, OutputError
from fedsched.generate import lublin
from fedsched.io.slurm_files.sacct_demands import licences_in
from fedsched.model.jobs.demands import PoolNeeds
from fedsched.optimize.result import Result
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.checkpoint import _key as search_key

if TYPE_CHECKING:
    from pathlib import Path

NEEDS = {"ansys": [2, 0, 1, 1], "scratch GB": [0, 500, 0, 10]}
JOBS = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0], tasks=[1, 2, 1, 1], runtime=[10.0, 5.0, 4.0, 3.0], pools=NEEDS)
MACHINE = replace(fs.Federation.of(4, 2), pools=(fs.Pool("ansys", 2), fs.Pool("scratch GB", 505)))


def short_of_licences(jobs: int = 24) -> tuple[fs.Workload, fs.Federation]:
    """Return jobs of which half need one or two of three licences, on two clusters."""
    rng = np.random.default_rng(7)
    made = lublin(jobs, 16, load=1.0, seed=3)
    needs = rng.integers(0, 3, jobs) * (rng.random(jobs) < 0.7)
    needs[0] = 3
    return replace(made, pools={"lm": needs}), replace(fs.Federation.of(8, 8), pools=(fs.Pool("lm", 3),))


# ---------------------------------------------------------------------------------------------------------- nouns


def test_needs_are_a_table_by_name() -> None:
    """Tests that needs come as numbers by name, one for all jobs or one each, and tell of each job."""
    assert JOBS.pools is not None
    assert JOBS.pools.names == ("ansys", "scratch GB")
    assert [job.pools for job in JOBS] == [
        {"ansys": 2},
        {"scratch GB": 500},
        {"ansys": 1},
        {"ansys": 1, "scratch GB": 10},
    ]
    every = replace(JOBS, pools={"ansys": 1})
    assert every.pools.amounts.tolist() == [[1]] * 4
    assert replace(JOBS, pools={"ansys": 0}).pools is None
    assert fs.Workload.from_jobs(list(JOBS)) == JOBS
    assert every != JOBS
    assert not JOBS.pools.amounts.flags.writeable


def test_needs_stay_with_their_jobs() -> None:
    """Tests that taking, sorting, merging and pickling jobs takes their needs along."""
    assert JOBS.take([3, 0]).pools.amounts.tolist() == [[1, 10], [2, 0]]
    assert pickle.loads(pickle.dumps(JOBS)) == JOBS
    other = fs.Workload(submit=[0.5], tasks=[1], runtime=[1.0], pools={"matlab": [4]})
    plain = fs.Workload(submit=[9.0], tasks=[1], runtime=[1.0])
    merged = fs.Workload.merge(JOBS, other, plain, sites=("a", "b", "c"))
    assert merged.pools.names == ("ansys", "scratch GB", "matlab")
    assert merged.pools.amounts.tolist() == [[2, 0, 0], [0, 0, 4], [0, 500, 0], [1, 0, 0], [1, 10, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("needs", "error", "words"),
    [
        ({"a": [1, 2, 3, -1]}, ValueError, "Job 4: it needs -1 of pool 'a'; at least 0"),
        ({"a": [1, 2]}, ValueError, "has shape"),
        ({"a": [1, 2, 0.5, 1]}, ValueError, "must be a whole number"),
        ({" a": 1}, ValueError, "must be a non-empty text"),
        ([1, 2, 3, 4], TypeError, "by the pools' names"),
    ],
)
def test_wrong_needs_are_named(needs: object, error: type[Exception], words: str) -> None:
    """Tests that needs that mean nothing are refused in a line that says what is wrong."""
    with pytest.raises(error, match=words):
        replace(JOBS, pools=needs)


def test_wrong_pools_are_named() -> None:
    """Tests that a pool has a name and a whole amount, and a federation no two of one name."""
    with pytest.raises(FederationError, match="amount=-1 must be a whole number"):
        fs.Pool("ansys", -1)
    with pytest.raises(FederationError, match="must be a non-empty text"):
        fs.Pool("", 1)
    with pytest.raises(FederationError, match="two pools are named 'a'"):
        replace(MACHINE, pools=(fs.Pool("a", 1), fs.Pool("a", 2)))
    with pytest.raises(InfeasibleError, match="Job 1: it needs 2 of pool 'ansys', which has 1"):
        fs.simulate(JOBS, replace(MACHINE, pools=(fs.Pool("ansys", 1),)), "easy")


def on_two(*pools: fs.Pool) -> fs.Federation:
    """Return two clusters of 4 and 2 nodes with these pools."""
    return replace(fs.Federation.of(4, 2), pools=pools)


def test_a_pool_of_a_cluster_is_had_there_and_by_nobody_else() -> None:
    """Tests that a job that needs a cluster's pool waits for its nodes and amount, and that others run anywhere."""
    machine = on_two(fs.Pool("buffer", 2, "C2"))
    queue = fs.Workload(
        submit=[0.0] * 5, tasks=[1, 1, 1, 3, 2], runtime=[10.0] * 5, pools={"buffer": [1, 2, 1, 0, 0]}
    )
    schedule = fs.simulate(queue, machine, "greedy")
    schedule.verify(claimed=schedule.metrics())
    # The first and the third fill the buffer and C2; the second waits for both; the fourth has C1, the last waits.
    assert schedule.start.tolist() == [0.0, 10.0, 0.0, 0.0, 10.0]
    assert schedule.counts.tolist() == [[0, 1], [0, 1], [0, 1], [3, 0], [2, 0]]
    moved = fs.simulate(queue, on_two(fs.Pool("buffer", 2, "C1")), "greedy")
    assert moved.counts[:3].tolist() == [[1, 0]] * 3


def test_a_pool_of_a_cluster_and_allowed_clusters_hold_besides() -> None:
    """Tests that jobs that can have no nodes where their pools are are refused, with what they asked for."""
    wide = fs.Workload(submit=[0.0], tasks=[3], runtime=[1.0], pools={"buffer": [1]})
    with pytest.raises(InfeasibleError, match="tasks=3 exceeds the 2 nodes with pool 'buffer' of cluster 'C2'"):
        fs.simulate(wide, on_two(fs.Pool("buffer", 2, "C2")), "easy")
    fs.simulate(wide, on_two(fs.Pool("buffer", 2, "C1")), "easy").verify()
    both = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], pools={"a": [1], "b": [1]})
    apart = on_two(fs.Pool("a", 1, "C1"), fs.Pool("b", 1, "C2"))
    with pytest.raises(InfeasibleError, match="the 0 nodes with pool 'a' of cluster 'C1' and pool 'b' of cluster 'C2'"):
        fs.simulate(both, apart, "easy")
    assert apart.admits(both).tolist() == [False]
    assert on_two(fs.Pool("a", 1, "C1"), fs.Pool("b", 1, "C1")).admits(both).tolist() == [True]
    away = replace(both, pools={"a": [1]}, sites=("C1", "C2"), allowed=[[False, True]])
    with pytest.raises(InfeasibleError):
        fs.simulate(away, apart, "easy")


def test_verify_sees_a_pool_that_is_used_from_elsewhere() -> None:
    """Tests that a schedule with a job outside the cluster of its pool breaks the model."""
    queue = fs.Workload(submit=[0.0] * 2, tasks=[2, 4], runtime=[10.0] * 2, pools={"buffer": [1, 0]})
    schedule = fs.simulate(queue, on_two(fs.Pool("buffer", 2, "C2")), "easy")
    schedule.verify()
    moved = fs.Schedule(
        workload=queue, federation=on_two(fs.Pool("buffer", 2, "C1")), start=schedule.start, finish=schedule.finish,
        counts=schedule.counts, t0=schedule.t0, reading=schedule.reading,
    )  # fmt: skip
    lines = list(moved.violations())
    assert lines == ["Job 1: it needs pool 'buffer' of cluster 'C1' and runs elsewhere."]


def test_pools_of_clusters_are_told_apart(tmp_path: Path) -> None:
    """Tests that files, texts, bounds and comparisons know whose a pool is."""
    machine = on_two(fs.Pool("a", 2), fs.Pool("b", 3, "C2"))
    machine.write(tmp_path / "f.toml")
    assert fs.read_federation(tmp_path / "f.toml") == machine
    assert str(machine).endswith("(C1 4, C2 2), 2 of a, 3 of b on C2")
    with pytest.raises(FederationError, match=r"Pool 'a': cluster 'c1'\. Did you mean 'C1'\?"):
        on_two(fs.Pool("a", 2, "c1"))
    with pytest.raises(FederationError, match="cluster=3 must be a cluster's name"):
        fs.Pool("a", 2, 3)
    with pytest.raises(FederationError, match="two pools are named 'a'"):
        on_two(fs.Pool("a", 2, "C1"), fs.Pool("a", 2, "C2"))
    queue = fs.Workload(submit=[0.0], tasks=[1], runtime=[10.0], pools={"b": [1]})
    slow = (fs.Cluster("C1", (fs.NodeGroup(4, 2.0),)), fs.Cluster("C2", (fs.NodeGroup(2),)))
    there, everywhere = (fs.Federation(slow, pools=(fs.Pool("b", 8, whose),)) for whose in ("C2", None))
    for machine, least in ((there, 10.0), (everywhere, 5.0)):
        assert fs.bounds.lower_bounds(queue, machine, method="closed").makespan == pytest.approx(least, rel=1e-9)
        assert fs.simulate(queue, machine, "easy").makespan == least
    assert fs.Instance("i", queue, there).fingerprint() != fs.Instance("i", queue, everywhere).fingerprint()


def test_needs_without_a_pool_bind_nobody_and_are_said() -> None:
    """Tests that needs of what the machine does not have are said wherever results are, and change no start."""
    schedule = fs.simulate(JOBS, fs.Federation.of(4, 2), "easy")
    assert (
        schedule.start.tolist() == fs.simulate(replace(JOBS, pools=None), fs.Federation.of(4, 2), "easy").start.tolist()
    )
    assert schedule.unmodelled == (
        "3 jobs with needs of 'ansys' (the machine has no such pool)",
        "2 jobs with needs of 'scratch GB' (the machine has no such pool)",
    )
    assert "needs of 'ansys'" in str(schedule)
    assert fs.simulate(JOBS, MACHINE, "easy").unmodelled == ()
    assert "pools: ansys by 3 jobs, scratch GB by 2 jobs" in str(JOBS)
    assert str(MACHINE).endswith("(C1 4, C2 2), 2 of ansys, 505 of scratch GB")


def test_enough_of_every_pool_is_as_none() -> None:
    """Tests that pools that are never short change no start under any rule."""
    workload, federation = short_of_licences(200)
    ample = replace(federation, pools=(fs.Pool("lm", 10_000),))
    for dispatch in ("strict", "greedy", "local", "easy", "conservative", "lookahead"):
        rules = fs.Rules(dispatch=dispatch)
        plain = fs.simulate(replace(workload, pools=None), federation, rules)
        assert fs.simulate(workload, ample, rules).start_hash() == plain.start_hash(), dispatch


# ---------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_needs_come_back_from_files(tmp_path: Path, name: str) -> None:
    """Tests that CSV and Batsim files give every job's needs back."""
    JOBS.write(tmp_path / name)
    assert fs.read(tmp_path / name).pools == JOBS.pools


def test_needs_come_back_from_frame() -> None:
    """Tests that a table of pandas has a column a pool, and gives it back."""
    frame = JOBS.to_frame()
    assert frame["pool.ansys"].tolist() == [2, 0, 1, 1]
    assert fs.Workload.from_frame(frame) == JOBS


def test_a_log_has_no_place_for_needs(tmp_path: Path) -> None:
    """Tests that a log in the standard format is not written without a word about pools that it loses."""
    with pytest.raises(OutputError, match="pools"):
        JOBS.write(tmp_path / "a.swf")


def test_pools_come_back_from_federation_files(tmp_path: Path) -> None:
    """Tests that a federation's file has its pools; a key that means nothing is named."""
    path = tmp_path / "f.toml"
    MACHINE.write(path)
    assert fs.read_federation(path) == MACHINE
    path.write_text(path.read_text().replace("amount", "amounts"))
    with pytest.raises(FederationError, match=r"pool 1: unknown key 'amounts'. Did you mean 'amount'\?"):
        fs.read_federation(path)


HEAD = "JobIDRaw|Submit|Start|ElapsedRaw|TimelimitRaw|State|AllocCPUS|Licenses|AllocTRES\n"


def test_licences_of_a_dump_are_needs(tmp_path: Path) -> None:
    """Tests that what Slurm counts as licences is what jobs need of pools, and nothing else."""
    path = tmp_path / "a.sacct"
    rows = [
        f"{job}|2024-03-01T10:0{job}:00|2024-03-01T11:00:00|60|10|COMPLETED|4|{text}|cpu=4,node=1"
        for job, text in enumerate(["matlab:2", "ansys@db:1,matlab", "", "(null)"], start=1)
    ]
    path.write_text(HEAD + "\n".join(rows) + "\n")
    read = fs.read(path)
    assert read.pools.columns()["matlab"].tolist() == [2, 1, 0, 0]
    assert read.pools.columns()["ansys"].tolist() == [0, 1, 0, 0]
    assert not any("licences" in fact for fact in read.unmodelled)
    path.write_text(
        HEAD.replace("Licenses|", "") + rows[0].replace("matlab:2|", "").replace("node=1", "license/x=3") + "\n"
    )
    assert fs.read(path).pools.columns()["x"].tolist() == [3]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("matlab", {"matlab": 1}),
        ("matlab:2;matlab:3", {"matlab": 5}),
        ("cpu=4,license/a=2,mem=8G", {"a": 2}),
        ("N/A", {}),
        ("a:1|b:1", None),
    ],
)
def test_lists_of_licences(text: str, found: object) -> None:
    """Tests what the lists of licences that Slurm writes say."""
    assert licences_in(text) == found


# -------------------------------------------------------------------------------------------------- checks, bounds


def test_verify_sees_a_licence_that_is_held_twice() -> None:
    """Tests that a schedule that holds more of a pool than there is breaks the model, at one instant and job."""
    workload, federation = short_of_licences()
    schedule = fs.simulate(workload, federation, "easy")
    schedule.verify(claimed=schedule.metrics())
    fewer = replace(federation, pools=(fs.Pool("lm", 2),))
    wrong = fs.Schedule(
        workload=workload, federation=fewer, start=schedule.start, finish=schedule.finish, counts=schedule.counts,
        t0=schedule.t0, reading=schedule.reading,
    )  # fmt: skip
    assert any("of pool 'lm' are in use, but there are only 2" in line for line in wrong.violations())


def test_bounds_count_the_pools_area() -> None:
    """Tests that nothing can be done sooner than one licence allows, and that no schedule is below its bound."""
    queue = fs.Workload(submit=[0.0] * 6, tasks=[1] * 6, runtime=[10.0] * 6, pools={"lm": 1})
    one = replace(fs.Federation.of(6), pools=(fs.Pool("lm", 1),))
    assert fs.bounds.lower_bounds(queue, one).makespan == pytest.approx(60.0, rel=1e-9)
    assert fs.simulate(queue, one, "easy").makespan == 60.0
    assert fs.bounds.lower_bounds(replace(queue, pools=None), one).makespan == pytest.approx(10.0, rel=1e-9)
    for seed in range(40):
        scenario = strategies.random_scenario(seed, dispatch="easy", saturation="dynamic", kill_at_estimate=False)
        scenario = scenario.for_bounds()
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        rules = fs.Rules(dispatch="easy", placement=scenario.settings.placement)
        bound = fs.bounds.lower_bounds(workload, federation, caps=caps, method="closed")
        made = fs.simulate(workload, federation, rules, caps=caps)
        assert bound.makespan <= made.makespan * (1 + 1e-12), seed


# ------------------------------------------------------------------------------------------------- searches, policies


def test_searches_plan_with_pools(tmp_path: Path) -> None:
    """Tests that plans of a search keep to the pools, are no worse than the baselines, and come back from a file."""
    workload, federation = short_of_licences()
    result = fs.optimize(workload, federation, evaluations=300, seed=1)
    assert result.problem.problem.extras is not None
    result.schedule(0).verify()
    assert result.front.values[0, 0] <= min(baseline.values[0] for baseline in result.baselines)
    path = tmp_path / "r.json"
    result.save(path)
    again = Result.load(path)
    assert again.workload == result.workload
    assert again.workload.pools == workload.pools
    assert again.federation == federation


def test_rolling_plans_know_who_holds_what() -> None:
    """Tests that plans made in the midst of a run reckon with what running jobs hold."""
    workload, federation = short_of_licences(60)
    schedule = fs.simulate(workload, federation, fs.Rolling(evaluations=60, seed=2))
    schedule.verify(claimed=schedule.metrics())


def test_needs_of_some_jobs_are_those_jobs() -> None:
    """Tests that needs are compared and shown as tables."""
    assert JOBS.pools == PoolNeeds.of(NEEDS, JOBS.id)
    assert JOBS.pools != PoolNeeds.of({"ansys": [2, 0, 1, 1]}, JOBS.id)


def test_a_checkpoint_is_of_its_pools() -> None:
    """Tests that a search or a run under other pools or needs does not go on from a checkpoint of this one."""
    workload, federation = short_of_licences()
    more = (fs.Pool("lm", 4),)
    greedier = replace(workload, pools={"lm": 3})
    keys = set()
    for jobs, pools in ((workload, federation.pools), (workload, more), (greedier, federation.pools), (workload, ())):
        machine = replace(federation, pools=pools)
        problem = SearchProblem(jobs, machine, Objectives.of("makespan"))
        keys.add(search_key(problem, "ga", 1))
    assert len(keys) == 4
