"""Makes a synthetic dump: files as Slurm's commands print them, of an invented cluster, with troubles of real sites.

The recorded starts are those of a policy of fedsched under facts that are in the files: holds, dependencies, requeued
runs, nodes that went down, maintenance. So a replay under that policy finds every start if it takes these
facts as given.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import OutputError, unknown_name
from fedsched.core.values import seed_of, whole
from fedsched.generate.lublin import lublin
from fedsched.model.jobs.workload import Workload
from fedsched.simulate import simulate
from fedsched.site.twin import commands
from fedsched.site.twin.folder import Dump
from fedsched.site.twin.made_facts import (
    CLUSTER,
    CORES,
    EPOCH,
    SITES,
    MadeSite,
    drawn_facts,
    full_limits,
    ids_of,
    labels_of,
)
from fedsched.site.twin.made_files import clock, write_accounts, write_closed, write_jobs, write_machine, write_queue
from fedsched.site.twin.replay_problem import SLURM, policy_in
from fedsched.site.twin.site import admitting_all_jobs, machine_of
from fedsched.slurm.conf.job_factors import JobRequest
from fedsched.slurm.passes.limits_of_accounts import Part, Parts
from fedsched.slurm.priority.associations import Associations

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.site.twin.made_facts import Facts

    Column = NDArray[np.float64]

ROUNDS = 8  # simulations at most until the times that depend on other jobs' ends no longer change


def made_dump(
    folder: str | PathLike[str],
    *,
    kind: str = "plain",
    jobs: int = 2000,
    nodes: int = 64,
    load: float = 0.8,
    policy: str = "slurm",
    troubles: bool = True,
    priority: str = "multifactor",
    before: float = 0.1,
    endless: float | None = None,
    letters: int | None = None,
    others: int | None = None,
    steps: bool | None = None,
    seed: int = 0,
) -> Path:
    """Write a synthetic dump, of an invented cluster, into a new folder, and return its path.

    Parameters
    ----------
    folder
        The path of the folder, which must not exist yet.
    kind
        "plain": one queue. "cerit": many queues that share nodes, by how long jobs run. "ub": QOS, accounts and
        faculties with limits. The kind also gives `endless`, `letters`, `others` and `steps` if these are None.
    jobs, nodes, load
        The number of jobs, the number of nodes, and the load that the jobs put on these.
    policy
        The policy that makes the recorded starts: "slurm", with the dump's configuration, or another policy's name.
    troubles
        Whether there are holds, dependencies, requeues, cancellations, nodes that go down and a reservation, as far
        as the policy supports them.
    priority
        "multifactor" or "basic".
    before
        The share of the jobs that are submitted before the dump begins; the dump does not say on which nodes they ran.
    endless
        The share of the jobs without a time limit.
    letters
        The length to which states are cut, as by some sites' programs: COMPLETIN, REQUEUE_H.
    others
        The number of other clusters in the same database, with jobs of the same numbers on nodes of the same names.
    steps
        Whether the steps of each run are listed too, as by `sacct` without -X.
    seed
        The seed of all random draws.

    Examples
    --------
    >>> from fedsched.site import twin
    >>> folder = twin.made_dump("dump", jobs=40, nodes=8, policy="easy", seed=1)
    >>> sorted(path.name for path in folder.iterdir())[:3]
    ['accounts.txt', 'config.txt', 'dump.txt']
    """
    target = Path(folder)
    if target.exists():
        raise OutputError(f"Cannot write {target}: it is there already; give a new folder.")
    if kind not in SITES:
        raise unknown_name("kind of a made dump", kind, SITES)
    site = _site(SITES[kind], endless=endless, letters=letters, others=others, steps=steps)
    if site.limited and policy != SLURM:
        raise ValueError(
            f"made_dump: kind={kind!r} has limits, which policy {policy!r} does not enforce; give 'slurm'."
        )
    jobs, nodes, seed = whole("made_dump", "jobs", jobs), whole("made_dump", "nodes", nodes), seed_of("made_dump", seed)
    rng = np.random.default_rng(seed)
    work = lublin(jobs, nodes, load=load, seed=seed)
    begin, end = np.quantile(np.floor(work.submit), [before, 0.98])
    target.mkdir()
    booted, since, taken = clock(np.array([np.floor(work.submit.min()), begin, end]) + EPOCH)
    write_machine(target, site, nodes, booted, taken, priority)
    (target / commands.JOBS).touch()
    (target / commands.MANIFEST).write_text(f"fedsched dump 1\nsince {since}\n", encoding="utf-8")
    facts = drawn_facts(site, work, nodes, rng, policy, troubles=troubles)
    elsewhere = [f"{CLUSTER}{k + 2}" for k in range(site.others)]
    write_closed(target, facts.calendar, nodes, float(facts.work.submit[-1]), elsewhere)
    write_accounts(target, site, facts.user.tolist(), nodes)
    federation = admitting_all_jobs(machine_of(Dump(target)).federation)
    schedule = _simulated(target, facts, federation, policy)
    reasons = _reasons(target, facts, schedule, end)
    write_jobs(target, facts, schedule, begin, end, reasons, elsewhere)
    write_queue(target, facts, schedule, end, reasons, in_order=policy != SLURM or priority == "basic")
    return target


def _site(site: MadeSite, **given: Any) -> MadeSite:
    """Return a kind of cluster with its fields replaced by the given values that are not None."""
    return replace(site, **{name: value for name, value in given.items() if value is not None})


def _simulated(folder: Path, facts: Facts, federation: Federation, policy: str) -> Schedule:
    """Return the schedule of the jobs under a policy; set `facts.submit` and `facts.eligible` in place.

    Runs that depend on other runs, or are requeued after them, get times that follow from these runs' ends. So the
    simulation is repeated until these times no longer change, at most `ROUNDS` times.
    """
    submit = facts.work.submit.copy()
    eligible = np.maximum(submit, facts.held)
    follows = np.flatnonzero((facts.depends >= 0) | (facts.again >= 0))
    held = np.setdiff1d(np.flatnonzero(facts.held > submit), follows)
    ids = ids_of(facts)
    machine = replace(federation, calendar=facts.calendar)
    chosen = policy_in(folder, policy, zero=EPOCH)
    labels = labels_of(facts)
    for _ in range(ROUNDS if follows.size else 1):
        facts.submit, facts.eligible = submit.copy(), eligible.copy()
        workload = Workload(
            submit=submit, tasks=facts.work.tasks, runtime=facts.work.runtime, estimate=facts.limit, id=ids,
            begin=np.where(eligible > submit, eligible, 0.0), cancel_at=facts.gone,
            held={int(ids[row]): [(submit[row], eligible[row])] for row in held.tolist()}, user=facts.user,
            labels=labels, name=CLUSTER, nodes=federation.nodes,
        )  # fmt: skip
        schedule = simulate(workload, machine, chosen)
        before = (submit.copy(), eligible.copy())
        for row in follows.tolist():
            other = max(facts.depends[row], facts.again[row])
            over = schedule.finish[other]
            over = facts.gone[other] if np.isnan(over) else over
            over = float(np.ceil(over))
            if facts.again[row] >= 0:
                submit[row], eligible[row] = over, over + 121.0
            else:
                eligible[row] = max(facts.work.submit[row], over)
        if (before[0] == submit).all() and (before[1] == eligible).all():
            break
    return schedule


def _reasons(folder: Path, facts: Facts, schedule: Schedule, until: float) -> list[str]:
    """Return Slurm's reason why each run waited, or waits: a full limit, a dependency, a hold or the priority."""
    start, waits = schedule.start, schedule.start > facts.eligible
    moment = np.where(waits & (facts.eligible <= until), facts.eligible, np.nan)
    waiting = (facts.eligible <= until) & ~(start <= until)
    found = [""] * len(start)
    if facts.site.limited:
        parts = _parts_of_limits(folder, facts)
        found = full_limits(parts, start, schedule.finish, np.where(waiting, until, moment))
    return [
        reason or ("Priority" if waiting[row] else "Dependency" if facts.depends[row] >= 0
                   else "JobHeldUser" if facts.held[row] else "None")
        for row, reason in enumerate(found)
    ]  # fmt: skip


def _parts_of_limits(folder: Path, facts: Facts) -> list[list[Part]]:
    """Return, for each run, the limits of QOS and accounts that it counts towards, with how much it takes of each."""
    accounts = Associations.read(folder / commands.ACCOUNTS, folder / commands.QOS)
    parts = Parts(accounts, {one.name: one.qos for one in facts.site.queues})
    labels, nodes = labels_of(facts), facts.work.tasks.tolist()
    return [
        parts.of(
            JobRequest(**{name: texts[row] for name, texts in labels.items()}, nodes=size, cpus=CORES * size,
                  limit=float(facts.limit[row]), amounts={"cpu": float(CORES * size), "node": float(size)})
        )
        for row, size in enumerate(nodes)
    ]  # fmt: skip
