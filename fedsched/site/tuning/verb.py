"""`fs.tune` searches better parameters of a site's slurm.conf by simulating its own log."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import TraceError, unknown_name
from fedsched.core.values import is_number, seed_or_fresh, whole
from fedsched.io.arguments import federation_of, workload_of
from fedsched.io.slurm_files.slurm_machine import federation_of as machine_of
from fedsched.model.reading import USUAL
from fedsched.model.schedule.metrics import METRICS
from fedsched.search.problem.objectives import MAXIMISED, NOT_SOUGHT
from fedsched.site.tuning.confs import value_in
from fedsched.site.tuning.genes import (
    ACCOUNTS,
    FAIR_SHARE,
    GENES,
    PARTITIONS,
    PRIORITY,
    QUALITIES,
    SCHEDULER,
    Gene,
    limit_asked,
    limits_that_stand,
)
from fedsched.site.tuning.record import Tuned, Tuning
from fedsched.site.tuning.search import Budget, Trials, balanced, search, undominated
from fedsched.slurm import Slurm
from fedsched.slurm.conf.memory import notes_before_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from fedsched.core.names import SharingName
    from fedsched.engine.sharing import NodeSharing
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.io.slurm_files.slurm_conf import SlurmConf
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.reading import Reading
    from fedsched.site.tuning.search import Changes

SEARCHED = 0.7  # share of the budget; the rest drops needless changes and checks the confs
USUAL_SIMULATIONS = 600
PERIOD = 60  # seconds over which phases are spread: most of Slurm's clocks have this period, or a fraction of it
SOUGHT = tuple(metric.name for metric in METRICS if metric.name not in MAXIMISED | NOT_SOUGHT)


def genes_of(policy: Slurm, asked: Iterable[str] | Mapping[str, tuple[int, int] | None] | None) -> tuple[Gene, ...]:
    """Return the genes of these names, with their bounds if given; without names, all that matter under the policy.

    Raise if a name is unknown, or if the gene changes nothing under the policy.
    """
    if asked is None:
        usual = (gene for gene in GENES.values() if not gene.seldom or value_in(policy.conf, gene.name) != gene.usual)
        return (*(gene for gene in usual if _matters(gene, policy)), *limits_that_stand(policy))
    by_small = {name.lower(): gene for name, gene in GENES.items()}
    found = []
    for name in asked:
        gene = by_small.get(name.lower()) or limit_asked(policy, name)
        if gene is None:
            raise unknown_name("gene", name, GENES)
        if gene.of != ACCOUNTS and not _matters(gene, policy):
            raise ValueError(f"tune: {gene.name} changes nothing under {policy}: {WHY[gene.of]}.")
        bounds = asked[name] if isinstance(asked, Mapping) else None
        found.append(gene if bounds is None else _within(gene, bounds))
    if not found:
        raise ValueError("tune: genes= is empty; leave it out for all that matter.")
    return tuple(found)


WHY = {
    SCHEDULER: "it is of the backfill scheduler, and SchedulerType is sched/builtin",
    PRIORITY: "it is of PriorityType=priority/multifactor",
    FAIR_SHARE: "it is of fair share, which needs PriorityType=priority/multifactor and accounts",
    PARTITIONS: "it is of PriorityType=priority/multifactor with partitions whose PriorityJobFactor differ",
    QUALITIES: "it is of PriorityType=priority/multifactor with QOS whose priorities differ",
}


def _matters(gene: Gene, policy: Slurm) -> bool:
    parameters, priority, accounts = policy.parameters, policy.priority, policy.assoc
    if gene.of == SCHEDULER:
        return parameters.backfill or not gene.name.startswith("bf_")
    if not priority.multifactor:
        return False
    if gene.of == FAIR_SHARE:
        return accounts is not None
    if gene.of == PARTITIONS:
        return len({one.job_factor for one in priority.partitions.values()}) > 1
    if gene.of == QUALITIES:
        return accounts is not None and len({one.priority for one in accounts.qos.values()}) > 1
    return True


def _within(gene: Gene, bounds: tuple[int, int]) -> Gene:
    if gene.choices:
        raise ValueError(f"tune: {gene.name} takes {' or '.join(gene.choices)}; give it no bounds.")
    low, high = bounds
    if not (is_number(low) and is_number(high) and gene.least <= low < high and float(low) == int(low)):
        raise ValueError(
            f"tune: {gene.name}={(low, high)!r} must be two whole numbers of at least {gene.least}, the lower first."
        )
    return Gene(gene.name, int(low), int(high), gene.usual, curved=gene.curved, of=gene.of, word=gene.word)


def tune(
    conf: Slurm | SlurmConf | str | PathLike[str],
    log: AnyJobs,
    federation: AnyMachine | None = None,
    *,
    objectives: Sequence[str] = ("mean_wait", "bounded_slowdown", "max_wait"),
    genes: Iterable[str] | Mapping[str, tuple[int, int] | None] | None = None,
    simulations: int | None = None,
    seconds: float | None = None,
    phases: int = 2,
    check: float = 0.5,
    seed: int | None = 0,
    assoc: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    completing: int = 0,
    sharing: NodeSharing | SharingName | None = None,
    reading: Reading = USUAL,
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    r"""Return a Pareto front of slurm.confs that a search finds on a log, each as changes to the site's own.

    Parameters
    ----------
    conf
        A slurm.conf, its path, or the path of a dump's folder; or `policies.Slurm`, with its own accounts.
    log
        Jobs as they were submitted.
    federation
        The machine; by default that of the slurm.conf.
    objectives
        Metrics to minimise.
    genes
        Names of `fedsched.site.tuning.GENES`, or a mapping from names to bounds (or None):
        {"bf_max_job_test": (50, 2000)}. Limits on jobs of a QOS are genes too, as "normal/MaxJobsPerUser". By default
        they are all parameters that matter for this conf, and the limits that are set.
    simulations, seconds
        The budget: the greatest number of simulations, and of seconds. 600 simulations if neither is given.
    phases
        The number of phases (shifts) of Slurm's clocks with which each conf is simulated: single starts depend on them.
    check
        The share at the end of the log that the search does not see; the found confs are checked on it. 0: no check.
    seed
        The seed of the search; None draws a fresh one. The result holds it.
    assoc, completing
        As for `policies.Slurm`, if a conf is given.
    sharing
        "block": jobs share nodes, as in `simulate` with Slurm's scheduler.
    progress
        Called with (simulations made, simulations in all; 0 if only seconds are limited).

    Examples
    --------
    >>> from pathlib import Path
    >>> text = "SchedulerParameters=bf_interval=600\nNodeName=n[1-128]\nPartitionName=p Nodes=ALL Default=YES"
    >>> written = Path("slurm.conf").write_text(text)
    >>> jobs = fs.read("lublin-128", nodes=128).head(200)
    >>> tuning = fs.tune("slurm.conf", jobs, genes=["bf_interval"], simulations=12, seed=1)
    >>> tuning.genes, tuning.jobs, tuning.simulations
    (('bf_interval',), 100, 12)
    """
    begun = time.monotonic()
    policy = _policy(conf, assoc, completing)
    names = _objectives(objectives)
    chosen = genes_of(policy, genes)
    seed = seed_or_fresh("tune", seed)
    whole("tune", "phases", phases, least=1)
    if simulations is not None:
        whole("tune", "simulations", simulations, least=1)
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise ValueError(f"tune: seconds={seconds!r} must be above 0.")
    if simulations is None and seconds is None:
        simulations = USUAL_SIMULATIONS
    seen, later = _parts(workload_of("tune", "log", log), check)
    machine = machine_of(policy.conf) if federation is None else federation_of("tune", "federation", federation)
    budget = Budget(simulations, math.inf if seconds is None else begun + seconds)
    offsets = tuple(k * PERIOD // phases for k in range(phases))
    trials = Trials(policy, seen, machine, reading, names, offsets, budget, sharing)
    stop = begun + SEARCHED * seconds if seconds is not None else math.inf
    searching = Budget(None if simulations is None else int(simulations * SEARCHED), stop)
    look = None if progress is None else lambda made: progress(made, simulations or 0)
    trials.budget = searching
    interrupted = False
    try:
        search(trials, chosen, seed, look)
    except KeyboardInterrupt:
        if not trials.known:
            raise
        interrupted = True
    budget.made = searching.made
    trials.budget = budget
    front = [changes for changes in undominated(trials) if changes] if interrupted else balanced(trials)
    after = None if later is None else trials.on(later)
    current = _tuned(trials, after, (), ())
    return Tuning(
        objectives=names,
        current=current,
        front=tuple(_tuned(trials, after, changes, current.values) for changes in front),
        genes=tuple(gene.name for gene in chosen),
        jobs=len(seen),
        checked_jobs=0 if later is None else len(later),
        phases=offsets,
        simulations=budget.made,
        seconds=time.monotonic() - begun,
        notes=_notes(trials, interrupted),
        seed=seed,
    )


def _policy(conf: Slurm | SlurmConf | str | PathLike[str], assoc: object, completing: int) -> Slurm:
    if not isinstance(conf, Slurm):
        return Slurm(conf, assoc=assoc, completing=completing)  # type: ignore[arg-type]
    if assoc is not None or completing:
        raise ValueError("tune: assoc= and completing= are the policy's own here; leave them out.")
    if conf.clocks is not None:
        raise ValueError("tune: a recording's clocks belong to the conf that was recorded; give a policy without them.")
    return conf


def _objectives(names: Sequence[str]) -> tuple[str, ...]:
    wanted = (names,) if isinstance(names, str) else tuple(names)
    if not wanted:
        raise ValueError("tune: objectives= is empty; name at least one metric.")
    for name in wanted:
        if name not in SOUGHT:
            raise unknown_name("objective", name, SOUGHT)
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"tune: objectives={list(wanted)} names one twice.")
    return wanted


def _parts(log: Workload, check: float) -> tuple[Workload, Workload | None]:
    """Return the jobs to search on, and the later jobs to check on, the share `check` of all (None if it is 0)."""
    if not is_number(check) or not 0.0 <= check < 1.0:
        raise ValueError(f"tune: check={check!r} must be from 0 to below 1.")
    jobs = log.sorted()
    first = len(jobs) - round(check * len(jobs))
    if first < 2:
        raise TraceError(f"tune: of {len(jobs)} jobs {first} are left to tune on; give more, or check=0.")
    if check == 0.0:
        return jobs, None
    return jobs.head(first), jobs.take(np.arange(first, len(jobs)))


def _tuned(trials: Trials, after: Trials | None, changes: Changes, base: tuple[float, ...]) -> Tuned:
    values = tuple(trials.mean(changes).tolist())
    checked = holds = None
    if after is not None:
        checked = tuple(after.mean(changes).tolist())
        if changes:
            stood = after.mean(())
            holds = all(then <= was for then, was, value, before in zip(checked, stood, values, base, strict=True)
                        if value < before)  # fmt: skip
    spread, policy = tuple(trials.spread(changes).tolist()), trials.policy
    return Tuned(policy.conf, dict(changes), values, spread, checked, holds, policy.assoc)


def _notes(trials: Trials, interrupted: bool) -> tuple[str, ...]:
    notes = notes_before_run(trials.policy, trials.workload, shared=trials.sharing is not None)
    return (*notes, *(("interrupted: what was found until then, not made smaller",) if interrupted else ()))
