"""Slurm's own scheduler on nodes that jobs share: start for start that of a naive reference, and what it refuses."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from reference.slurm_naive_shared import Ask, SharedPlay
from reference.slurm_naive_site import Job, Site
from support.slurm_cases import case as tied_case
from support.slurm_cases import differences
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.simulate import prepare
from fedsched.slurm.priority.associations import Association, Associations, Qos
from fedsched.slurm.result.schedule import SharedSlurmSchedule

if TYPE_CHECKING:
    from pathlib import Path

LINES = """\
ClusterName=c
SelectType=select/cons_tres
PriorityType=priority/basic
SelectTypeParameters=CR_Core_Memory
"""
TWO = "NodeName=n[1-2] CPUs=4 RealMemory=8000\nPartitionName=p Nodes=ALL Default=YES\n"


class Case(NamedTuple):
    workload: fs.Workload
    machine: fs.Federation
    policy: fs.policies.Slurm
    play: SharedPlay


def case(seed: int, folder: Path, *, gpus: bool = False) -> Case:
    """Return a random site of two kinds of nodes, and jobs on it that each fit when nobody else runs.

    With `gpus` nodes of one kind have some, and some of the jobs ask for them.
    """
    draw = random.Random(seed)
    sizes = [(draw.choice((2, 4, 8)), draw.choice((4, 8, 16)), draw.choice((1, 1, 2))) for _ in range(2)]
    counts = [draw.randrange(1, 5), draw.randrange(1, 4)]
    if gpus:  # which come first
        sizes[1] = sizes[0]
    has = [size for size, count in zip(sizes, counts, strict=True) for _ in range(count)]
    nodes, backfill = len(has), draw.random() < 0.8
    words = {"bf_resolution": draw.choice((1, 60)), "bf_interval": draw.choice((5, 30)),
             "sched_interval": draw.choice((5, 60)), "batch_sched_delay": draw.choice((0, 3))}  # fmt: skip
    usual = draw.choice((1, 2))
    path = folder / "slurm.conf"
    devices = [0, draw.choice((1, 2, 2, 4)) if gpus else 0]
    draw.shuffle(devices)
    lines = [f"NodeName=m{k}n[1-{count}] CPUs={cores} RealMemory={memory} Weight={weight}"
             + (f" Gres=gpu:{devices[k]}" if devices[k] else "")
             for k, ((cores, memory, weight), count) in enumerate(zip(sizes, counts, strict=True))]  # fmt: skip
    told = ",".join(f"{name}={value}" for name, value in words.items())
    path.write_text(
        f"{LINES}SchedulerType=sched/{'backfill' if backfill else 'builtin'}\nSchedulerParameters={told}\n"
        f"DefMemPerCPU={usual}\n{chr(10).join(lines)}\nPartitionName=p Nodes=ALL Default=YES\n",
        encoding="utf-8",
    )
    site = Site(nodes=nodes, partitions=[frozenset(range(nodes))], tiers=[1], weights=[one[2] for one in has],
                backfill=backfill, cons_tres=True, fifo=not backfill, **words)  # fmt: skip
    of_nodes = [many for many, count in zip(devices, counts, strict=True) for _ in range(count)]
    play = SharedPlay(site, [], has=[one[:2] for one in has], gpus=of_nodes)
    rows: list[tuple[int, ...]] = []
    play.completing, play.busy, play.now = set(), set(), 0
    for k in range(draw.randrange(1, 14) + 10 * gpus):
        memory = draw.choice((0, 0, 1, 2, 5))
        ask = Ask(draw.choice((1, 1, 2, 3)), memory, draw.choice((0, 0, 0, 1, 2)), draw.random() < 0.1)
        ask.gpus = draw.choice((0, 1, 2)) if gpus else 0
        tasks = draw.choice((1, 1, 2, 4, 7))
        ask.by_node = ask.together > 0 and memory > 0
        ask.together = min(ask.together, tasks)
        ask.memory = memory or usual * ask.cores
        submit, limit = draw.randrange(0, 400, 7), 60 * draw.randrange(1, 8)
        runtime = max(1, min(limit, round(limit * draw.random() * 1.2)))
        job = Job(submit=submit, earliest=submit, tasks=tasks, limit=limit, planned=limit, runtime=runtime,
                  completing=draw.choice((0, 0, 3)), user=0, partition=0, may=frozenset(range(nodes)))  # fmt: skip
        play.asks[id(job)] = ask
        may = {n for n in range(nodes) if has[n][0] >= ask.cores and has[n][1] >= ask.memory
               and play.gpus[n] >= ask.gpus}  # fmt: skip
        job.may = frozenset(may)
        if play.fits(may, job):
            play.jobs.append(job)
            rows.append((k, memory, ask.cores, ask.together, ask.alone, ask.gpus))
    order = sorted(range(len(rows)), key=lambda k: (play.jobs[k].submit, k))
    play.jobs = [play.jobs[k] for k in order]
    rows = [rows[k] for k in order]
    workload = fs.Workload(
        submit=[job.submit for job in play.jobs], tasks=[job.tasks for job in play.jobs],
        runtime=[job.runtime for job in play.jobs], estimate=[job.limit for job in play.jobs],
        demand={"cpu": [row[2] for row in rows], "memory": [row[1] for row in rows]}
        | ({"gpu": [row[5] for row in rows]} if gpus else {}),
        layout={"tasks_per_node": [row[3] for row in rows], "exclusive": [int(row[4]) for row in rows]},
    )  # fmt: skip
    completing = {int(one): job.completing for one, job in zip(workload.id, play.jobs, strict=True)}
    return Case(workload, fs.read_federation(path), fs.policies.Slurm(path, completing=completing), play)


@pytest.mark.parametrize("gpus", [False, True])
@pytest.mark.parametrize("tenth", range(10))
def test_it_is_the_naive_reference_start_for_start(tenth: int, gpus: bool, tmp_path: Path) -> None:
    """On random sites jobs start in the same second, as many tasks on the same nodes, by the same pass."""
    for seed in range(tenth, tries(300), 10):
        one = case(seed, tmp_path, gpus=gpus)
        if not one.play.jobs:
            continue
        schedule = played(one)
        first, use = one.play.site.epoch, schedule.use
        for row, job in enumerate(one.play.jobs):
            mine = use.job == row
            where = dict(zip(use.node[mine].tolist(), use.tasks[mine].tolist(), strict=True))
            ours = schedule.start[row] - first, schedule.started_by[row], where
            assert ours == (job.start, job.by, one.play.holds[id(job)]), f"seed {seed}, job {row}"


def played(one: Case) -> SharedSlurmSchedule:
    """Return what ours makes of a case, which the reference plays, too."""
    first = one.play.site.epoch = min(job.submit for job in one.play.jobs)
    for job in one.play.jobs:  # the second 0 is that of the first submission
        job.submit, job.earliest = job.submit - first, job.earliest - first
    schedule = fs.simulate(one.workload, one.machine, one.policy, sharing="block")
    assert isinstance(schedule, SharedSlurmSchedule)
    schedule.verify()
    one.play.run()
    return schedule


@pytest.mark.parametrize("tenth", range(10))
def test_what_jobs_wait_for_is_as_in_the_naive_reference(tenth: int, tmp_path: Path) -> None:
    """Conditions, holds, earliest starts, arrays, closed nodes, reservations, tiers, limits, priorities, by chance."""
    for seed in range(tenth, tries(200), 10):
        assert differences(tied_case(seed, tmp_path, shared=True)) == [], f"seed {seed}"


def on_two(folder: Path, said: str = "DefMemPerCPU=500\n", nodes: str = TWO, **columns: object) -> SharedSlurmSchedule:
    """Return what becomes of jobs on two nodes of four cores and 8000 MB."""
    path = folder / "slurm.conf"
    path.write_text(LINES + said + nodes, encoding="utf-8")
    jobs = fs.Workload(**columns)  # type: ignore[arg-type]
    schedule = fs.simulate(jobs, fs.read_federation(path), fs.policies.Slurm(path), sharing="block")
    assert isinstance(schedule, SharedSlurmSchedule)
    schedule.verify()
    return schedule


def test_memory_decides(tmp_path: Path) -> None:
    """Cores are free, but no memory: the third job waits for the first one's end; of less memory it starts at once."""
    columns = {"submit": [0, 0, 1], "tasks": [1, 1, 1], "runtime": [300, 600, 60], "estimate": [300, 600, 60]}
    for memory, start in ((3000, 300.0), (2000, 1.0 + 2.0)):
        schedule = on_two(tmp_path, **columns, demand={"memory": [6000, 6000, memory]})
        assert schedule.start.tolist()[2] == start
        assert schedule.policy.endswith("shared nodes (block)")
        assert schedule.notes == ()


def test_all_jobs_on_a_node_that_fails_lose_it(tmp_path: Path) -> None:
    """Two jobs share the node, one of them with tasks on another one too; the schedule knows what they held there."""
    path = write(tmp_path)
    machine = fs.read_federation(path)
    columns = {"submit": [0, 0, 0], "tasks": [2, 5, 1], "runtime": [600, 600, 600], "estimate": [600] * 3}
    jobs = fs.Workload(**columns)  # type: ignore[arg-type]
    for becomes, again in (("requeue", [True, True]), ("kill", [False, False])):
        fails = fs.Downtime(machine.clusters[0].name, 100.0, 200.0, nodes="0", kind="outage", on_running=becomes)
        schedule = fs.simulate(jobs, replace(machine, calendar=(fails,)), fs.policies.Slurm(path), sharing="block")
        schedule.verify(claimed=schedule.metrics())
        on = schedule.nodes_of(2)
        lost = schedule.lost
        assert (on, lost.end.tolist(), lost.requeued.tolist()) == ((1,), [100.0] * 2, again)
        used = schedule.lost_use
        assert sorted(zip(lost.job[used.job].tolist(), used.node.tolist(), used.tasks.tolist(), strict=True)) == [
            (0, 0, 2), (1, 0, 2), (1, 1, 3)
        ]  # fmt: skip
        assert lost.counts.tolist() == [[2, 0], [2, 3]]  # the node that fails is a group of its own
        assert (np.isnan(schedule.start[:2])).tolist() == [not one for one in again]


def test_limits_of_nodes_and_cpus(tmp_path: Path) -> None:
    """A job is over a limit of nodes by those that it is given; one node counts once for all of a user's jobs there."""
    path = write(tmp_path)
    machine, policy = fs.read_federation(path), fs.policies.Slurm(path)
    columns = {"submit": [0, 1, 2, 3], "tasks": [2, 1, 3, 1], "runtime": [300, 300, 60, 60], "user": [1, 1, 1, 2]}
    jobs = fs.Workload(**columns, estimate=[300, 300, 60, 60])  # type: ignore[arg-type]
    for most, late in (({"nodes": 1}, 2), ({"cpus": 3}, 2), ({"cpus": 6}, None)):
        limited = replace(machine, limits=(fs.Limit("user", **most),))
        schedule = fs.simulate(jobs, limited, policy, sharing="block")
        schedule.verify(claimed=schedule.metrics())
        assert [row for row in range(4) if schedule.start[row] >= 300.0] == ([] if late is None else [late])
    wide = fs.Workload(submit=[0], tasks=[5], runtime=[60], user=[1])
    with pytest.raises(InfeasibleError, match="5 tasks are given 2 nodes, and a limit allows fewer"):
        fs.simulate(wide, replace(machine, limits=(fs.Limit("user", nodes=1),)), policy, sharing="block")


def test_jobs_run_at_the_begin(tmp_path: Path) -> None:
    """They hold the cores, memory and GPUs that they had in the run before, also beside a node that is to close."""
    path = tmp_path / "slurm.conf"
    nodes = "NodeName=n[1-2] CPUs=4 RealMemory=8000 Gres=gpu:2\nPartitionName=p Nodes=ALL Default=YES\nGresTypes=gpu\n"
    path.write_text(f"{LINES}DefMemPerCPU=500\n{nodes}", encoding="utf-8")
    machine = fs.read_federation(path)
    jobs = fs.Workload(
        submit=[0, 0, 20, 20], tasks=[3, 3, 1, 1], runtime=[300, 100, 50, 40], estimate=[600, 600, 60, 60],
        demand={"cpu": 1, "memory": 500, "gpu": [0, 1, 2, 0]},
    )  # fmt: skip
    closes = fs.Downtime(machine.clusters[0].name, 700.0, 900.0, nodes="0")
    for calendar in ((), (closes,)):
        on = replace(machine, calendar=calendar)
        before = prepare(jobs, on, "fcfs", sharing="spread").advance(until=25)
        running = before.running()
        schedule = fs.simulate(jobs, on, fs.policies.Slurm(path), running=running, sharing="block")
        schedule.verify(claimed=schedule.metrics())
        assert (schedule.t0, schedule.started_by[:2]) == (20.0, ("", ""))
        assert schedule.start[:2].tolist() == [0.0, 0.0]
        assert schedule.finish[:2].tolist() == [300.0, 100.0]
        then = before.schedule()
        for row in range(2):
            assert schedule.nodes_of(row) == then.nodes_of(row)
            assert schedule.use.devices[schedule.use.devices[:, 0] == row].tolist() == (
                then.use.devices[then.use.devices[:, 0] == row].tolist()
            )
        assert schedule.start[2] >= 100.0  # it lacks GPUs before
        assert schedule.start[3] < 100.0
    few = jobs.take([2, 3])
    whole = prepare(few, machine, "fcfs").advance(until=25).running()
    with pytest.raises(ValueError, match="running= must be of a run with sharing="):
        fs.simulate(few, machine, fs.policies.Slurm(path), running=whole, sharing="block")
    small = fs.read_federation(write(tmp_path))
    with pytest.raises(ValueError, match="belongs to another workload or federation"):
        fs.simulate(jobs.take([0, 1]), small, fs.policies.Slurm(path), running=running, sharing="block")


def test_a_reservation_keeps_nodes_whole(tmp_path: Path) -> None:
    """Backfill starts on a reserved node only who ends before, even where both would fit beside one another."""
    columns = {"submit": [0, 1, 2, 2], "tasks": [6, 6, 1, 1], "runtime": [600, 60, 60, 60]}
    schedule = on_two(tmp_path, **columns, estimate=[600, 600, 900, 540])
    assert schedule.start.tolist() == [0.0, 600.0, 600.0, 30.0]
    assert schedule.started_by[3] == "backfill"


def test_a_node_where_somebody_completes_is_closed_to_the_main_scheduler(tmp_path: Path) -> None:
    """What its other cores are free for starts there only once it is clear."""
    path = tmp_path / "slurm.conf"
    nodes = "NodeName=n1 CPUs=4 RealMemory=8000\nPartitionName=p Nodes=ALL Default=YES\nSchedulerType=sched/builtin\n"
    path.write_text(f"{LINES}DefMemPerCPU=500\n{nodes}", encoding="utf-8")
    jobs = fs.Workload(submit=[0, 100], tasks=[1, 1], runtime=[99, 10], estimate=[120, 120])
    for seconds, start in ((0, 102.0), (20, 119.0)):
        policy = fs.policies.Slurm(path, completing=seconds)
        assert fs.simulate(jobs, fs.read_federation(path), policy, sharing="block").start[1] == start


def test_who_asks_for_no_memory_gets_the_usual(tmp_path: Path) -> None:
    """It is that of the partition, else that of the conf: of each core, or of a node for those that stand there."""
    columns = {"submit": [0], "tasks": [2], "runtime": [60], "estimate": [60], "demand": {"cpu": [2]}}
    layout = {"tasks_per_node": [2]}
    assert on_two(tmp_path, **columns).use.peaks("memory").max() == 2000
    assert on_two(tmp_path, "DefMemPerNode=3000\n", **columns, layout=layout).use.peaks("memory").max() == 3000
    nodes = TWO.replace("Default=YES", "Default=YES DefMemPerCPU=700")
    assert on_two(tmp_path, nodes=nodes, **columns).use.peaks("memory").max() == 2800
    nodes = TWO.replace("Default=YES", "Default=YES DefMemPerNode=3000")  # and then nothing of the conf's 500 a core
    assert on_two(tmp_path, nodes=nodes, **columns, layout=layout).use.peaks("memory").max() == 3000
    assert on_two(tmp_path, nodes=nodes, **columns | {"tasks": [1]}).use.peaks("memory").max() == 3000
    nodes = TWO.replace("Default=YES", "Default=YES DefMemPerNode=UNLIMITED")  # as scontrol prints what is not set
    assert on_two(tmp_path, nodes=nodes, **columns).use.peaks("memory").max() == 2000
    nodes = TWO.replace("Default=YES", "Default=YES MaxMemPerNode=2500")
    said = "DefMemPerCPU=500\nMaxMemPerCPU=400\n"
    assert on_two(tmp_path, said, nodes, **columns).use.peaks("memory").max() == 2000


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("", "there is no DefMemPerCPU"),
        ("DefMemPerNode=3000\n", "DefMemPerNode=3000 is for each of its nodes"),
        ("DefMemPerCPU=500\nMaxMemPerCPU=400\n", "its 500 MB are over MaxMemPerCPU=400"),
        ("DefMemPerCPU=500\nMaxMemPerNode=900\n", "its 1000 MB are over MaxMemPerNode=900"),
        ("DefMemPerCPU=5000\n", "fit on no nodes that it may have"),
    ],
)
def test_memory_that_cannot_be_is_refused_by_name(tmp_path: Path, said: str, words: str) -> None:
    """Whoever asks for no memory where none is usual, for more than is allowed, or than a node has, is named."""
    with pytest.raises(InfeasibleError, match=words):
        on_two(tmp_path, said, submit=[0], tasks=[2], runtime=[60], estimate=[60], demand={"cpu": [2]})


def test_what_is_not_modelled_there_is_refused_or_named(tmp_path: Path) -> None:
    """Confs that share otherwise, other choices of nodes, and what jobs have beyond it."""
    path = tmp_path / "slurm.conf"
    path.write_text(f"{LINES}DefMemPerCPU=500\n{TWO}", encoding="utf-8")
    machine, policy = fs.read_federation(path), fs.policies.Slurm(path)
    jobs = fs.Workload(submit=[0, 1], tasks=[1, 1], runtime=[60, 60], estimate=[60, 60])
    with pytest.raises(ValueError, match="give sharing='block'"):
        fs.simulate(jobs, machine, policy, sharing="first")
    accounts = Associations((Association("root"), Association("root", user="-1", parent=0)),
                            {"normal": Qos("normal", limits={"grptres": {"node": 1.0}})})  # fmt: skip
    enforcing = tmp_path / "enforcing.conf"
    enforcing.write_text(f"AccountingStorageEnforce=limits\nDefMemPerCPU=500\n{LINES}{TWO}", encoding="utf-8")
    limited = fs.policies.Slurm(enforcing, assoc=accounts)
    cpus = replace(accounts, qos={"normal": Qos("normal", limits={"grptres": {"cpu": 8.0}})})
    alone = replace(jobs, layout={"exclusive": [1, 1]})
    for one, on, by, words in (
        (jobs, machine, limited, "limits of nodes of accounts"),
        (alone, machine, fs.policies.Slurm(enforcing, assoc=cpus), "limits of CPUs of accounts on exclusive jobs"),
    ):
        with pytest.raises(InfeasibleError, match=f"Policy slurm with node sharing does not support {words}"):
            fs.simulate(one, on, by, sharing="block")
    path.write_text(LINES.replace("CR_Core_Memory", "CR_Core") + TWO, encoding="utf-8")
    with pytest.raises(FederationError, match="not with SelectTypeParameters=CR_Core; leave sharing= out"):
        fs.simulate(jobs, machine, fs.policies.Slurm(path), sharing="block")
    path.write_text(LINES.replace("Memory", "Memory,CR_LLN") + "DefMemPerCPU=500\n" + TWO, encoding="utf-8")
    schedule = fs.simulate(jobs, machine, fs.policies.Slurm(path), sharing="block")
    assert schedule.notes == (f"not modelled of {path}: SelectTypeParameters=CR_LLN",)


def test_a_machine_s_file_is_not_said_to_be_given_whole(tmp_path: Path) -> None:
    """What the federation's facts say of nodes that jobs share is so where they are given whole alone."""
    machine = fs.read_federation(write(tmp_path))
    jobs = fs.Workload(submit=[0], tasks=[1], runtime=[60], estimate=[60])
    assert "given whole here" in str(fs.simulate(jobs, machine, "fcfs"))
    assert "given whole here" not in str(fs.simulate(jobs, machine, "fcfs", sharing="first"))


def test_gpus_count_in_priorities(tmp_path: Path) -> None:
    """Of two jobs that wait for the same node the one that asks for a GPU goes first, by PriorityWeightTRES."""
    path = tmp_path / "slurm.conf"
    lines = "PriorityType=priority/multifactor\nPriorityFlags=NO_NORMAL_TRES\nDefMemPerCPU=500\nGresTypes=gpu\n"
    nodes = "NodeName=n1 CPUs=4 RealMemory=8000 Gres=gpu:1\nPartitionName=p Nodes=ALL Default=YES\n"
    for weight, first in (("GRES/gpu=30000", 2), ("Mem=0.03", 1)):
        path.write_text(f"{LINES}{lines}PriorityWeightTRES={weight}\n{nodes}", encoding="utf-8")
        jobs = fs.Workload(
            submit=[0, 1, 2], tasks=1, runtime=[300, 60, 60], estimate=[300, 60, 60], layout={"tasks_per_node": 1},
            demand={"cpu": 4, "gpu": [0, 0, 1], "memory": [0, 4000, 2000]},
        )  # fmt: skip
        start = fs.simulate(jobs, fs.read_federation(path), fs.policies.Slurm(path), sharing="block").start
        assert start[first] == 300.0
        assert start[3 - first] > 300.0


def test_a_look_at_a_job_for_gpus_lets_its_node_come_first(tmp_path: Path) -> None:
    """The wide job then plans with the last node, not with the first two, and the long one has to wait for it."""
    nodes = "NodeName=n[1-2] CPUs=4 RealMemory=8000\nNodeName=n3 CPUs=4 RealMemory=8000 Gres=gpu:2\n"
    nodes += "PartitionName=p Nodes=ALL Default=YES\nGresTypes=gpu\n"
    for gpus, late in ((0, False), (2, True)):
        schedule = on_two(
            tmp_path, nodes=nodes, submit=[0, 1, 2, 5, 10], begin=[0, 0, 0, 70, 0], tasks=[2, 1, 2, 1, 1],
            runtime=[300, 240, 600, 600, 60], estimate=[300, 240, 600, 600, 60],
            demand={"cpu": [4, 1, 4, 2, 4], "gpu": [0, 1, 0, 0, gpus]},
        )  # fmt: skip
        assert schedule.start[2] == 300.0
        assert (schedule.start[3] > 90.0) == late  # the pass after the one that looked, no main pass between them


def write(folder: Path) -> Path:
    """Return a slurm.conf of two nodes that jobs share."""
    path = folder / "slurm.conf"
    path.write_text(LINES + "DefMemPerCPU=500\n" + TWO, encoding="utf-8")
    return path


def test_an_ensemble_tells_intervals_on_shared_nodes(tmp_path: Path) -> None:
    """Its runs draw clocks; the schedule is the first of them."""
    path = tmp_path / "slurm.conf"
    path.write_text(f"{LINES}DefMemPerCPU=500\n{TWO}", encoding="utf-8")
    jobs = fs.Workload(submit=[0, 1, 2, 3], tasks=[6, 6, 1, 1], runtime=[90, 90, 50, 50], estimate=[120, 120, 60, 60])
    schedule = fs.simulate(jobs, fs.read_federation(path), fs.policies.Slurm(path, ensemble=5), sharing="block")
    assert len(schedule.runs) == 5
    least, most = schedule.interval_of(2)
    assert least <= schedule.start[2] <= most
    assert schedule.spread_of("mean_wait").most >= schedule.metrics().mean_wait
