"""Slurm's priorities: the kernels answer what plain Python does, whatever accounts, jobs and clocks there are."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from slurm.priority_naive import Machine, Node, Waiting
from support import signatures
from support.tiers import tries

from fedsched.slurm.conf.job_factors import JobRequest, Scales
from fedsched.slurm.priority.associations import Association, Associations, Qos
from fedsched.slurm.priority.priorities import Factor, pack
from fedsched.slurm.priority.priority_parameters import PartitionPriority, PriorityParameters
from fedsched.slurm.priority.ticks import charge_ended, factors, first_priority, next_tick, remove_cancelled, tick

if TYPE_CHECKING:
    from fedsched.slurm.priority.priorities import Priorities

TRIES = 60


def accounts(rng: random.Random) -> Associations:
    """Return a random tree of accounts: deep or wide, with equal shares, none, and those of the account above."""
    members = [Association("root")]
    places = [0]

    def shares() -> int | None:
        return rng.choice((None, 0, 1, 1, 1, 2, 3, 10))

    for k in range(rng.randint(0, 7)):
        parent = rng.choice(places)
        places.append(len(members))
        members.append(Association(f"a{k}", parent=parent, shares=shares(), priority=rng.choice((0, 0, 4, 9))))
    for k in range(rng.randint(1, 12)):
        parent = rng.choice(places)
        account = members[parent].account
        members.append(Association(account, f"u{k}", parent=parent, shares=shares(), priority=rng.choice((0, 3))))
    qos = {"normal": Qos("normal"), "high": Qos("high", 50, 2.0), "free": Qos("free", 5, 0.0)}
    return Associations(tuple(members), qos)


def parameters(rng: random.Random) -> PriorityParameters:
    """Return random weights, ages and ways."""
    flags = {rng.choice(("FAIR_TREE", "NO_FAIR_TREE"))} | ({"INCR_ONLY"} if rng.random() < 0.2 else set())
    partitions = {"p": PartitionPriority("p", job_factor=3), "q": PartitionPriority("q", job_factor=10)}
    return PriorityParameters(
        multifactor=True, age=rng.choice((0, 1000)), assoc=rng.choice((0, 30)), size=rng.choice((0, 500)),
        fairshare=rng.choice((0, 5000, 100_000, 5_000_000_000)), partition=100, qos=rng.choice((0, 700)),
        max_age=rng.choice((600.0, 7200.0)), half_life=rng.choice((0.0, 900.0, 86400.0)), calc_period=300.0,
        damping=rng.choice((1.0, 3.0)), flags=frozenset(flags), charges_ends=rng.random() < 0.5,
        partitions=partitions, nodes=8, cpus=32,
    )  # fmt: skip


def jobs(rng: random.Random, associations: Associations) -> list[JobRequest]:
    """Return random jobs of everybody's."""
    users = [one for one in associations.members if one.user]
    found = []
    for _ in range(rng.randint(1, 25)):
        whose, nodes = rng.choice(users), rng.randint(1, 8)
        found.append(
            JobRequest(
                whose.user, whose.account, rng.choice("pq"), rng.choice(("", "high", "free")), nodes,
                nodes * rng.randint(1, 4), rng.choice((60.0, 1000.0, 9000.0, math.inf)),
                nice=rng.choice((0, 0, -50, 90)),
            )
        )  # fmt: skip
    return found


def naive_of(conf: PriorityParameters, associations: Associations, asked: list[JobRequest]) -> Machine:
    """Return the same accounts and jobs in plain Python."""
    nodes: list[Node] = []
    for one in associations.members:
        node = Node(one.user or one.account, bool(one.user), one.shares, nodes[one.parent] if nodes else None)
        nodes.append(node)
    waiting, scales = [], Scales(conf, associations)
    for k, job in enumerate(asked):
        one = scales.fixed_factors(job)
        fixed = (one.size, one.partition, one.qos, sum(one.tres.values()), job.site, -job.nice)
        waiting.append(Waiting(k, nodes[one.association], one.assoc, fixed, one.billing * one.usage_factor, job.limit))
    return Machine(
        nodes[0], nodes, waiting, conf.age, conf.fairshare, conf.max_age, conf.half_life, conf.damping,
        fair_tree=conf.fair_tree, only_up="INCR_ONLY" in conf.flags, charges_ends=conf.charges_ends,
    )  # fmt: skip


def compare(packed: Priorities, naive: Machine) -> None:
    """Fail unless both say the same."""
    np.testing.assert_allclose(packed.tree.usage, [one.usage for one in naive.everybody], rtol=1e-12)
    if naive.fair_tree and naive.last is not None:
        assert packed.tree.factor.tolist() == [one.factor for one in naive.everybody]
    for number in naive.queue:
        assert packed.value[number] == naive.jobs[number].priority, number


@pytest.mark.parametrize("seed", range(tries(TRIES)))
def test_kernels_answer_what_plain_python_does(seed: int) -> None:
    """Jobs are submitted, start, end, are cancelled: every use, rank and priority is the same at every tick."""
    rng = random.Random(seed)
    associations, conf = accounts(rng), parameters(rng)
    asked = jobs(rng, associations)
    packed, naive = pack(conf, associations, asked, phase=-10.0), naive_of(conf, associations, asked)
    start = np.full(len(asked), math.nan)
    submit = [round(rng.uniform(0, 3000)) for _ in asked]
    events = [(float(at), "submit", k) for k, at in enumerate(submit)]
    for k, at in enumerate(submit):
        if rng.random() < 0.6:
            begin = at + rng.choice((0, 7, 400, 1000))
            events += [(float(begin), "then_start", k), (float(begin + rng.choice((3, 200, 1500))), "then_z_end", k)]
        elif rng.random() < 0.2:
            events.append((float(at + 200), "then_leave", k))
    running: set[int] = set()
    for at, what, k in [*sorted(events), (5000.0, "nothing", 0)]:
        while next_tick(packed) <= at:
            now = next_tick(packed)
            line = np.array([*running, *[0] * (len(asked) - len(running))], np.int64)
            tick(packed, now, line, len(running), start)
            naive.tick(now, list(running))
            compare(packed, naive)
        match what:
            case "submit":
                later = rng.random() < 0.2
                packed.accrue[k] = math.inf if later else math.nan
                first_priority(packed, k, at)
                naive.submit(k, at, math.inf if later else at)
                assert packed.value[k] == naive.jobs[k].priority
            case "then_start":
                start[k] = naive.jobs[k].start = at
                running.add(k)
                naive.queue.discard(k)
            case "then_z_end":
                running.discard(k)
                assert charge_ended(packed, k, at, start) == conf.charges_ends
                naive.end(naive.jobs[k], at)
            case "then_leave":
                remove_cancelled(packed, k)
                naive.queue.discard(k)
    compare(packed, naive)


def two_levels(**conf: object) -> tuple[PriorityParameters, Associations]:
    """Return two accounts of two users each."""
    members = [Association("root")]
    for account in ("a", "b"):
        members.append(Association(account, parent=0))
        members += [Association(account, f"{account}{k}", parent=len(members) - 1) for k in (1,)]
        members.append(Association(account, f"{account}2", parent=len(members) - 2))
    settings = {"multifactor": True, "fairshare": 1000, "nodes": 4, "cpus": 4} | conf
    return PriorityParameters(**settings), Associations(tuple(members), {"normal": Qos("normal")})  # type: ignore[arg-type]


def test_users_of_accounts_that_tie_are_of_one() -> None:
    """Where nobody used anything all share the first rank; whoever used something is below all who did not."""
    conf, associations = two_levels()
    asked = [JobRequest("a1", "a"), JobRequest("a2", "a"), JobRequest("b1", "b")]
    packed, start = pack(conf, associations, asked), np.array([0.0, math.nan, math.nan])
    none = np.zeros(3, np.int64)
    tick(packed, 0.0, none, 0, start)
    assert packed.tree.factor.tolist() == [0, 0, 1, 1, 0, 1, 1]
    tick(packed, 300.0, none, 1, start)
    assert packed.tree.factor.tolist() == [0, 0, 0.25, 0.5, 0, 1, 1]
    assert [first_priority(packed, k, 301.0) for k in (1, 2)] == [500, 1000]


def test_what_runs_after_the_last_tick_is_lost_or_charged() -> None:
    """The end of a job adds nothing, unless limits are enforced."""
    for charges in (False, True):
        conf, associations = two_levels(charges_ends=charges, half_life=0.0)
        packed, start = pack(conf, associations, [JobRequest("a1", "a", cpus=2)]), np.array([10.0])
        tick(packed, 0.0, np.zeros(1, np.int64), 0, start)
        charge_ended(packed, 0, 110.0, start)
        assert packed.tree.usage.tolist() == [200.0 * charges, 200.0 * charges, 200.0 * charges, 0, 0, 0, 0]


def test_a_job_beyond_its_limit_is_charged_no_further() -> None:
    """Use ends with the limit, even where the job goes on."""
    conf, associations = two_levels(half_life=0.0)
    packed, start = pack(conf, associations, [JobRequest("a1", "a", limit=100.0)]), np.array([0.0])
    for now in (0.0, 300.0, 600.0):
        tick(packed, now, np.zeros(1, np.int64), 1, start)
    assert packed.tree.usage[0] == 100.0


def test_use_is_forgotten_as_a_month_begins() -> None:
    """PriorityUsageResetPeriod follows the clock on the wall, at the first tick from then on."""
    conf, associations = two_levels(reset="MONTHLY", half_life=0.0, calc_period=43_200.0)
    origin = 30 * 86_400.0  # the last day of January 1970
    packed, start = pack(conf, associations, [JobRequest("a1", "a")], origin=origin), np.array([0.0])
    one = np.zeros(1, np.int64)
    found = []
    for _ in range(4):
        tick(packed, next_tick(packed), one, 1, start)
        found.append(packed.tree.usage[0])
    assert found == [0, 43_200, 43_200, 86_400]


def test_factors_add_up_to_the_priority() -> None:
    """What is written of a job is what its priority is the sum of, rounded down."""
    conf, associations = two_levels(age=100, max_age=1000.0, size=10, favor_small=True)
    packed = pack(conf, associations, [JobRequest("a1", "a", nice=3, site=7)])
    tick(packed, 0.0, np.zeros(1, np.int64), 0, np.array([math.nan]))
    first_priority(packed, 0, 10.0)
    row = np.zeros(len(Factor))
    assert factors(packed, 0, 510.0, row) == pytest.approx(50 + 1000 + 7.5 + 7 - 3)
    assert row.tolist() == pytest.approx([50, 0, 1000, 7.5, 0, 0, 0, 7, -3])
    tick(packed, 510.0, np.zeros(1, np.int64), 0, np.array([math.nan]))
    assert packed.value[0] == 1061


def test_basic_is_the_order_of_ids() -> None:
    """Without the multifactor plugin there are no ticks, and earlier ids come first."""
    packed = pack(PriorityParameters(), None, [JobRequest(), JobRequest(), JobRequest()])
    assert next_tick(packed) == math.inf
    assert tick(packed, 0.0, np.zeros(3, np.int64), 0, np.full(3, math.nan)) == 0
    assert charge_ended(packed, 0, 0.0, np.full(3, math.nan)) == 0
    first, second, third = (first_priority(packed, k, 5.0) for k in range(3))
    assert (first, second, third) == (4294901759, 4294901758, 4294901757)  # as Slurm's jobs 1, 2, 3 have


def test_a_job_that_waits_again_is_counted_once() -> None:
    """Who is begun anew waits again, however often he is said to."""
    conf, associations = two_levels(age=100, max_age=1000.0)
    packed = pack(conf, associations, [JobRequest("a1", "a")] * 2)
    start = np.full(2, math.nan)
    for now in (0.0, 1.0):
        first_priority(packed, 1, now)
    first_priority(packed, 0, 2.0)
    assert tick(packed, 10.0, np.zeros(2, np.int64), 0, start) == 2
    assert remove_cancelled(packed, 1) == remove_cancelled(packed, 1) == 1
    start[0] = 11.0
    assert tick(packed, 310.0, np.zeros(2, np.int64), 0, start) == 0


@pytest.mark.compiled
def test_kernels_have_one_signature() -> None:
    """No kernel is compiled twice."""
    test_factors_add_up_to_the_priority()
    test_basic_is_the_order_of_ids()
    test_a_job_that_waits_again_is_counted_once()
    signatures.check(*(f"fedsched.slurm.priority.{name}" for name in ("ticks", "fair_share")), least=8)
