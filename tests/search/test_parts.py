"""The parts of the searches: random numbers, operators, archive, fuzzy controller, seeds, directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search.test_problem import of_scenario, some_rows
from support.tiers import tries

import fedsched as fs
from fedsched.core.jit import constant
from fedsched.core.random import begin_stream, below, uniform
from fedsched.io.trees import pack
from fedsched.search.encoding.offspring import crossed, mutated
from fedsched.search.methods.genetic import favour_fast_groups
from fedsched.search.methods.memetic import directions
from fedsched.search.methods.mpso_fga import CHANCE, crossed_keys, memberships, progress, promotion
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.archive import Archive, crowding
from fedsched.search.run.seeds import bound_to_earliest, structured_seeds

M64 = (1 << 64) - 1


def mixed(z: int) -> int:
    """Return splitmix64's output function in plain integers."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


@pytest.mark.compiled
def test_streams_are_splitmix64() -> None:
    """Tests the compiled numbers against splitmix64 in plain Python integers, and its published first output."""
    gamma = 0x9E3779B97F4A7C15
    assert mixed(gamma) == 0xE220A8397B1DCDAF  # of seed 0
    stream = np.zeros(1, dtype=np.uint64)
    for seed, generation, index in ((0, 0, 0), (7, 3, 11), (123456789, 1, 2)):
        z = mixed((seed + gamma) & M64)
        z = mixed(((z ^ generation) + gamma) & M64)
        state = mixed(((z ^ index) + gamma) & M64)
        begin_stream(stream, seed, generation, index)
        assert int(stream[0]) == state
        assert state not in (0, seed)


@pytest.mark.compiled
def test_draws_are_spread_evenly() -> None:
    """Tests by chi-square, with a margin no fair generator misses, that draws fall evenly and do not repeat."""
    import numba

    sides = constant(16)

    @numba.njit
    def many(stream: np.ndarray, out: np.ndarray) -> None:
        for i in range(out.size):
            out[i] = below(stream, sides)

    stream, out = np.array([42], dtype=np.uint64), np.zeros(16_000, dtype=np.int64)
    many(stream, out)
    counts = np.bincount(out, minlength=16)
    assert ((counts - 1000) ** 2 / 1000).sum() < 60  # 15 degrees of freedom: once in ten million
    assert len(np.unique(out[:-1] * 16 + out[1:])) == 256
    assert uniform is not None


# ---- operators ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
@settings(max_examples=tries(30), derandomize=True, deadline=None)
def test_children_are_feasible_plans(seed: int) -> None:
    """Tests that crossover and mutation keep permutations, limits and placeability, and leave their parents alone."""
    problem, *_ = of_scenario(seed)
    parents = some_rows(problem, 4, seed)
    before = parents.copy()
    children = crossed(problem, parents, np.array([[0, 1], [2, 3], [1, 1]]), seed=seed, generation=1)
    assert np.array_equal(parents, before)
    changed = mutated(problem, children.copy(), np.array([1, 5, 20]), seed=seed, generation=2)
    for rows in (children, changed):
        assert (np.sort(problem.layout.orders(rows), axis=1) == np.arange(problem.layout.jobs)).all()
        assert np.array_equal(problem.repaired(rows.copy()), rows)
        assert np.isin(problem.layout.rules(rows)[:, 1], problem.space.placements).all()
        assert not np.isnan(problem.values(rows)).any()


def test_a_child_of_one_parent_is_that_parent() -> None:
    """Tests that crossing a plan with itself changes nothing."""
    problem, *_ = of_scenario(11)
    parents = some_rows(problem, 2, 3)
    assert np.array_equal(crossed(problem, parents, np.array([[1, 1]]), seed=0, generation=0)[0], parents[1])


def test_a_childs_caps_come_from_its_parents() -> None:
    """Tests that each job's row of caps is one of its parents'."""
    for seed in range(tries(20)):
        problem, *_ = of_scenario(seed)
        parents = some_rows(problem, 2, seed)
        problem.layout.rules(parents)[:] = problem.default_rules()
        parents = problem.repaired(parents)
        child = crossed(problem, parents, np.array([[0, 1]]), seed=seed, generation=0)
        a, b = problem.layout.caps(parents)
        caps = problem.layout.caps(child)[0]
        assert ((caps == a).all(axis=1) | (caps == b).all(axis=1)).all()


@pytest.mark.compiled
def test_fast_groups_are_favoured() -> None:
    """Tests that redrawn caps close a slow group to many jobs and the fastest to none."""
    federation = fs.Federation((
        fs.Cluster("fast", (fs.NodeGroup(8, 4.0, 200, 90),), 1e9),
        fs.Cluster("slow", (fs.NodeGroup(8, 1.0, 200, 90),), 1e9),
    ))  # fmt: skip
    workload = fs.Workload(submit=np.zeros(200), tasks=np.ones(200, dtype=int), runtime=np.ones(200))
    problem = SearchProblem(workload, federation, Objectives.of("makespan"))
    rows = np.tile(problem.row(np.arange(200)), (20, 1))
    favour_fast_groups(problem)(rows, np.random.default_rng(0))
    closed = (problem.layout.caps(rows) == 0).mean(axis=(0, 1))
    assert closed[0] == 0
    assert 0.15 < closed[1] < 0.30  # 30 % redrawn, three quarters of these closed


def test_crossed_keys_are_genomes() -> None:
    """Tests that children of keys rank every job once and blend the weights between the parents'."""
    problem, *_ = of_scenario(5)
    parents = problem.keys_of_rows(some_rows(problem, 5, 1))
    children = crossed_keys(problem, parents, np.array([1, 2, 3, 4, 0]), seed=1, generation=0)
    jobs = problem.layout.jobs
    assert (np.sort(children[:, :jobs], axis=1) == (np.arange(jobs) + 0.5) / jobs).all()
    assert (children[:, jobs:] >= parents[:, jobs:].min(axis=0) - 1e-12).all()
    assert (children[:, jobs:] <= parents[:, jobs:].max(axis=0) + 1e-12).all()


# ---- archive, fuzzy, directions, seeds ------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_the_archive_keeps_what_nothing_dominates(points: list[tuple[int, int]]) -> None:
    """Tests the archive, filled in two portions, against the definition of dominance by brute force."""
    values = np.array(points, dtype=np.float64)
    archive = Archive(2)
    half = len(points) // 2
    archive.add(values[:half], np.arange(half)[:, None])
    archive.add(values[half:], np.arange(half, len(points))[:, None])
    expected = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    assert {tuple(row) for row in archive.values.astype(int).tolist()} == expected
    assert len(archive) == len(expected)
    for value, entry in zip(archive.values, archive.entries, strict=True):
        assert points[int(entry.row[0])] == tuple(value.astype(int).tolist())


def test_a_full_archive_keeps_the_extremes() -> None:
    """Tests that when only five may stay of a line of points, both ends are among them."""
    x = np.linspace(0, 1, 50)
    archive = Archive(2, capacity=5)
    archive.add(np.stack([x, 1 - x], axis=1), np.arange(50)[:, None])
    assert len(archive) == 5
    assert archive.values[:, 0].min() == 0
    assert archive.values[:, 0].max() == 1


def test_crowding_by_hand() -> None:
    """Tests the distance of the middle of three points: (full extent)/(extent) in both objectives."""
    distance = crowding(np.array([[0.0, 4.0], [1.0, 1.0], [4.0, 0.0]]))
    assert distance.tolist() == [np.inf, 2.0, np.inf]


def test_the_fuzzy_rules_at_their_corners() -> None:
    """Tests that at the nine corners the controller gives each rule's own chance, and in between a mean of them."""
    corners = np.array([-1.0, 0.0, 1.0])
    assert np.array_equal(promotion(corners[:, None], corners[None, :]), CHANCE)
    assert promotion(0.5, 0.0) == pytest.approx((0.5 + 0.8) / 2)
    assert promotion(-7.0, -7.0) == 0.05
    assert np.allclose(memberships(np.linspace(-1, 1, 21)).sum(axis=-1), 1.0)
    grid = promotion(np.linspace(-1, 1, 41)[:, None], np.linspace(-1, 1, 41)[None, :])
    assert (np.diff(grid, axis=0) >= -1e-12).all()
    assert (np.diff(grid, axis=1) >= -1e-12).all()


def test_progress_is_clipped_and_scaled() -> None:
    """Tests improvements of 10 %, −30 % and none."""
    best = np.array([[100.0, 100.0, 100.0]])
    assert np.allclose(progress(np.array([[90.0, 130.0, 100.0]]), best), [[0.5, -1.0, 0.0]])


def test_directions_reach_the_corners() -> None:
    """Tests that weights are positive, sum to about one, and that each objective has a walker of its own."""
    for objectives in (1, 2, 3, 4):
        weights = directions(8, objectives)
        assert weights.shape == (8, objectives)
        assert (weights > 0).all()
        assert (weights.max(axis=0) > 0.9).all()


def test_seeds_are_feasible_distinct_and_hold_the_rules() -> None:
    """Tests that FCFS in queue order is among the seeds, that none is doubled, and that a limit is kept."""
    problem = SearchProblem(
        fs.Workload.example().head(50), fs.Federation.example(), Objectives.of(("makespan", "energy"))
    )
    seeds = structured_seeds(problem, limit=100)
    assert len(np.unique(seeds, axis=0)) == len(seeds) <= 100
    assert np.array_equal(problem.repaired(seeds.copy()), seeds)
    assert (problem.layout.orders(seeds) == np.arange(50)).all(axis=1).any()


def test_binding_predicts_what_happens() -> None:
    """Tests that a queue bound to the earliest cluster ends no later than the prediction's order allows: LPT by hand.

    Jobs of 4, 3, 3 s on clusters of speed 1 and 2, one node each: 4 s on the fast (ends 2), 3 s on the slow (ends 3)
    or the fast (ends 3.5): slow; the last on the fast: 3.5.
    """
    federation = fs.Federation((
        fs.Cluster("slow", (fs.NodeGroup(1, 1.0, 200, 90),), 1e9),
        fs.Cluster("fast", (fs.NodeGroup(1, 2.0, 200, 90),), 1e9),
    ))  # fmt: skip
    workload = fs.Workload(submit=[0, 0, 0], tasks=[1, 1, 1], runtime=[4.0, 3.0, 3.0])
    problem = SearchProblem(workload, federation, Objectives.of("makespan"))
    order, caps = bound_to_earliest(problem, np.array([0, 1, 2]))
    assert caps.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert problem.values(problem.row(order, caps)[None])[0, 0] == 3.5


def test_packed_plans_are_small() -> None:
    """Tests that two hundred plans of two hundred jobs take less than a fifth of their memory."""
    rows = [np.random.default_rng(k).permutation(1800) % 200 for k in range(50)]
    plans = [rows[k % 50].copy() for k in range(200)]
    assert len(pack(plans)) < sum(row.nbytes for row in plans) / 5
