"""What was sought in vain: the table answers what a list of all entries does, or less, and plans stay what they are."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import strategies
from engine.test_against_naive import first_difference, run_engine
from interpreted import tries
from plain import arrived, jobs, plain

import fedsched as fs
from fedsched.engine.codes import Dispatch

if TYPE_CHECKING:
    import pytest

vain = plain("fedsched.engine.vain")
conservative = plain("fedsched.engine.conservative")
BEYOND = 2.0 ** (1 / vain.PER_OCTAVE) + 0.25  # keys lie closer than this factor, in either direction


def empty() -> np.ndarray:
    """Return a table that knows nothing."""
    table = np.empty(vain.ROOM)
    vain.forget(table)
    return table


def test_the_table_claims_no_more_than_its_entries_and_not_much_less() -> None:
    """A job is told the latest time of entries that are no wider and no longer, those nearly as large aside."""
    rng = random.Random(5)
    table, entries = empty(), []
    for _ in range(400):
        tasks, length, time = rng.randint(1, 300), 10 ** rng.uniform(-1, 6), rng.uniform(0, 100)
        entries.append((tasks, length, time))
        vain.remember(table, tasks, length, time)
        asked, lasts = rng.randint(1, 600), 10 ** rng.uniform(-1, 7)
        known = [time for tasks, length, time in entries if tasks <= asked and length <= lasts]
        surely = [
            time for tasks, length, time in entries if tasks * BEYOND <= asked and max(length, 1) * BEYOND <= lasts
        ]
        assert max(surely, default=vain.NOWHERE) <= vain.sought_until(table, asked, lasts)
        assert vain.sought_until(table, asked, lasts) <= max(known, default=vain.NOWHERE)


def test_an_entry_counts_for_a_job_of_just_its_size() -> None:
    """Widths and lengths that are powers of two are keys themselves: the same size is large enough."""
    table = empty()
    vain.remember(table, 64, 1024.0, 7.0)
    assert vain.sought_until(table, 64, 1024.0) == 7.0
    assert vain.sought_until(table, 63, 1024.0) == vain.sought_until(table, 64, 1023.0) == vain.NOWHERE


def test_jobs_beyond_the_table_lose_nothing_but_time() -> None:
    """The widest and the longest are told of smaller ones and tell nobody; what is short beyond the keys is one key."""
    table = empty()
    vain.remember(table, 2**40, 10.0, 9.0)
    vain.remember(table, 4, 1e30, 9.0)
    assert (table == vain.NOWHERE).all()
    vain.remember(table, 4, 1e-9, 5.0)
    assert vain.sought_until(table, 2**40, 1e30) == 5.0
    assert vain.sought_until(table, 4, 1e-12) == vain.NOWHERE


def crowd(seed: int) -> strategies.Scenario:
    """Return a random conservative scenario in which many jobs wait."""
    scenario = strategies.random_scenario(seed, max_jobs=36, dispatch="conservative")
    if seed % 3:
        scenario = replace(scenario, jobs=[replace(job, submit=0.0) for job in scenario.jobs])
    return scenario


def test_a_plan_that_learns_is_the_reference_s() -> None:
    """[12] With many waiting the plan begins its searches late, and every job starts as in the naive reference."""
    for seed in range(tries(16)):
        scenario = crowd(seed)
        difference = first_difference(scenario, run_engine(scenario), scenario.simulate())
        assert not difference, f"seed {seed}: {difference}"


def test_searches_do_begin_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """On groups of several speeds most searches of a long queue begin past now: the table is of use."""
    begun = []
    found = vain.sought_until
    monkeypatch.setattr(vain, "sought_until", lambda *job: begun.append(found(*job)) or begun[-1])
    rng = random.Random(1)
    tasks, runtime = [rng.randint(1, 12) for _ in range(80)], [rng.uniform(10, 1000) for _ in range(80)]
    speeds = [fs.Cluster(f"c{k}", [fs.NodeGroup(4, speed=s)]) for k, s in enumerate((1.0, 0.8, 0.5))]
    problem, plan, state = arrived(jobs(tasks, runtime), fs.Federation(speeds), dispatch="conservative")
    assert plan.dispatch == Dispatch.CONSERVATIVE
    conservative.plan_the_queue(problem, plan, state)
    assert np.mean(np.array(begun) > 0.0) > 0.5


def test_a_job_with_caps_says_nothing_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound to slow nodes a job lasts too long for now; one as wide and longer without caps starts on the fast ones."""
    monkeypatch.setattr(plain("fedsched.engine.availability"), "WORTH_KNOWING", 0)
    federation = fs.Federation([fs.Cluster("c", [fs.NodeGroup(4, speed=1.0), fs.NodeGroup(4, speed=0.5)])])
    workload = jobs([1, 8, 2, 2], [150.0, 50.0, 160.0, 200.0])
    caps = np.array([[0, 4], [4, 4], [0, 4], [4, 4]])
    problem, plan, state = arrived(workload, federation, caps=caps, dispatch="conservative")
    conservative.plan_the_queue(problem, plan, state)
    assert state.profile.reserved[:3].tolist() == [0.0, 300.0, 400.0]
    assert state.start[3] == 0.0
