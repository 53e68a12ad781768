"""Compile kernels ahead of their first use, by calls of each kind on a few jobs: for images, login nodes and wheels."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched import gang, market
from fedsched.core.compilation import compiling
from fedsched.core.errors import unknown_name
from fedsched.io import read_example, read_federation
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup, Pool
from fedsched.model.time.downtimes import Downtime
from fedsched.optimize import optimize
from fedsched.optimize.rolling import Rolling
from fedsched.simulate import simulate
from fedsched.slurm import Slurm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fedsched.core.names import SharingName
    from fedsched.policies import Policy

RULES = ("fcfs", "easy", "conservative", "greedy", "easy-sjbf", "wfp3-easy", "lookahead", "mct")
METHODS = ("memetic", "ga", "pso-ea", "mpso-fga")  # the other methods use the same kernels
CHOICES: tuple[SharingName, ...] = ("first", "best", "spread", "block")
NODES = 32
PRIORITIES = """SelectType=select/linear
SchedulerType=sched/backfill
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=500
"""
BASIC = "SelectType=select/linear\nPriorityType=priority/basic\n"
SHARED_CORES = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=500\n"
MACHINE = f"NodeName=n[1-{NODES}] CPUs=4 RealMemory=4000\nPartitionName=batch Nodes=ALL Default=YES\n"


class Warmed(NamedTuple):
    """A kind of calls, the number of functions that they compiled, and the seconds that the compilation took."""

    kind: str
    functions: int
    seconds: float


def warm_up(*kinds: str) -> Iterator[Warmed]:
    """Run small calls of these kinds (all if none is named), so that their kernels compile; yield a record after each.

    Raise UnknownNameError for a kind that is not in KINDS.
    """
    for kind in kinds or KINDS:
        if kind not in KINDS:
            raise unknown_name("kind of calls", kind, KINDS)
        with compiling() as watch:
            for call in KINDS[kind]():
                call()
        yield Warmed(kind, watch.functions, watch.seconds)


# ---- the kinds, run in this order: a later kind compiles less than it would alone -----------------------------------


def _easy() -> Iterator[Callable[[], object]]:
    yield from _simulations(_jobs(), _machine(), RULES)
    yield partial(simulate, _jobs(), _machine(), "easy", placement="efficient")
    yield from _simulations(_jobs().with_communication(bandwidth=1e8), _machine(), RULES[:3])


def _optimize() -> Iterator[Callable[[], object]]:
    yield from _searches(_jobs(), _machine(), METHODS)
    yield partial(simulate, _jobs().head(30), _machine(), Rolling(evaluations=60))


def _calendar() -> Iterator[Callable[[], object]]:
    machine = replace(_machine(), calendar=_downtimes(_machine()))
    yield from _simulations(_jobs(), machine, RULES)
    yield from _searches(_jobs(), machine, METHODS[:3])


def _pools() -> Iterator[Callable[[], object]]:
    jobs, machine = _jobs(), replace(_machine(), pools=(Pool("licences", 4),))
    ids = jobs.id.tolist()
    after = {ids[k]: f"{('afterok', 'after', 'afterany')[k % 3]}:{ids[k - 5]}" for k in range(7, len(ids), 7)}
    needs = np.arange(len(ids)) % 3
    with_pools = _like(jobs, pools={"licences": needs})
    with_both = _like(jobs, pools={"licences": needs}, after=after, begin=jobs.submit + 500.0 * needs)
    yield from _simulations(with_both, machine, RULES)
    for some in (with_pools, _like(jobs, after=after)):
        yield from _simulations(some, machine, RULES[:3])
    yield from _searches(with_both, machine, METHODS[:3])
    closing = replace(machine, calendar=_downtimes(machine))
    yield from _simulations(with_both, closing, RULES[:3])
    yield from _searches(with_both, closing, METHODS[:1])


def _shared() -> Iterator[Callable[[], object]]:
    jobs, machine = _sharing_jobs(), _sharing_machine()
    for rule in ("fcfs", "easy", "greedy", "wfp3-easy"):
        yield from _simulations(jobs, machine, (rule,), sharing="first")
    for choice in CHOICES[1:]:
        yield from _simulations(jobs, machine, ("easy",), sharing=choice)
    yield from _searches(jobs, machine, ("ga",), sharing="first")
    closing = replace(machine, calendar=_downtimes(machine))
    yield from _simulations(jobs, closing, ("fcfs", "easy"), sharing="first")


def _slurm() -> Iterator[Callable[[], object]]:
    with tempfile.TemporaryDirectory() as folder:
        conf = Path(folder) / "slurm.conf"
        jobs = _jobs()
        whole = _like(jobs, tasks=np.minimum(jobs.tasks, NODES))
        shared = _like(jobs, tasks=np.minimum(jobs.tasks, NODES), demand={"cpu": 1 + np.arange(len(jobs)) % 2})
        for text in (BASIC + MACHINE, PRIORITIES + MACHINE, PRIORITIES + SHARED_CORES + MACHINE):
            conf.write_text(text, encoding="utf-8")
            machine, policy = read_federation(conf), Slurm(conf, completing=4)
            yield from _simulations(whole, machine, (policy,))
            if SHARED_CORES in text:
                yield from _simulations(shared, machine, (policy,), sharing="block")


def _gang() -> Iterator[Callable[[], object]]:
    for discipline in ("AFCFS", "AFCFSm", "LJFS", "LXFm"):
        preset = gang.presets.Pinto2019(scheduler=discipline, scenario=1)
        yield partial(gang.simulate, preset.workload(), preset.system(), max_completions=500)
    for older in (gang.presets.Pinto2014(), gang.presets.DimitriadouKaratza(completions=500)):
        yield partial(gang.simulate, older.workload(), older.system(), max_completions=500)


def _market() -> Iterator[Callable[[], object]]:
    domain = market.Domain()
    for method in market.METHODS:
        for seed in range(3):
            jobs = market.Jobs().batch(seed=seed, domain=domain)
            yield partial(market.schedule, jobs, domain.environment(seed=seed), method=method)


KINDS: dict[str, Callable[[], Iterator[Callable[[], object]]]] = {
    "easy": _easy,
    "optimize": _optimize,
    "calendar": _calendar,
    "pools": _pools,
    "shared": _shared,
    "slurm": _slurm,
    "gang": _gang,
    "market": _market,
}


# ---- jobs, machines and calls that the kinds share ------------------------------------------------------------------


def _jobs() -> Workload:
    return read_example("sample").head(200)


def _machine() -> Federation:
    return Federation.example()


def _sharing_machine() -> Federation:
    nodes = NodeGroup(16, resources=(("cpu", 40), ("memory", 187_000), ("gpu", 4)))
    return Federation((Cluster("shared", (nodes,)),), name="shared")


def _sharing_jobs() -> Workload:
    k = np.arange(200)
    demand = {"cpu": 2 ** (k % 4), "memory": 1000 * (1 + 7 * (k % 5)), "gpu": k % 3 // 2}
    return Workload(submit=100 * k, tasks=1 + 3 * (k % 6), runtime=60 + 977 * k % 7000, estimate=7200, demand=demand)


def _downtimes(machine: Federation) -> tuple[Downtime, ...]:
    first, last = machine.clusters[0].name, machine.clusters[-1].name
    return (
        Downtime(first, 7200.0, 40_000.0, "4 of all"),
        Downtime(last, 50_000.0, 80_000.0, kind="outage"),
        Downtime(last, 90_000.0, 95_000.0, "all", on_running="requeue"),
    )


def _like(jobs: Workload, **more: object) -> Workload:
    columns = {name: getattr(jobs, name) for name in ("submit", "tasks", "runtime", "estimate", "id")}
    return Workload(**(columns | more))


def _simulations(
    jobs: Workload, machine: Federation, policies: Sequence[str | Policy | Slurm], *, sharing: SharingName | None = None
) -> Iterator[Callable[[], object]]:
    for policy in policies:
        yield lambda policy=policy: simulate(jobs, machine, policy, sharing=sharing).verify()  # type: ignore[misc]


def _searches(
    jobs: Workload, machine: Federation, methods: Sequence[str], *, sharing: SharingName | None = None
) -> Iterator[Callable[[], object]]:
    search = partial(optimize, jobs.head(30), machine, evaluations=300, sharing=sharing)
    for method in methods:
        yield partial(search, method=method)
    yield partial(search, method=methods[0], objectives="makespan")
