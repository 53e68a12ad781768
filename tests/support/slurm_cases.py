"""Random sites, jobs and parameters for Slurm's schedulers: both as our nouns and as the naive reference has them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from reference.slurm_naive import Play
from reference.slurm_naive_shared import Ask, SharedPlay
from reference.slurm_naive_site import FOREVER, Job, Site, Window, whole
from reference.slurm_naive_sizes import SizedPlay

import fedsched as fs
from fedsched.engine.arrays.structs import RunningJobs
from fedsched.engine.shared_nodes.arrays import Held
from fedsched.engine.sharing.naming import with_names
from fedsched.slurm import Clocks
from fedsched.slurm.priority.associations import Association, Associations, Qos

if TYPE_CHECKING:
    from pathlib import Path


MEMORY = 1000  # MB of each node


class Case(NamedTuple):
    workload: fs.Workload
    policy: object
    machine: fs.Federation
    play: Play
    t0: float | None = None
    running: RunningJobs | None = None


def parameters(draw: random.Random) -> dict[str, int]:
    """Return some of the words of SchedulerParameters."""
    often = {
        "sched_interval": (5, 30, 60, -1),
        "batch_sched_delay": (0, 1, 3, 20),
        "default_queue_depth": (1, 2, 100),
        "bf_interval": (1, 10, 30, 45),
        "bf_resolution": (1, 30, 60, 300),
        "bf_window": (5, 20, 1440),
        "bf_window_linear": (15, 60),
        "bf_max_job_test": (1, 3, 500),
        "bf_max_job_user": (1, 2),
        "bf_max_job_part": (1, 3),
        "bf_max_job_start": (1, 2),
        "bf_max_job_array_resv": (1, 3),
        "bf_min_age_reserve": (30, 100),
        "bf_max_time": (1, 2),
        "bf_min_prio_reserve": (1, 400),
        "bf_job_part_count_reserve": (1, 2),
        "bf_max_job_assoc": (1, 2),
        "bf_max_job_user_part": (1, 2),
        "partition_job_depth": (1, 3),
        "sched_max_job_start": (1, 2),
    }
    return {name: draw.choice(values) for name, values in often.items() if draw.random() < 0.25}


def case(seed: int, folder: Path, *, sized: bool = False, shared: bool = False) -> Case:
    """Return a random site with its jobs.

    Sized, most of them ask for CPUs of nodes that have different numbers; shared, all for cores and memory of nodes
    where others may be.
    """
    draw, cores = random.Random(seed), random.Random(-76 - seed)
    nodes = draw.choice((1, 3, 5, 8, 12, 66, 130))
    backfill, cons_tres, multifactor = draw.random() < 0.85, draw.random() < 0.5, draw.random() < 0.3
    if shared:
        nodes, cons_tres = 1 + nodes % 7, True
    words = parameters(draw)
    if not backfill and words.get("sched_interval") == -1:
        del words["sched_interval"]
    if words.get("bf_min_age_reserve") and words.get("sched_interval") == -1:
        del words["bf_min_age_reserve"]
    if words.get("bf_min_prio_reserve") and not multifactor:
        del words["bf_min_prio_reserve"]  # priorities are the order of the jobs then, and high
    if words.get("sched_interval") == -1:
        for name in ("bf_job_part_count_reserve", "bf_min_prio_reserve"):
            words.pop(name, None)
        words.pop("bf_window", None)
        words.pop("bf_max_job_test", None)
    members, tiers = [frozenset(range(nodes))], [1]
    for _ in range(draw.choice((0, 0, 1, 2))):
        first = draw.randrange(nodes)
        members.append(frozenset(range(first, draw.randrange(first, nodes) + 1)))
        tiers.append(draw.choice((1, 1, 2, 5)))
    weights = [draw.choice((1, 1, 2)) if draw.random() < 0.5 else 1] * nodes
    split = draw.randrange(nodes + 1)
    weights[split:] = [draw.choice((1, 3))] * (nodes - split)
    age, size, max_age, period = (
        draw.choice((0, 1000)),
        draw.choice((0, 500)),
        draw.choice((5, 20)),
        draw.choice((1, 2)),
    )
    over, kill = draw.choice((0, 2)), draw.choice((0, 30))
    limited = draw.random() < 0.4
    cpus = [cores.choice((1, 2, 4)) if sized else cores.choice((2, 4)) if shared else 1 for _ in range(nodes)]
    limited, multifactor = limited and not sized, multifactor and not sized
    stops = draw.random() < 0.15
    of_partitions = [draw.choice(("", "", "q1")) if limited else "" for _ in members]
    told_words = [*(f"{name}={value}" for name, value in words.items()), *(["assoc_limit_stop"] if stops else [])]
    lines = [
        "ClusterName=c", f"AccountingStorageEnforce={'associations,limits' if limited else ''}",
        f"SchedulerType=sched/{'backfill' if backfill else 'builtin'}",
        f"SchedulerParameters={','.join(told_words)}",
        f"SelectType=select/{'cons_tres' if cons_tres else 'linear'}", f"KillWait={kill}", f"OverTimeLimit={over}",
        f"PriorityType=priority/{'multifactor' if multifactor else 'basic'}", f"PriorityWeightAge={age}",
        f"PriorityWeightJobSize={size}", f"PriorityMaxAge={max_age}", f"PriorityCalcPeriod={period}",
        *(["SelectTypeParameters=CR_Core_Memory", "DefMemPerCPU=100"] if shared else []),
        *(f"NodeName=n{k + 1} CPUs={cpus[k]} RealMemory={MEMORY} Weight={weight}" for k, weight in enumerate(weights)),
        *(f"PartitionName=p{p} Nodes={','.join(f'n{k + 1}' for k in sorted(mine))} PriorityTier={tier} "
          f"QOS={of_partitions[p] or 'N/A'} Default={'NO' if p else 'YES'}"
          for p, (mine, tier) in enumerate(zip(members, tiers, strict=True))),
    ]  # fmt: skip
    apart, alone_in = random.Random(-54 - seed), set[int]()
    if shared and not limited and apart.random() < 0.3:  # each job of these partitions has its nodes to itself
        alone_in = {p for p in range(len(members)) if apart.random() < 0.6}
        lines = [f"{line} OverSubscribe=EXCLUSIVE" if line.startswith(tuple(f"PartitionName=p{p} " for p in alone_in))
                 else line for line in lines]  # fmt: skip
    path = folder / f"slurm-{seed}.conf"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    jobs = draw.choice((1, 8, 15, 30))
    partition = [draw.randrange(len(members)) for _ in range(jobs)]
    most = draw.choice((max(1, nodes // 2), nodes, nodes))
    tasks = [draw.randint(1, min(most, len(members[p]))) for p in partition]
    limit = [60 * draw.choice((1, 1, 2, 5, 9)) for _ in range(jobs)]
    runtime = [draw.choice((0.5, 1.0, draw.uniform(0.01, 1.1) * one, float(one))) for one in limit]
    origin = draw.choice((0.0, 1000.0, 77.5))
    submit = [origin + draw.choice((0, draw.randrange(60), draw.randrange(400) + 0.25)) for _ in range(jobs)]
    begin = [one + draw.choice((0, 0, 35.5)) for one in submit] if draw.random() < 0.3 else None
    users = [draw.randrange(3) for _ in range(jobs)]
    account = [draw.choice(("a", "b")) if limited else "" for _ in range(jobs)]
    qos = [draw.choice(("q0", "q1", "normal")) if limited else "" for _ in range(jobs)]
    beside = random.Random(-73 - seed)  # of its own, so that all else is that of the seed
    some_held, some_nice = beside.random() < 0.3, beside.random() < 0.3
    held = [holds_of(beside, one) if some_held else [] for one in submit]
    nice = [beside.choice((0, 0, 30, 100, -50)) if some_nice else 0 for _ in submit]
    older = random.Random(-18 - seed)
    some_aged = older.random() < 0.3
    aged = [older.choice((0.0, 0.0, 7.5, 300.0)) if some_aged else 0.0 for _ in submit]
    tied = ties(draw, jobs, nodes, int(np.floor(min(submit))), blind=words.get("sched_interval") == -1)
    for k, first in tied.first_task.items():  # the tasks of an array ask for the same
        columns = [submit, tasks, limit, users, partition, account, qos, held, nice, aged, *([begin] if begin else [])]
        for column in columns:
            column[k] = column[first]
        runtime[k] = min(runtime[k], 1.1 * limit[k])
    clear = [draw.choice((0, 2, 4)) for _ in range(jobs)] if draw.random() < 0.5 else [draw.choice((0, 3))] * jobs
    base = int(np.floor(min(submit)))
    later, t0 = random.Random(-45 - seed), None
    if later.random() < 0.3:
        t0 = base + later.choice((-40.0, 0.5, 35.0, 100.25, 300.0))
    zero = base if t0 is None else int(np.ceil(t0))
    given = None
    if backfill and draw.random() < 0.2 and words.get("sched_interval") != -1:
        given = sorted(draw.randrange(600) + draw.random() for _ in range(20))
    turns: list[list[int]] = []
    broke_off: list[int | None] = []
    if given is not None and beside.random() < 0.5:
        turns = [sorted(beside.randrange(9) for _ in range(beside.choice((0, 0, 1, 2)))) for _ in given]
    if given is not None and beside.random() < 0.3:
        broke_off = [beside.choice((None, 0, 1, 3)) for _ in given]
    full = sorted(beside.randrange(900) for _ in range(9)) if beside.random() < 0.2 else []
    epoch, phase, rate = draw.choice((0, 1_700_000_017)), draw.choice((0, 7)), draw.choice((0, 0, 1, 5))
    first_tick = draw.choice((-50, 0, 20))
    people = accounts(draw, max(tasks), nodes, shared=shared) if limited else None
    policy = fs.policies.Slurm(
        path,
        clocks=Clocks(
            epoch=epoch,
            passes=None if given is None else tuple(one + base for one in given),
            ticks=base + first_tick,
            turns=tuple(map(tuple, turns)) or None,
            broke_off=tuple(broke_off) or None,
            full=tuple(one + base for one in full) or None,
        ),
        passes="timed" if rate else "instant",
        rate=rate or 1,
        completing=dict(enumerate(clear, start=1)),
        phase=phase,
        aged=dict(enumerate(aged, start=1)) if some_aged else None,
        assoc=None if people is None else people.ours,
    )
    cancel = [-1.0 if one is None else max(one, submit[k]) for k, one in enumerate(tied.cancel)]
    order = sorted(range(jobs), key=lambda k: (submit[k], k))
    for k in range(jobs):  # nobody waits for a task of its own array, nor for one that might wait for it
        place = order.index(k)
        tied.after[k] = [(kind, j, lag) for kind, j, lag in tied.after[k] if order.index(j) < place]
    for k, first in tied.first_task.items():
        tied.after[k] = tied.after[first]
    follow = random.Random(-46 - seed)
    preceding, think = [-1] * jobs, [-1.0] * jobs
    if follow.random() < 0.3:
        for k in order[1:]:
            if follow.random() < 0.4 and (j := tied.first_task.get(k, k)) == k:
                preceding[k] = 1 + follow.choice(order[: order.index(k)])
                think[k] = follow.choice((0.0, 0.5, 30.0, 200.25))
        for k, first in tied.first_task.items():
            preceding[k], think[k] = preceding[first], think[first]
    words_of = [",".join(f"{kind}:{j + 1}+{lag}s" for kind, j, lag in one) for one in tied.after]
    kept = {one.name: one for one in tied.calendar if one.kind == "reservation"}
    inside = [tied.inside[k] for k in range(jobs)]
    sizes = {"c": nodes}
    for k in range(jobs):
        mine = members[partition[k]]
        if inside[k]:
            there = frozenset(np.flatnonzero(kept[inside[k]].members(sizes)).tolist())
            inside[k] = inside[k] if len(mine & there) >= tasks[k] else ""
    for k, first in tied.first_task.items():
        inside[k] = inside[first]
    licences = random.Random(-49 - seed)
    pools: list[fs.Pool] = []
    needs: dict[str, list[int]] = {}
    if licences.random() < 0.3:
        pools = [fs.Pool("a", licences.choice((1, 2, 4))), fs.Pool("b", 1)]
        for pool in pools:
            needs[pool.name] = [licences.choice((0, 0, licences.randint(1, pool.amount))) for _ in submit]
            for k, first in tied.first_task.items():
                needs[pool.name][k] = needs[pool.name][first]
    workload = fs.Workload(
        submit=submit, tasks=tasks, runtime=runtime, estimate=limit, user=users, begin=begin, nice=nice,
        held={k: one for k, one in enumerate(held, start=1) if one} or None,
        after=words_of if any(words_of) else None, cancel_at=cancel if max(cancel) >= 0 else None,
        pools=needs or None,
        feedback={"preceding": preceding, "think_time": think} if max(preceding) > 0 else None,
        labels={"partition": [f"p{p}" for p in partition], "account": account, "qos": qos, "array": tied.array,
                "reservation": inside},
        log={"status": tied.status},
    )  # fmt: skip
    told = {name: value for name, value in words.items() if name != "bf_window"}
    told.setdefault("bf_max_time", max(1, words.get("bf_interval", 30)))
    taken = random.Random(-48 - seed)
    if taken.random() < 0.6:  # all nodes are named, so it is one which victims are asked for
        for w, one in enumerate(tied.calendar):
            becomes = taken.choice(("wait", "requeue", "requeue", "kill"))
            if becomes != "wait" and one.kind in ("outage", "drain") and taken.random() < 0.7:  # early, on many nodes
                early = base + taken.choice((4, 30.5, 61, 100))
                one = replace(one, begin=early, end=early + one.end - one.begin, known_from=None, end_known=None,
                              nodes=taken.choice((one.nodes, "all")))  # fmt: skip
            victims = taken.choice(("latest", "random", "recorded")) if becomes != "wait" else "latest"
            tied.calendar[w] = replace(one, on_running=becomes, victims=victims)
    some = random.Random(-50 - seed)
    machine = replace(fs.read_federation(path), calendar=tuple(tied.calendar))
    if some.random() < 0.4:
        for w, one in enumerate(tied.calendar):
            there = [n for n in range(nodes) if one.members(sizes)[n]]
            if one.kind != "reservation" and one.victims == "latest" and some.random() < 0.7:
                tied.calendar[w] = replace(one, nodes=f"{some.randint(1, len(there))} of {one.nodes}")
        machine = replace(machine, calendar=tuple(tied.calendar))
    named = which_nodes(machine)
    windows = [window_of(one, zero, sizes, list(kept)) for one in named]
    if given is not None:  # passes before t0 are none
        there = [k for k, one in enumerate(given) if int(one) + base >= zero]
        given = [int(given[k]) + base - zero for k in there]
        turns, broke_off = [turns[k] for k in there if turns], [broke_off[k] for k in there if broke_off]
    amounts = {name: int(name.partition("%")[2]) for name in dict.fromkeys(tied.array) if "%" in name}
    site = Site(
        nodes=nodes, partitions=members, tiers=tiers, weights=weights, backfill=backfill, cons_tres=cons_tres,
        overdue=kill + 60 * over, epoch=epoch + zero, phase=phase, rate=rate, given=given, turns=turns,
        broke_off=broke_off, full=[one + base - zero for one in full], from_zero=t0 is not None, zero=zero,
        t0=min(submit) if t0 is None else t0,
        age=age, size=size, max_age=60 * max_age, period=60 * period if multifactor else 0,
        first_tick=first_tick + base - zero, bf_window=60 * words.get("bf_window", 1440), windows=windows,
        limits=[*amounts.values(), *(pool.amount for pool in pools)],
        array_limits={name: c for c, name in enumerate(amounts)},
        fifo=not backfill and not multifactor and len(set(tiers)) == 1,
        limits_stop=stops, of_partitions=of_partitions, **({} if people is None else people.naive),
        lines=[frozenset((n,)) for n in sorted(range(nodes), key=lambda n: (weights[n], n))], **told,
    )  # fmt: skip
    wanted = [0] * jobs  # CPUs, of those who do not ask for nodes
    if sized:
        for k in range(jobs):
            j = tied.first_task.get(k, k)
            there = sum(cpus[n] for n in members[partition[j]])
            wanted[k] = wanted[j] if j < k else cores.choice((0, cores.randint(1, tasks[j] * 4)))
            wanted[k] *= wanted[k] <= there and not inside[j] and len({cpus[n] for n in members[partition[j]]}) > 1
        asked = [one or tasks[k] for k, one in enumerate(wanted)]
        workload = replace(workload, tasks=asked, layout={"exclusive": [int(one > 0) for one in wanted]})
    asks: list[Ask] = []
    if shared:
        for k in range(jobs):
            j = tied.first_task.get(k, k)
            asks.append(asks[j] if j < k else ask_of(cores, tasks[j], alone=not limited))
        workload = replace(
            workload,
            demand={"cpu": [one.cores for one in asks], "memory": [one.memory * (one.memory != 100 * one.cores)
                                                                   for one in asks]},
            layout={"tasks_per_node": [one.together for one in asks], "exclusive": [int(one.alone) for one in asks],
                    "nodes": [tasks[k] // one.together if one.names else 0 for k, one in enumerate(asks)]},
        )  # fmt: skip
        asks = [replace(one, alone=one.alone or partition[k] in alone_in) for k, one in enumerate(asks)]
    from_when = [max(submit[k], begin[k]) if begin else submit[k] for k in range(jobs)]
    for k in range(jobs):
        if preceding[k] > 0:
            from_when[k] = begin[k] if begin else -FOREVER
        if inside[k]:
            from_when[k] = max(from_when[k], kept[inside[k]].begin)
    naive = [
        Job(
            submit=FOREVER if preceding[k] > 0 else whole(submit[k]) - zero,
            earliest=whole(from_when[k]) - zero, tasks=tasks[k], limit=limit[k], planned=limit[k],
            runtime=max(1, whole(runtime[k])), length=runtime[k], leaves_at=cancel[k], think=think[k],
            completing=clear[k], user=users[k],
            partition=partition[k], may=members[partition[k]], array=tied.array[k],
            account=account[k], qos=qos[k], ends={0: "badly", 5: "cancelled"}.get(tied.status[k], "well"),
            cancel=None if cancel[k] < 0 else whole(cancel[k]) - zero, nice=nice[k], aged=aged[k],
            held=tuple((int(begin // 1) - zero, whole(end) - zero) for begin, end in held[k]),
            limits=({list(amounts).index(tied.array[k]): 1} if tied.array[k] in amounts else {})
            | {len(amounts) + p: need for p, pool in enumerate(pools) if (need := needs[pool.name][k])},
        )
        for k in order
    ]  # fmt: skip
    for place, k in enumerate(order):
        naive[place].follows = None if preceding[k] < 0 else naive[order.index(preceding[k] - 1)]
        naive[place].after = [(kind, naive[order.index(j)], lag) for kind, j, lag in tied.after[k]]
        if inside[k]:
            naive[place].reservation = list(kept).index(inside[k])
            naive[place].may &= frozenset(np.flatnonzero(kept[inside[k]].members(sizes)).tolist())
    machine = replace(machine, pools=tuple(pools))
    asking = {id(naive[place]): wanted[k] for place, k in enumerate(order) if wanted[k]}
    play = SizedPlay(site, naive, cpus=cpus, wanted=asking) if sized else Play(site, naive)
    if shared:
        play = SharedPlay(
            site, naive, has=[(one, MEMORY) for one in cpus], asks={id(naive[p]): asks[k] for p, k in enumerate(order)}
        )
        for place, k in enumerate(order):
            naive[place].cpus = tasks[k] * asks[k].cores
            naive[place].least = tasks[k] // asks[k].together if asks[k].names else 1
        machine = under_limits(random.Random(-55 - seed), machine, play)
    running = None
    if t0 is not None and not sized and not max(preceding) > 0:
        running_then = running_on_shared if shared else running_at
        running = running_then(random.Random(-47 - seed), t0, zero, workload, machine, play, order)
    for job in naive:
        job.begun = job.start
    return Case(workload, policy, machine, play, t0, running)


def under_limits(draw: random.Random, machine: fs.Federation, play: SharedPlay) -> fs.Federation:
    """Return the machine with limits of some users in nodes and in CPUs, which the naive reference has, too."""
    if draw.random() < 0.6:
        return machine
    found = []
    for user in draw.sample(range(3), draw.choice((1, 2, 3))):
        mine = [job for job in play.jobs if job.user == user]
        if not mine:
            continue
        if draw.random() < 0.7:
            widest = max(len(play.chosen(set(job.may), job)) for job in mine)
            play.most[user] = widest + draw.choice((0, 0, 1))
            found.append(fs.Limit("user", nodes=play.most[user], names=(str(user),)))
        if draw.random() < 0.5:
            most = max(job.cpus for job in mine) + draw.choice((0, 1, 4))
            for job in mine:
                job.limits[len(play.site.limits)] = job.cpus
            play.site.limits.append(most)
            found.append(fs.Limit("user", cpus=most, names=(str(user),)))
    return replace(machine, limits=tuple(found))


def running_at(
    draw: random.Random, t0: float, zero: int, workload: fs.Workload, machine: fs.Federation, play: Play,
    order: list[int],
) -> RunningJobs | None:
    """Let some jobs run at t0, also in the naive reference: on the lowest free nodes that are open to them."""
    free, group = set(range(machine.nodes)), machine.group_of_node.tolist()
    found: list[tuple[int, float, float, list[int]]] = []
    for place, k in enumerate(order):
        job = play.jobs[place]
        start = max(float(workload.submit[k]), t0 - draw.random() * float(workload.runtime[k]))
        counts = [0] * (max(group) + 1)
        for node in sorted(free & job.may, key=lambda _: draw.random())[: job.tasks]:
            counts[group[node]] += 1
        if draw.random() < 0.5 or sum(counts) < job.tasks or not may_run(workload, job, k, start, t0):
            continue
        found.append((k, start, start + float(workload.runtime[k]), counts))
        for g, many in enumerate(counts):
            free -= set(sorted(n for n in free if group[n] == g)[:many])
    if not found:
        return None
    found.sort(key=lambda one: one[1])
    free = set(range(machine.nodes))
    for k, start, end, counts in found:
        job = play.jobs[order.index(k)]
        shut, inside = set[int](), set(range(machine.nodes))
        for one in play.site.windows:
            if one.reservation is not None and one.reservation == job.reservation:
                inside &= one.nodes
            elif one.begin <= 0 < one.end:
                shut |= one.nodes
        nodes: set[int] = set()
        for g, many in enumerate(counts):
            there = sorted((n for n in free if group[n] == g), key=lambda n: (n in shut or n not in inside, n))
            nodes |= set(there[:many])
        free -= nodes
        job.over = end
        job.start, job.nodes, job.runtime = int(start // 1) - zero, frozenset(nodes), whole(end) - int(start // 1)
    rows = np.array([one[0] for one in found], dtype=np.int64)
    start, end = (np.array([one[c] for one in found]) for c in (1, 2))
    return RunningJobs(
        time=t0, rows=rows, start=start, finish=end, planned_end=start + workload.estimate[rows],
        tc=np.ones(rows.size), work_left=end - t0, estimate_left=end - t0, since=np.full(rows.size, t0),
        counts=np.array([one[3] for one in found], dtype=np.int64),
    )  # fmt: skip


def may_run(workload: fs.Workload, job: Job, k: int, start: float, t0: float) -> bool:
    """Return whether a job may have started then, and still runs at t0."""
    waits = job.array or job.limits or job.after or job.held or job.earliest > job.submit
    waits = waits or (job.cancel is not None and job.leaves_at <= start)
    return not waits and workload.submit[k] <= start < t0 and start + float(workload.runtime[k]) > t0


def running_on_shared(
    draw: random.Random, t0: float, zero: int, workload: fs.Workload, machine: fs.Federation, play: SharedPlay,
    order: list[int],
) -> RunningJobs | None:
    """Let some jobs run at t0, also in the naive reference: their tasks are anywhere on nodes that have room."""
    named = with_names(machine)
    numbers = list(range(machine.nodes)) if named.node_order is None else named.node_order.tolist()
    left, used, closed = {n: list(has) for n, has in enumerate(play.has)}, set[int](), set[int]()
    found: list[tuple[int, float, float, dict[int, int]]] = []
    for place, k in enumerate(order):
        job, hold = play.jobs[place], dict[int, int]()
        ask, start = play.asks[id(job)], max(float(workload.submit[k]), t0 - draw.random() * float(workload.runtime[k]))
        for node in sorted(job.may & play.site.partitions[job.partition], key=lambda _: draw.random()):
            cores, memory = left[node]
            fit = min(cores // ask.cores, memory // ask.memory)
            fit = 0 if node in closed or (ask.alone and node in used) else fit
            tasks = min(ask.together * (fit >= ask.together) if ask.together else fit, job.tasks - sum(hold.values()))
            hold |= {node: tasks} if tasks else {}
        waits = job.user in play.most or not may_run(workload, job, k, start, t0)
        if draw.random() < 0.4 or sum(hold.values()) < job.tasks or waits:
            continue
        found.append((k, start, start + float(workload.runtime[k]), hold))
        for node, tasks in hold.items():
            left[node][0] -= tasks * ask.cores
            left[node][1] -= tasks * ask.memory
        used |= {*hold}
        closed |= {*hold} if ask.alone else set()
        play.holds[id(job)], job.over = hold, start + float(workload.runtime[k])
        job.start, job.nodes = int(start // 1) - zero, frozenset(hold)
        job.runtime = whole(job.over) - int(start // 1)
    if not found:
        return None
    found.sort(key=lambda one: one[1])
    rows = np.array([one[0] for one in found], dtype=np.int64)
    start, end = (np.array([one[c] for one in found]) for c in (1, 2))
    pieces = np.array([len(one[3]) for one in found])
    nodes = [numbers.index(n) for one in found for n in one[3]]
    groups = np.repeat(np.arange(len(named.groups)), [group.count for group in named.groups])
    counts, none = np.zeros((rows.size, len(named.groups)), dtype=np.int64), np.zeros(rows.size, dtype=np.int64)
    tasks = np.array([tasks for one in found for tasks in one[3].values()])
    np.add.at(counts, (np.repeat(np.arange(rows.size), pieces), groups[nodes]), tasks)
    nobody = np.zeros(0, dtype=np.int64)
    return RunningJobs(
        time=t0, rows=rows, start=start, finish=end, planned_end=start + workload.estimate[rows],
        tc=np.ones(rows.size), work_left=end - t0, estimate_left=end - t0, since=np.full(rows.size, t0), counts=counts,
        held=Held(np.cumsum(pieces) - pieces, pieces, np.array(nodes), tasks, none, none, nobody, nobody, nobody),
    )  # fmt: skip


def ask_of(draw: random.Random, tasks: int, *, alone: bool) -> Ask:
    """Return what a task asks for, such that each fits on a node of its own."""
    cores = draw.choice((1, 1, 2))
    memory = draw.choice((100 * cores, 300, 500, 900))
    together = draw.choice((0, 0, 1, 2)) if 2 * cores <= 2 and 2 * memory <= MEMORY else draw.choice((0, 1))
    together = min(together, tasks)
    usual = memory == 100 * cores
    alone, names = alone and draw.random() < 0.1, together > 0 and tasks % together == 0 and draw.random() < 0.5
    return Ask(cores, memory, together, alone, by_node=together > 0 and not usual, names=names)


class People(NamedTuple):
    """The same accounts and QOS as our noun, and as the naive reference has them."""

    ours: Associations
    naive: dict[str, object]


def accounts(draw: random.Random, widest: int, nodes: int, *, shared: bool = False) -> People:
    """Return three users in two accounts, one of which stands in the other, and three QOS; limits here and there."""

    def some(*names: str) -> dict[str, float]:
        chosen = [name for name in names if draw.random() < 0.25]
        jobs = "jobs"
        return {one: float(draw.choice((1, 2, 4)) if jobs in one else draw.randint(widest, nodes)) for one in chosen}

    grouped = ("grpjobs", "grpnode", "grpcpu")
    of_qos = (*grouped, "pujobs", "punode", "pucpu", "pajobs", "panode")
    if shared:  # limits of nodes are refused there; of CPUs tasks may take two
        grouped, of_qos = ("grpjobs", "grpcpu"), ("grpjobs", "grpcpu", "pujobs", "pucpu", "pajobs")
        widest, nodes = 2 * widest, 3 * max(widest, nodes)
    above = {"root": "", "a": "root", "b": "a"}
    of_accounts = {name: (up, some(*grouped, "maxjobs")) for name, up in above.items()}
    of_users = {(user, name): some("maxjobs") for name in ("a", "b") for user in range(3)}
    qos = {name: some(*of_qos) for name in ("q0", "q1", "normal")}
    for one in qos.values():
        one |= {flag: 1.0 for flag in ("noreserve", "overpartqos") if draw.random() < 0.15}
    members = [Association(name, parent=k - 1, limits=ours(of_accounts[name][1])) for k, name in enumerate(above)]
    for (user, name), limits in of_users.items():
        members.append(Association(name, user=str(user), parent=list(above).index(name), limits=ours(limits)))
    flags = ("noreserve", "overpartqos")
    qualities = {name: Qos(name, flags=tuple(flag for flag in flags if flag in one), limits=ours(one))
                 for name, one in qos.items()}  # fmt: skip
    return People(
        Associations(tuple(members), qualities), {"qos": qos, "accounts": of_accounts, "users": of_users}
    )


def ours(limits: dict[str, float]) -> dict[str, object]:
    """Return limits as our nouns have them."""
    found: dict[str, object] = {}
    jobs = {"grpjobs": "grpjobs", "pujobs": "maxjobspu", "pajobs": "maxjobspa", "maxjobs": "maxjobs"}
    tables = {"grp": "grptres", "pu": "maxtrespu", "pa": "maxtrespa"}
    for name, value in limits.items():
        if name in jobs:
            found[jobs[name]] = value
        elif name.endswith(("node", "cpu")):
            kind, resource = next((k, name.removeprefix(k)) for k in tables if name.startswith(k))
            found.setdefault(tables[kind], {})[resource] = value  # type: ignore[index]
    return found


def holds_of(draw: random.Random, submit: float) -> list[tuple[float, float]]:
    """Return when a job is held, at its submit or later, once or twice or never."""
    found, time = [], submit
    for _ in range(draw.choice((0, 1, 1, 2))):
        begin = time + draw.choice((0, 0, 0.5, 10, 60, 200))
        time = begin + draw.choice((0.5, 30, 45.25, 300))
        found.append((begin, time))
        time += 1
    return found


class Ties(NamedTuple):
    """What jobs wait for beside nodes."""

    after: list[list[tuple[str, int, int]]]
    status: list[int]
    cancel: list[float | None]
    array: list[str]
    first_task: dict[int, int]
    inside: list[str]
    calendar: list[fs.Downtime]


def ties(draw: random.Random, jobs: int, nodes: int, base: int, *, blind: bool) -> Ties:
    """Return conditions, arrays, times to leave and closed nodes, each in some of the cases."""
    kinds = ("after", "afterany", "afterok", "afternotok")
    after: list[list[tuple[str, int, int]]] = [[] for _ in range(jobs)]
    status, array, first_task = [1] * jobs, [""] * jobs, {}
    cancel: list[float | None] = [None] * jobs
    if draw.random() < 0.4:
        status = [draw.choice((1, 1, 1, 0, 5)) for _ in range(jobs)]
        for k in range(jobs):
            for _ in range(draw.choice((0, 0, 1, 2))):
                if (j := draw.randrange(jobs)) != k:
                    after[k].append((draw.choice(kinds), j, draw.choice((0, 0, 0, 40))))
    if draw.random() < 0.4:
        cancel = [base + draw.randrange(900) + draw.choice((0.0, 0.5)) if draw.random() < 0.3 else None for _ in after]
    if draw.random() < 0.4 and jobs > 3:
        first = 0
        for a in range(draw.choice((1, 2))):
            first, last = first + draw.randrange(2), min(jobs, first + draw.choice((2, 4, 9)))
            for k in range(first, last):
                array[k] = f"a{a}" + draw_once(draw, array, f"a{a}")
                if k > first:
                    first_task[k] = first
            first = last
    calendar = []
    for w in range(draw.choice((0, 0, 0, 1, 3))):
        first, begin = draw.randrange(nodes), base + draw.choice((0, draw.randrange(900)))
        named = f"{first}-{draw.randrange(first, nodes)}"
        kind = draw.choice(("maintenance", "reservation", "outage", "drain"))
        end = begin + draw.randrange(1, 900)
        calendar.append(fs.Downtime(
            "c", begin, end, nodes=named, kind=kind, name=f"w{w}",
            known_from=None if kind in ("outage", "drain") or draw.random() < 0.5 else begin - draw.randrange(300),
        ))  # fmt: skip
    overlapping = [
        one for k, one in enumerate(calendar) if one.kind == "reservation"
        and any(other.kind == "reservation" for other in calendar[:k])
    ]  # fmt: skip
    calendar = [one for one in calendar if one not in overlapping]
    names = [one.name for one in calendar if one.kind == "reservation"]
    inside = [draw.choice((*names, "", "")) if names else "" for _ in range(jobs)]
    return Ties(after, status, cancel, array, first_task, inside, calendar)


def which_nodes(machine: fs.Federation) -> list[fs.Downtime]:
    """Return the downtimes with nodes by name: the last ones of the last groups, and sooner those that stay open."""
    group, sizes = machine.group_of_node.tolist(), {"c": machine.nodes}
    found = [None if one.among[0] is not None and one.kind != "reservation" else {
        n for n, inside in enumerate(one.members(sizes).tolist()) if inside} for one in machine.calendar]  # fmt: skip
    for w, one in enumerate(machine.calendar):
        if found[w] is not None:
            continue
        shut = {n for k, other in enumerate(machine.calendar) for n in found[k] or ()
                if other.begin < one.end and one.begin < other.end}  # fmt: skip
        left, mine = one.among[0], set[int]()
        assert left is not None
        members = one.members(sizes).tolist()
        for g in sorted(set(group), reverse=True):
            there = sorted((n for n in range(machine.nodes) if group[n] == g and members[n]),
                           key=lambda n: (n in shut, -n))[:left]  # fmt: skip
            left -= len(there)
            mine |= set(there)
        found[w] = mine
    return [replace(one, nodes=",".join(map(str, sorted(nodes or ()))))
            for one, nodes in zip(machine.calendar, found, strict=True)]  # fmt: skip


def draw_once(draw: random.Random, array: list[str], name: str) -> str:
    """Return the limit of an array: that which its tasks have, or a new one."""
    known = next((one for one in array if one.partition("%")[0] == name), None)
    return draw.choice(("", "%1", "%2")) if known is None else known.removeprefix(name)


def window_of(one: fs.Downtime, base: int, sizes: dict[str, int], names: list[str]) -> Window:
    """Return a downtime in whole seconds."""
    begin, end = max(0, int(one.begin // 1) - base), max(0, whole(one.end) - base)
    known = max(0, int(max(one.known_from or 0.0, base) // 1) - base)
    kept = one.kind == "reservation"
    return Window(
        frozenset(np.flatnonzero(one.members(sizes)).tolist()), begin, end, end if one.end_known else FOREVER, known,
        names.index(one.name) if kept else None, one.kind in ("outage", "drain"), one.on_running, one.begin,
    )


def differences(one: Case) -> list[str]:
    """Return how our schedule and that of the naive reference are apart, a line a job; and what verify finds."""
    shared = isinstance(one.play, SharedPlay)
    sharing = "block" if shared else None
    schedule: Any = fs.simulate(
        one.workload, one.machine, one.policy, sharing=sharing, t0=one.t0, running=one.running
    )
    one.play.run()
    base = int(np.floor(one.workload.submit.min()) if one.t0 is None else np.ceil(one.t0))
    rows = np.lexsort((one.workload.id, one.workload.submit)).tolist()
    found = schedule.violations()
    for row, job in zip(rows, one.play.jobs, strict=True):
        mine = np.flatnonzero(schedule.lost.job == row)
        runs = [(np.floor(schedule.lost.start[k]) - base, schedule.lost.end[k], schedule.lost.counts[k].tolist(),
                 bool(schedule.lost.requeued[k])) for k in mine.tolist()]  # fmt: skip
        of_node = schedule.federation.group_of_node
        groups = [[int((of_node[sorted(nodes)] == g).sum()) for g in range(len(schedule.federation.groups))]
                  for _, _, nodes, _ in job.lost]  # fmt: skip
        if shared:
            holds = one.play.held.get(id(job), [])
            groups = [[sum(tasks for n, tasks in hold.items() if of_node[n] == g)
                       for g in range(len(schedule.federation.groups))] for hold in holds]  # fmt: skip
            for k, hold in zip(mine.tolist(), holds, strict=True):
                there = schedule.lost_use.job == k
                on = zip(schedule.lost_use.node[there].tolist(), schedule.lost_use.tasks[there].tolist(), strict=True)
                assert dict(on) == hold
        lost = [(start, end, many, again) for (start, end, _, again), many in zip(job.lost, groups, strict=True)]
        if runs != lost:
            found.append(f"job {one.workload.id[row]}: lost {runs} here, {lost} by the naive reference")
        if job.killed is not None:
            job.start, job.by, job.nodes = None, schedule.started_by[row], frozenset()
        begun = np.floor(schedule.start[row]) - base  # of jobs that run at t0 that is exact
        ours = (None if np.isnan(begun) else begun, schedule.started_by[row], schedule.nodes_of(row))
        theirs = (job.start, job.by, tuple(sorted(job.nodes)))
        if shared and job.start is not None:
            assert isinstance(one.play, SharedPlay)
            mine = schedule.use.job == row
            there = dict(zip(schedule.use.node[mine].tolist(), schedule.use.tasks[mine].tolist(), strict=True))
            ours, theirs = (*ours, there), (*theirs, one.play.holds[id(job)])
        if ours != theirs:
            found.append(f"job {one.workload.id[row]}: {ours} here, {theirs} by the naive reference")
    return found
