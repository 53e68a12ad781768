"""Shared nodes against the naive reference: every start, every task on its node, every device."""

from __future__ import annotations

import numpy as np
import pytest
from support.sharing_cases import BOUND, case, same_as_naive
from support.tiers import tries


@pytest.mark.parametrize("seed", range(tries(100)))
def test_small_mixtures_are_as_the_reference_has_them(seed: int) -> None:
    """Tests that runs of all rules, choices, demands and layouts have each job where the reference has it."""
    same_as_naive(case(seed))


@pytest.mark.parametrize("seed", range(tries(160)))
def test_who_is_kept_back_beside_nodes_is_as_the_reference_has_it(seed: int) -> None:
    """Tests the same of jobs that need pools, are under limits, wait for others or for a time, or are cancelled."""
    same_as_naive(case(3000 + seed, bound=BOUND))


@pytest.mark.parametrize("seed", range(tries(160)))
def test_downtimes_of_whole_groups_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same where groups close for a while, known beforehand or not, beside all else or alone."""
    same_as_naive(case(7000 + seed, bound=(*BOUND, "downtimes") if seed % 3 == 0 else ("downtimes",)))


@pytest.mark.parametrize("seed", range(tries(160)))
def test_downtimes_of_so_many_nodes_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same where downtimes say how many nodes they close, not which."""
    counted = ("downtimes", "counted")
    same_as_naive(case(9000 + seed, bound=(*BOUND, *counted) if seed % 3 == 0 else counted))


@pytest.mark.filterwarnings("ignore:overflow encountered")  # of the random numbers, where nothing is compiled
@pytest.mark.parametrize("seed", range(tries(200)))
def test_who_loses_nodes_is_as_the_reference_has_it(seed: int) -> None:
    """Tests the same where downtimes take their nodes from jobs, of whole groups or of so many, drawn or not."""
    taking = ("downtimes", "taking", *(("counted",) if seed % 2 else ()))
    same_as_naive(case(11000 + seed, bound=(*BOUND, *taking) if seed % 3 == 0 else taking))


@pytest.mark.parametrize("seed", range(tries(120)))
def test_who_is_held_is_as_the_reference_has_it(seed: int) -> None:
    """Tests the same of jobs that are held for a time, once or twice, alone or beside all else."""
    same_as_naive(case(13000 + seed, bound=(*BOUND, "held", "downtimes", "taking") if seed % 2 else ("held",)))


@pytest.mark.parametrize("seed", range(tries(200)))
def test_reservations_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same where nodes are kept for jobs that name them, beside all else or alone."""
    reserved = ("reserved", "downtimes", "counted", "taking") if seed % 2 else ("reserved",)
    same_as_naive(case(15000 + seed, bound=(*BOUND, *reserved) if seed % 3 == 0 else reserved))


@pytest.mark.parametrize("seed", range(tries(120)))
def test_partitions_with_tiers_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same of jobs in partitions, those of a higher tier first, alone or beside all else."""
    every = (*BOUND, "held", "reserved", "downtimes", "counted", "taking")
    same_as_naive(case(17000 + seed, bound=("tiers", *every) if seed % 2 else ("tiers",)))


@pytest.mark.parametrize("seed", range(tries(120)))
def test_limits_that_count_nodes_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same where users, and each job of a partition, have so many nodes, alone or beside all else."""
    every = (*BOUND, "held", "reserved", "downtimes", "counted", "taking")
    bound = [("nodes",), ("nodes", "tiers"), ("nodes", "tiers", *every)][seed % 3]
    same_as_naive(case(19000 + seed, bound=bound))


@pytest.mark.parametrize("seed", range(tries(120)))
def test_events_in_turn_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same where each event of an instant has a pass of its own, alone or beside all else."""
    every = (*BOUND, "held", "tiers", "nodes", "reserved", "downtimes", "counted", "taking")
    same_as_naive(case(21000 + seed, bound=("sequential", *every) if seed % 2 else ("sequential",)))


@pytest.mark.parametrize("seed", range(tries(160)))
def test_conservative_plans_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same where every job in turn has a reservation, alone or beside all else."""
    every = (*BOUND, "held", "tiers", "nodes", "reserved", "downtimes", "counted", "taking", "sequential")
    bound = [(), BOUND, ("downtimes", "counted"), every][seed % 4]
    same_as_naive(case(23000 + seed, bound=("conservative", *bound)))


@pytest.mark.parametrize("seed", range(tries(120)))
def test_queues_of_clusters_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same where a job that waits blocks its clusters, alone or beside all else."""
    every = (*BOUND, "held", "tiers", "nodes", "reserved", "downtimes", "counted", "taking", "sequential")
    same_as_naive(case(25000 + seed, bound=("local", *[(), BOUND, every][seed % 3])))


@pytest.mark.parametrize("seed", range(tries(160)))
def test_caps_and_thrifty_places_are_as_the_reference_has_them(seed: int) -> None:
    """Jobs with caps, and jobs that go where they need the least energy, lie where the reference has them."""
    every = (*BOUND, "held", "tiers", "nodes", "downtimes", "taking", "sequential", "links")
    rule = [(), ("conservative",), ("local",)][seed // 3 % 3]
    kind = ("caps", "efficient")[seed % 2]
    same_as_naive(case(33000 + seed, bound=(kind, *rule, *[(), BOUND, every][seed % 3])))


@pytest.mark.parametrize("seed", range(tries(160)))
def test_jobs_that_communicate_are_as_the_reference_has_them(seed: int) -> None:
    """Tests the same of jobs on several clusters that saturate uplinks, alone or beside all else."""
    every = (*BOUND, "held", "tiers", "nodes", "reserved", "downtimes", "counted", "taking", "sequential")
    rule = [(), ("conservative",), ("local",)][seed // 3 % 3]
    same_as_naive(case(27000 + seed, bound=("links", *rule, *[(), BOUND, every][seed % 3])))


@pytest.mark.parametrize("seed", range(tries(120)))
def test_a_run_starts_from_a_running_state(seed: int) -> None:
    """The jobs still to come, started from the running jobs of a moment, start and lie as in the whole run."""
    every = ("pools", "limits", "cancellations", "tiers", "nodes", "downtimes", "counted", "links")
    rule = [(), ("conservative",), ("local",)][seed % 3]
    one = case(31000 + seed, jobs=20, bound=(*rule, *[(), every][seed % 2]))
    whole = one.simulate()
    if np.isnan(whole.start).all():
        return  # all were cancelled
    run = one.prepare().advance(until=float(np.nanmedian(whole.start)))
    now = run.schedule()
    rows = np.flatnonzero(~(now.finish <= run.time) & ~now.cancelled)
    if not np.isnan(now.start[rows]).any():
        return
    rest = one.simulate(rows, running=run.running().renumbered(rows))
    assert np.array_equal(rest.start, whole.start[rows], equal_nan=True)
    assert np.array_equal(rest.finish, whole.finish[rows], equal_nan=True)
    part = whole.use.take(rows, rest.workload)
    for name in ("job", "node", "tasks", "devices"):
        assert np.array_equal(getattr(rest.use, name), getattr(part, name)), name
    if rest.complete:
        rest.verify(claimed=rest.metrics())
