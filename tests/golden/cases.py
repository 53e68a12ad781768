"""The cases whose values are golden, by group: what the library makes of made problems and of recorded days.

A group gives pairs of a case's name and a function that returns its value. Names and draws of a case depend on nothing
but the case, so that a new one changes no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from golden.hashes import digest, of_result, of_schedule
from golden.problems import (
    FEATURES,
    ROUGH,
    Problem,
    begun,
    made_jobs,
    mixed,
    mixed_names,
    one_cluster,
    plain,
    three_clusters,
)

import fedsched as fs
from fedsched import gang, market
from fedsched.core.errors import FedschedError
from fedsched.policies import DISPATCH, ORDERS, PLACEMENTS, POLICIES, Slurm
from fedsched.search import METHODS

Cases = Iterator[tuple[str, Callable[[], str]]]
REFUSALS = (FedschedError, ValueError)
WIDEST = {"single": 4, "home": 4, "big_small": 12, "link_aware": 8}  # tasks that have room under these placements
ORDERS_DRAWN = ("fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "xfactor", "wfp3", "unicef", "f1")


def value(case: Callable[[], str]) -> str:
    """Return the value of a case; of one that the library refuses, the error's class."""
    try:
        return case()
    except REFUSALS as error:
        return f"refused: {type(error).__name__}"


def values(group: str, *, every: int = 1) -> dict[str, str]:
    """Return the values of all cases of a group by name, or of every so manieth."""
    named = dict(cases := list(GROUPS[group]()))
    assert len(named) == len(cases), f"{group}: two cases have one name"
    return {name: value(case) for name, case in cases[::every]}


@cache
def featured(name: str, *, placement: str = "") -> Problem:
    """Return the plain problem with a feature, of jobs that have room under a placement."""
    return FEATURES[name](plain(widest=WIDEST.get(placement, 16)))


def simulated(problem: Callable[[], Problem], policy: Any, *, rough: bool = False, **options: Any) -> str:
    """Return the value of a simulation."""
    given = problem()
    schedule = fs.simulate(given.workload, given.machine, policy, **{**given.options, **options})
    return of_schedule(schedule, rough=rough)


def drawn(case: str, *among: Any) -> Any:
    """Return one of some things, by a case's name."""
    return among[int(Random(case).random() * len(among))]


def with_feature(feature: str) -> Cases:
    """Give a feature under each dispatch rule and placement, under an order that the case draws."""
    rough = feature in ROUGH
    for dispatch, placement in product(DISPATCH, PLACEMENTS):
        order = drawn(f"{feature} {dispatch} {placement}", *ORDERS_DRAWN)
        backfill = drawn(f"{feature} {dispatch} {placement} backfill", None, None, "sjf", "saf")
        rules = fs.Rules(order=order, dispatch=dispatch, placement=placement, backfill_order=backfill)
        name = f"{dispatch}, {placement}, {order}{'' if backfill is None else f', {backfill}'}"
        yield name, partial(simulated, partial(featured, feature, placement=placement), rules, rough=rough)
    for dispatch in DISPATCH:
        rules = fs.Rules(dispatch=dispatch)
        read = partial(simulated, partial(featured, feature), rules, rough=rough)
        yield f"{dispatch}, sequential", partial(read, same_time="sequential")
    for policy in ("mct", "min-min", "sufferage-easy", "least-energy"):
        yield policy, partial(simulated, partial(featured, feature), policy, rough=rough)


def mixtures(part: int) -> Cases:
    """Give problems with three features, which may not go together, each under rules that it draws."""
    for seed in range(part * 150, (part + 1) * 150):
        dispatch, placement = drawn(f"{seed} dispatch", *DISPATCH_DRAWN), drawn(f"{seed} placement", *PLACEMENTS_DRAWN)
        rules = fs.Rules(order=drawn(f"{seed} order", *ORDERS_DRAWN), dispatch=dispatch, placement=placement)
        names, _ = _mixed(seed, placement)
        yield f"{seed}: {' + '.join(names)}; {rules}", partial(_of_mixture, seed, placement, rules)


DISPATCH_DRAWN = ("strict", "greedy", "local", "easy", "easy", "conservative", "lookahead")
PLACEMENTS_DRAWN = ("fastest", "fastest", "single", "best_fit", "efficient", "powerful", "big_small", "link_aware")


@cache
def _mixed(seed: int, placement: str) -> tuple[tuple[str, ...], Problem | Exception]:
    names = mixed_names(seed)
    try:
        return names, mixed(names, widest=WIDEST.get(placement, 16))
    except REFUSALS as error:  # a machine that the library refuses to make
        return names, error


def _of_mixture(seed: int, placement: str, rules: fs.Rules) -> str:
    _, problem = _mixed(seed, placement)
    if isinstance(problem, Exception):
        raise problem
    return simulated(lambda: problem, rules, rough=True)


def policies() -> Cases:
    """Give every policy that has a name: on made jobs, and on the shipped sample."""
    for policy in POLICIES:
        yield f"{policy}, made", partial(simulated, plain, policy)
        yield f"{policy}, sample", partial(simulated, _sample, policy, rough=True)
    for policy, placement in product(("fcfs", "easy", "conservative", "lookahead", "wfp3-easy"), PLACEMENTS):
        yield f"{policy} on {placement}, whole sample", partial(
            simulated, partial(_sample, 1000), policy, placement=placement, rough=True
        )  # fmt: skip


@cache
def _sample(jobs: int = 250) -> Problem:
    return Problem(fs.Workload.example().head(jobs), fs.Federation.example())


def orders() -> Cases:
    """Give every order under every rule and placement, on jobs of one size that tie, and on one cluster."""
    for order, dispatch, placement in product(ORDERS, DISPATCH, PLACEMENTS):
        rules = fs.Rules(order=order, dispatch=dispatch, placement=placement)
        problem = partial(_others, f"widest {WIDEST.get(placement, 16)}")
        yield f"{order}, {dispatch}, {placement}", partial(simulated, problem, rules)
    for kind, order, dispatch in product(("one cluster", "ties", "many groups", "one node"), ORDERS, DISPATCH):
        rules = fs.Rules(order=order, dispatch=dispatch)
        yield f"{kind}, {order}, {dispatch}", partial(simulated, partial(_others, kind), rules, rough=True)


@cache
def _others(kind: str) -> Problem:
    if kind == "one cluster":
        return one_cluster()
    if kind == "ties":
        problem = one_cluster(seed=5)
        return problem.jobs(submit=problem.workload.submit // 64 * 64, runtime=16.0, estimate=16.0)
    if kind == "one node":
        return one_cluster(1).jobs(tasks=1)
    if kind == "many groups":
        clusters = [fs.Cluster(f"c{k}", (fs.NodeGroup(1 + k % 3, 1.0 + k / 8), fs.NodeGroup(2, 2.0 - k / 8)))
                    for k in range(8)]  # fmt: skip
        return Problem(replace(made_jobs(6), origin=-1, sites=()), fs.Federation(tuple(clusters)))
    return plain(widest=int(kind.removeprefix("widest ")), seed=4)


# Nodes that jobs share.

CHOICES = ("first", "best", "least_loaded", "pack", "spread", "block")


@cache
def on_shared(feature: str, *, placement: str = "") -> Problem:
    """Return jobs whose tasks share nodes, with one feature in use."""
    problem = plain(widest=WIDEST.get(placement, 16), seed=7)
    problem = replace(problem, machine=three_clusters((1.0, 2.0, 1.0, 0.5)))
    kinds = [{"cpu": cpu, "memory": memory} for cpu, memory in ((4, 16), (8, 32), (4, 16), (2, 8))]
    demand = {"cpu": problem.drawn("cpu", 1, 1, 2), "memory": problem.drawn("memory", 1, 2, 4, 8)}
    few = [fs.NodeGroup(count, 1.0, 192.0, 96.0) for count in (4, 4, 4, 4)]
    clusters = [fs.Cluster(name, groups) for name, groups in
                zip("abc", (few[:2], few[2:3], few[3:]), strict=True)]  # fmt: skip
    problem = replace(problem, machine=fs.Federation(tuple(clusters))).groups(resources=kinds)
    problem = problem.jobs(demand=demand)
    return begun(problem, "first") if feature == "running jobs" else FEATURES[feature](problem)


def shared() -> Cases:
    """Give nodes that jobs share: each choice of nodes and reservation, under each rule; and each feature."""
    for dispatch, choice, reservation in product(DISPATCH, CHOICES, ("resources", "nodes")):
        sharing = fs.NodeSharing(choice=choice, reservation=reservation)
        rules = fs.Rules(dispatch=dispatch)
        yield f"{dispatch}, {choice}, {reservation}", partial(
            simulated, partial(on_shared, "nothing"), rules, sharing=sharing, rough=True
        )  # fmt: skip
    for order, placement in product(ORDERS, PLACEMENTS):
        problem = partial(on_shared, "nothing", placement=placement)
        rules = fs.Rules(order=order, dispatch="easy", placement=placement)
        yield f"{order}, easy, {placement}", partial(simulated, problem, rules, sharing="first", rough=True)
    for feature, dispatch in product(FEATURES, ("strict", "greedy", "easy")):
        choice = drawn(f"{feature} {dispatch} choice", *CHOICES)
        order = drawn(f"{feature} {dispatch} order", *ORDERS_DRAWN)
        rules = fs.Rules(order=order, dispatch=dispatch)
        problem = partial(on_shared, feature)
        yield f"{feature}: {dispatch}, {choice}, {order}", partial(
            simulated, problem, rules, sharing=choice, rough=True
        )  # fmt: skip
    for feature in ("nothing", "maintenance", "pools"):
        yield f"{feature}: exclusive jobs", partial(_exclusive, feature)
        yield f"{feature}: gpus", partial(_gpus, feature)


def _exclusive(feature: str) -> str:
    problem = on_shared(feature)
    layout = {"exclusive": problem.drawn("exclusive", 0, 0, 1), "tasks_per_node": problem.drawn("per node", 0, 0, 1, 2)}
    return simulated(lambda: problem.jobs(layout=layout), "easy", sharing="pack", rough=True)


def _gpus(feature: str) -> str:
    problem = on_shared(feature).groups(resources=[{"cpu": 4, "gpu": 2}, {"cpu": 8, "gpu": 4}, {"cpu": 4, "gpu": 1}])
    asked = problem.only(problem.small, problem.drawn("gpu", 0, 1, 1), 0)
    demand = {"cpu": problem.drawn("cpu", 1, 1, 2), "gpu": asked}
    return simulated(lambda: problem.jobs(demand=demand), "easy", sharing="best", rough=True)


# Slurm's own scheduler.

CONF = """ClusterName=a
SelectType=select/linear
PriorityType=priority/basic
{settings}
NodeName=n[1-12] CPUs=4 RealMemory=16 Feature=ib
NodeName=n[13-16] CPUs=4 RealMemory=16 Weight={weight}
PartitionName=low Nodes=ALL Default=YES
PartitionName=high Nodes=n[1-4] PriorityTier={tier}
"""
LINEAR, CONS = "SelectType=select/linear", "SelectType=select/cons_tres"
MEMORY = f"{CONS}\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=1"
FACTORS = "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityWeightJobSize=500\nPriorityMaxAge=1"
OFTEN = "SchedulerParameters=bf_interval=5,sched_interval=20,bf_resolution=1,batch_sched_delay=1"
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "backfill": ("", {}),
    "builtin": ("SchedulerType=sched/builtin", {}),
    "often": (OFTEN, {"completing": 2}),
    "alone": ("SchedulerParameters=sched_interval=-1,bf_interval=10", {"phase": 3}),
    "short window": (f"{OFTEN},bf_window=2,bf_max_job_test=20,bf_max_job_user=2", {}),
    "few tests": (f"{OFTEN},default_queue_depth=2,partition_job_depth=3,bf_max_job_start=2", {"epoch": 17}),
    "timed": (f"{OFTEN},bf_max_time=2", {"passes": "timed", "rate": 20}),
    "cons_tres": (f"{CONS}\n{OFTEN},bf_window_linear=30", {}),
    "factors": (f"{FACTORS}\n{OFTEN}", {}),
    "small first": (f"{FACTORS}\nPriorityFavorSmall=YES\n{OFTEN}", {"aged": {3: 4000.0}}),
    "late ends": (f"OverTimeLimit=1\nKillWait=20\n{OFTEN}", {}),
    "ensemble": (OFTEN, {"ensemble": 4}),
}
SHARED_SETTINGS = {
    "backfill": f"{MEMORY}\n{OFTEN}",
    "builtin": f"{MEMORY}\nSchedulerType=sched/builtin",
    "factors": f"{MEMORY}\n{FACTORS}\n{OFTEN}",
}


@cache
def for_slurm(feature: str) -> Problem:
    """Return jobs on a cluster that has as many nodes as the conf, with a feature."""
    return FEATURES[feature](one_cluster(12, 4, seed=8))


def on_slurm(problem: Problem, settings: str, words: dict[str, Any], **options: Any) -> str:
    """Return what Slurm's own scheduler makes of a problem."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "slurm.conf"
        weight, tier = drawn(settings, 1, 5), drawn(f"{settings} tier", 1, 3)
        path.write_text(CONF.format(settings=settings, weight=weight, tier=tier), encoding="utf-8")
        policy = Slurm(path, **words)
        schedule = fs.simulate(problem.workload, problem.machine, policy, **{**problem.options, **options})
        runs = getattr(schedule, "runs", ())
        starts = [digest(*(run.start for run in runs))] if len(runs) > 1 else []
        return " ".join([of_schedule(schedule, rough=True), *starts])


def slurm() -> Cases:
    """Give the plain problem under each conf, each feature under some of them, on whole nodes and on shared ones."""
    for name in SETTINGS:
        yield f"nothing: {name}", partial(_on_whole_nodes, "nothing", name)
        yield f"partitions of the conf: {name}", partial(_in_partitions, *SETTINGS[name])
    for feature in FEATURES:
        for name in {drawn(f"{feature} conf {k}", *list(SETTINGS)[:11]): None for k in range(4)}:
            if feature != "nothing":
                yield f"{feature}: {name}", partial(_on_whole_nodes, feature, name)
        for name, settings in SHARED_SETTINGS.items():
            yield f"{feature}: {name}, shared nodes", partial(_shared_on_slurm, feature, settings)


def _on_whole_nodes(feature: str, name: str) -> str:
    return on_slurm(for_slurm(feature), *SETTINGS[name])


def _shared_on_slurm(feature: str, settings: str) -> str:
    some_run = feature == "running jobs"
    problem = for_slurm("nothing" if some_run else feature).groups(resources={"cpu": 4, "memory": 16})
    demand = {"cpu": problem.drawn("cpu", 1, 1, 2), "memory": problem.drawn("memory", 1, 2, 8)}
    problem = problem.jobs(demand=demand)
    return on_slurm(begun(problem, "block") if some_run else problem, settings, {}, sharing="block")


def _in_partitions(settings: str, words: dict[str, Any]) -> str:
    problem = for_slurm("nothing")
    asked = problem.only(problem.small, problem.drawn("conf", "high", "low", ""), "low")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "slurm.conf"
        path.write_text(CONF.format(settings=settings, weight=2, tier=4), encoding="utf-8")
        machine = fs.read_federation(path)
    return on_slurm(replace(problem, machine=machine).labelled(partition=asked), settings, words)


# Searches.

AIMS = ("makespan", "flow", "energy", "mean_wait")
MORE_AIMS = ("bounded_slowdown", "weighted_response", "max_wait", "utilisation")
FRONTS = (("makespan", "energy"), ("flow", "energy", "makespan"))
THOROUGH = ("memetic", "ga", "moga")
KINDS = ("nothing", "maintenance", "pools", "after", "rough numbers", "prices")
BASELINES = ("fcfs", "easy")
UNSOLVED = 52  # jobs: of more than 50 bounds ask no solver that may be installed or not


@cache
def to_plan(feature: str = "nothing", *, jobs: int = UNSOLVED) -> Problem:
    """Return a package of jobs, with a feature."""
    problem = plain(seed=9, jobs=jobs)
    return FEATURES[feature](problem.jobs(tasks=[min(tasks, 8) for tasks in problem.workload.tasks.tolist()]))


@cache
def _one_cluster_to_plan() -> Problem:
    return one_cluster(jobs=UNSOLVED)


def searched(problem: Callable[[], Problem], *, evaluations: int = 400, seed: int = 3, **options: Any) -> str:
    """Return the value of a search."""
    given = problem()
    asked = {"baselines": BASELINES, "progress": False, **given.options, **options}
    result = fs.optimize(given.workload, given.machine, evaluations=evaluations, seed=seed, **asked)
    return of_result(result)


def methods() -> Cases:
    """Give every method for every objective, on jobs that wait and on jobs that come."""
    for method, aim in product(METHODS, (None, *AIMS, *FRONTS)):
        name = f"{method}, {aim if isinstance(aim, str) else 'its own' if aim is None else ' and '.join(aim)}"
        yield name, partial(searched, to_plan, method=method, objectives=aim)
    for method, aim in product(THOROUGH, (*MORE_AIMS, ("makespan", "mean_wait"))):
        name = f"{method}, {aim if isinstance(aim, str) else ' and '.join(aim)}"
        yield name, partial(searched, to_plan, method=method, objectives=aim, evaluations=300)
    for method in THOROUGH:
        yield f"{method}, by chance", partial(searched, to_plan, method=method, seeds="random", evaluations=300)
        yield f"{method}, estimates", partial(searched, to_plan, method=method, knowledge="estimate", evaluations=300)
    for method in METHODS:
        yield f"{method}, as submitted", partial(searched, to_plan, method=method, submits="keep", evaluations=300)
        yield f"{method}, one cluster", partial(searched, _one_cluster_to_plan, method=method, evaluations=300)
        yield f"{method}, islands", partial(searched, to_plan, method=method, islands=3, evaluations=600)
        yield f"{method}, in packages", partial(
            searched, to_plan, method=method, objectives="makespan", package=20, submits="keep", evaluations=150
        )  # fmt: skip
    for method, objectives in (("ga", "makespan"), ("ga-mf", None)):
        yield f"{method}, assignments", partial(searched, to_plan, method=method, encoding="assignment")
        yield f"{method}, weighed", partial(searched, to_plan, method=method, objectives=("makespan", "flow"),
                                            weights=(1.0, 3.0))  # fmt: skip
        yield f"{method}, until a target", partial(searched, to_plan, method=method, objectives=objectives, target=1e9)
    for seed in (11, 12, 13):
        yield f"memetic, seed {seed}", partial(searched, partial(to_plan, jobs=60), seed=seed, evaluations=1500)
        yield f"memetic, mean wait, seed {seed}", partial(
            searched, partial(to_plan, jobs=60), seed=seed, objectives="mean_wait", submits="keep", evaluations=1500
        )  # fmt: skip
    yield "memetic, two threads", partial(searched, to_plan, threads=2)
    yield "moga, two threads", partial(searched, to_plan, method="moga", threads=2)
    yield "memetic, the usual baselines", partial(searched, to_plan, baselines=None)


def searches_with_features() -> Cases:
    """Give a search of each feature: by compiled walks, by plans that the engine runs, or by both."""
    for feature in FEATURES:
        if feature == "node caps":
            continue  # searches have no such option
        submits = "keep" if feature == "running jobs" else drawn(f"{feature} submits", "now", "keep")
        both = (("memetic", None), ("ga", "mean_wait"))
        for method, aim in both if feature in KINDS else drawn(f"{feature} methods", both[:1], both[1:]):
            yield f"{feature}: {method}, {submits}", partial(
                searched, partial(to_plan, feature), method=method, objectives=aim, submits=submits, evaluations=200
            )  # fmt: skip
    for method in ("memetic", "ga", "moga", "sa", "hc", "random"):
        for feature in ("alternatives", "gears to choose from"):
            yield f"{feature}, free: {method}", partial(
                searched, partial(to_plan, feature), method=method, alternatives="free", evaluations=300
            )  # fmt: skip
    yield "shifted for cost: ga", partial(_shifted, "ga")
    for method in ("ga", "moga"):
        for feature in ("nothing", "maintenance", "pools", "after"):
            yield f"{feature}, shared nodes: {method}", partial(
                searched, partial(on_shared_small, feature), method=method, sharing="first", submits="keep",
                evaluations=100, baselines=("fcfs",),
            )  # fmt: skip
    for feature in ("known late", "after", "outage that requeues"):
        yield f"{feature}, in packages: memetic", partial(
            searched, partial(to_plan, feature), objectives="makespan", package=20, submits="keep", evaluations=150
        )  # fmt: skip


def on_shared_small(feature: str) -> Problem:
    """Return some of the jobs that demand parts of nodes."""
    return on_shared(feature).rows(list(range(25))) if feature != "after" else on_shared(feature)


def _shifted(method: str) -> str:
    problem = to_plan("prices").jobs(slack=600.0)
    return searched(lambda: problem, method=method, objectives="cost", submits="keep", evaluations=200)


def rolling() -> Cases:
    """Give plans that are made anew while jobs come, by method, objective and feature."""
    for method in METHODS:
        yield method, partial(_rolling, "nothing", method=method, evaluations=40)
    for objective, every, window in product(("bounded_slowdown", "mean_wait", "makespan"), ("change", 50.0), (5, 100)):
        yield f"{objective}, {every}, {window}", partial(
            _rolling, "nothing", objective=objective, every=every, window=window, evaluations=60
        )  # fmt: skip
    for feature in FEATURES:
        method = drawn(f"{feature} rolling", "memetic", "ga")
        yield f"{feature}: {method}", partial(_rolling, feature, method=method, evaluations=20)
    for feature in ("nothing", "maintenance", "pools"):
        yield f"{feature}: shared nodes", partial(_rolling_on_shared, feature)


def _rolling(feature: str, **words: Any) -> str:
    return simulated(partial(to_plan, feature, jobs=40), fs.Rolling(seed=5, **words), rough=True)


def _rolling_on_shared(feature: str) -> str:
    policy = fs.Rolling(method="ga", evaluations=20, objective="mean_wait")
    return simulated(partial(on_shared_small, feature), policy, sharing="first", rough=True)


# Comparisons and bounds.


def compared() -> Cases:
    """Give the fronts of comparisons."""
    instances = [
        fs.Instance("package", to_plan().workload, to_plan().machine, ("makespan", "energy")),
        fs.Instance("coming", to_plan().workload, to_plan().machine, ("mean_wait",), submits="keep"),
    ]
    entrants = ("fcfs", "easy", "sjf-easy", "min-min", "ga", "memetic", "moga")
    for instance, method in product(instances, entrants):
        yield f"{instance.name}, {method}", partial(_compared, instance, method)


def _compared(instance: fs.Instance, method: str) -> str:
    found = fs.compare([instance], [method], [1, 2], fs.Budget(evaluations=200), baselines=BASELINES)
    parts: list[Any] = []
    for one in (found.records * 2)[:2]:  # a policy's one run stands for both seeds
        if one.error:
            return f"refused: {one.error.partition(':')[0]}"
        parts += [[list(row) for row in one.front], one.evaluations]
    return digest(*parts)


BOUNDED = ("makespan", "energy", "flow", "busy_energy", "coallocated", "mean_wait", "weighted_response",
           "bounded_slowdown", "max_wait", "cost", "carbon")  # fmt: skip


def bounds() -> Cases:
    """Give lower bounds as numbers of 12 digits: libraries that solve them round by the processor."""
    for feature in FEATURES:
        if feature == "running jobs" or (feature not in KINDS and drawn(f"{feature} bounds", True, False)):
            continue  # so few jobs are left that a solver is asked, if it is installed
        yield f"{feature}: auto", partial(_bounds, feature, "auto", BOUNDED[:2])
    for feature, method in (("nothing", "lp"), ("nothing", "lagrangian"), ("nothing", "closed"), ("prices", "lp")):
        yield f"{feature}: {method}", partial(_bounds, feature, method, BOUNDED)


def _bounds(feature: str, method: str, metrics: tuple[str, ...]) -> str:
    problem = to_plan(feature)
    options = {name: word for name, word in problem.options.items() if name in OF_BOUNDS}
    found = fs.bounds.lower_bounds(problem.workload, problem.machine, method=method, **options)
    return " ".join(f"{name}={found.of(name):.12g}" for name in metrics)


OF_BOUNDS = ("t0", "knowledge", "kill_at_estimate", "alternatives", "caps")


# Gangs and markets.


@cache
def gangs() -> fs.Workload:
    """Return gangs and local jobs of two sites."""
    problem = plain(seed=10, jobs=150)
    origin = [-1 if tasks > 1 else home for tasks, home in
              zip(problem.workload.tasks.tolist(), problem.drawn("home", 0, 1, -1), strict=True)]  # fmt: skip
    work = problem.workload
    return replace(work, origin=origin, sites=("a", "b"), submit=work.submit * 0.5, compute_fraction=1.0)


CLOCKS = tuple((1000.0, 2000.0, 4000.0)[k % 3] for k in range(24))
MULTI = {"processors": (12, 12), "grid": "multi_site"}
BY_LOAD = {"processors": (10, 14), "grid": "load"}


def gang_systems() -> Cases:
    """Give gang systems: each rule beside the others' usual ones, with and without migration and preemption."""
    for approach, routing, threshold in product((1, 2, 3), ("shortest_waiting", "idle_first", "fastest"), (0.0, 64.0)):
        name = f"approach {approach}, {routing}, {threshold:g}"
        yield name, partial(_gang, **MULTI, approach=approach, routing=routing, threshold=threshold, overhead=0.125)
    for discipline, dispatch in product(("fcfs", "afcfs", "ljfs", "lxf", "sxf"),
                                        ("least_remaining", "olb", "jsq", "ald", "jseq")):  # fmt: skip
        yield f"{discipline}, {dispatch}", partial(_gang, **BY_LOAD, discipline=discipline, dispatch=dispatch)
    moves = product(("fcfs", "afcfs", "ljfs", "lxf", "sxf"), ("hold", "skip"), (False, True), (False, True))
    for discipline, claim, local, external in moves:
        words = {"discipline": discipline, "claim": claim, "local_migration": local, "external_migration": external}
        name = f"{discipline}, {claim}{', local' * local}{', external' * external} migration"
        words |= {"routing": "fastest", "local_site": "any", "dispatch": "jseq", "clocks": CLOCKS}
        yield name, partial(_gang, **BY_LOAD, **words)
    for preempts, preempted, aging in product(("never", "site", "system"), ("restart", "resume"), (0, 3)):
        words = {"preempts": preempts, "preempted": preempted, "aging": aging}
        yield f"{preempts}, {preempted}, aging {aging}", partial(
            _gang, **BY_LOAD, **words, routing="dispatch", dispatch="jsq", discipline="afcfs", order="head",
            local_migration=True, external_migration=True,
        )  # fmt: skip
    yield "at random", partial(_gang, processors=(10, 14), grid="random", local_site="random")
    yield "with latency", partial(_gang, **BY_LOAD, latency=2.0, megabytes=64.0, bandwidth=16.0)


def _gang(**words: Any) -> str:
    schedule = gang.simulate(gangs(), gang.GangSystem(**words), seed=4)
    segments = [schedule.segment_job, schedule.segment_start, schedule.segment_end, schedule.segment_first]
    counts = [schedule.preemptions, schedule.migrations, schedule.backfilled, schedule.local_migrations]
    moved = [schedule.external_migrations, schedule.moved_tasks, schedule.rejected, schedule.end]
    events = [schedule.event_time, schedule.event_job, schedule.event_ends, schedule.idle, schedule.waiting]
    first = digest(schedule.finish, *segments)
    return f"{first} {digest(schedule.segment_processor, *counts, *moved, *events, schedule.lost)}"


@cache
def for_sale() -> tuple[tuple[market.Request, ...], market.Environment]:
    """Return requests, and nodes with free slots."""
    random = Random("market")

    def one(*among: Any) -> Any:
        return among[int(random.random() * len(among))]

    nodes, rows = 16, []
    for node in range(nodes):
        time = 4.0 * int(random.random() * 10)
        while time < 600.0:
            length = 8.0 * (1 + int(random.random() * 20))
            rows.append((node, time, min(time + length, 640.0)))
            time += length + 4.0 * (1 + int(random.random() * 12))
    node, start, end = zip(*rows, strict=True)
    environment = market.Environment(
        slots=market.Slots(node, start, end),
        performance=[one(1.0, 2.0, 4.0, 8.0) for _ in range(nodes)],
        price=[one(1.0, 1.5, 2.25, 4.0, 6.5) for _ in range(nodes)],
        watts=[one(64.0, 128.0, 192.0) for _ in range(nodes)],
        interval=(0.0, 640.0),
    )
    requests = tuple(
        market.Request(
            nodes=one(1, 2, 2, 3, 4), length=one(32.0, 64.0, 128.0, 256.0), budget=one(200.0, 400.0, 900.0, 3000.0),
            deadline=one(float("inf"), 400.0, 640.0), min_performance=one(0.0, 0.0, 2.0),
            criterion=one("min_start", "min_finish", "min_runtime", "min_cost", "min_cpu", "min_energy"), name=f"j{k}",
        )
        for k in range(24)
    )  # fmt: skip
    return requests, environment


def market_methods() -> Cases:
    """Give windows, cycles and flows of the market: every method, search, choice and order."""
    criteria = ("min_start", "min_finish", "min_runtime", "min_cost", "min_cpu", "min_energy")
    for criterion, window in product(criteria, ("cheapest", "random", "exact")):
        yield f"aep, {criterion}, {window}", partial(_windows, method="aep", criterion=criterion, window=window, seed=2)
    for method in ("amp", "alp"):
        yield f"{method}, all windows", partial(_windows, method=method)
    for name in market.METHODS:
        yield f"{name}, usual", partial(_cycle, name)
    for search, problem, budget in product(("aep", "amp", "alp"), ("profit", "time", "cost", "idleness"),
                                           ("mean", "profit")):  # fmt: skip
        method = market.Slicer(groups=4, search=search, problem=problem, budget=budget)
        yield f"slicer, {search}, {problem}, {budget}", partial(_cycle, method)
    for selection in ("order", "cost", "performance"):
        yield f"bsf, {selection}", partial(_cycle, market.Bsf(select=selection))
    prices = {"steady": None, "by hours": market.Hours(((100.0, 2.0), (300.0, 0.5))), "by demand": market.Demand()}
    for name, order, price in product(market.METHODS, ("oldest", "newest"), prices):
        yield f"flow, {name}, {order}, {price}", partial(_flow, name, order, prices[price])


def _windows(**words: Any) -> str:
    requests, environment = for_sale()
    parts: list[Any] = []
    for request in requests:
        for one in market.find_windows(environment, request, most=5, **words):
            parts += [[one.start, one.finish, one.runtime, one.cost, one.cpu, one.energy], list(one.nodes)]
    return digest(*parts)


def _cycle(method: Any) -> str:
    requests, environment = for_sale()
    plan = market.schedule(requests, environment, method=method, seed=1)
    share = [0.25 + 0.125 * (k % 6) for k in range(len(requests))]
    real = market.replay(plan, share=share)
    planned = digest(plan.figures, plan.nodes, plan.alternatives, plan.backfilled)
    return f"{planned} {digest(real.figures, real.nodes, real.moves)}"


def _flow(method: str, order: str, prices: Any) -> str:
    requests, environment = for_sale()
    batches = [requests[k * 6 : k * 6 + 6] for k in range(4)]
    flow = market.schedule_flow(
        batches, environment, method=method, period=128.0, horizon=256.0, order=order, patience=3, prices=prices
    )
    return digest(flow.figures, flow.nodes, flow.served, flow.gone)


# Days that a real Slurm played.


def recorded_days(kind: str) -> Cases:
    """Give what ours makes of recorded days of a kind; see golden/days.py."""
    from golden.days import KINDS

    yield from KINDS[kind]()


DAYS = ("days", "parameters", "watched", "logs", "shared logs", "sizes and packing", "sleeping", "priorities")
MIXTURES = 3
GROUPS: dict[str, Callable[[], Cases]] = {
    **{f"simulate: {feature}": partial(with_feature, feature) for feature in FEATURES},
    **{f"mixtures {part}": partial(mixtures, part) for part in range(MIXTURES)},
    "policies": policies,
    "orders": orders,
    "shared nodes": shared,
    "slurm": slurm,
    "searches: methods": methods,
    "searches: features": searches_with_features,
    "rolling": rolling,
    "compare": compared,
    "bounds": bounds,
    "gang": gang_systems,
    "market": market_methods,
    **{f"recorded: {kind}": partial(recorded_days, kind) for kind in DAYS},
}
