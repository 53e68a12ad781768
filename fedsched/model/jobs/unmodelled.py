"""Texts that say what a log has and the model ignores, each with the number of jobs concerned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted
from fedsched.model.constraints.cancellations import may_be_cancelled
from fedsched.model.constraints.dependencies import conditions_on_absent_jobs
from fedsched.model.constraints.feedback import feedback_of_absent_jobs
from fedsched.model.jobs.assumed import GIVEN_WHOLE, left_out_of
from fedsched.model.jobs.labels import distinct
from fedsched.model.jobs.log import (
    CANCELLED,
    FAILED,
    FROM_SLURM,
    IN_CPUS,
    OPTIONS,
    SEPARATOR,
    UNKNOWN,
    UNREAD,
    Demand,
    further_fields_in_words,
)
from fedsched.model.jobs.requests import SLURM_ONLY
from fedsched.model.machine.limits import limits_without_jobs
from fedsched.model.time.downtimes import RESERVATION, reserved_names
from fedsched.model.time.reservations import unmodelled_reservations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

# What jobs ask for beyond nodes and time, in words.
DEMANDS = {
    Demand.GPU: "with GPUs",
    Demand.OTHER: "with other devices, or licences of which one will do or whose number has a unit",
    Demand.ARRAY: "of arrays (how many tasks run together is not known)",
    Demand.HETEROGENEOUS: "in heterogeneous jobs",
    Demand.QOS: "of another quality of service than normal",
    Demand.RESERVATION: "in reservations",
    Demand.FEATURES: "for nodes of features in words that are not read",
    Demand.PARTITIONS: "for one of several partitions (the first is taken)",
    Demand.PER_NODE: "with several processors on a node (each taken for a node of its own)",
    Demand.ALONE: "alone on their nodes (#excl)",
    Demand.KINDS: "on nodes of several kinds (+)",
    Demand.SUSPENDED: "suspended on the way",
    Demand.DEPENDENCY: "after other jobs in words that are not read",
    Demand.EITHER_OR: "after one of several others (? in a dependency)",
    Demand.BURST_BUFFER: "after others' burst buffers (afterburstbuffer)",
    Demand.EXPANSION: "that expand others (expand)",
    Demand.SINGLETON: "alone of their name (singleton), in a log without names or users",
    Demand.UNLISTED: "after arrays of too many tasks to list",
    Demand.BEGIN: "with an earliest start (--begin) that is not read",
    Demand.UNREAD: "with fields that are not read",
}
CPUS_AS_NODES = "every CPU taken for a node of its own, unless nodes are shared (--unit nodes counts nodes)"


def unmodelled(workload: Workload, federation: Federation | None = None, *, shared: bool = False) -> tuple[str, ...]:
    """Return what the jobs' log has and the model, or this federation, ignores, as texts: "312 jobs with GPUs".

    Parameters
    ----------
    workload
        The jobs. After a head or a sample, only what the remaining jobs have is reported.
    federation
        The federation to run on, which may ignore sites, partitions and demands; None: such texts are left out.
    shared
        Whether jobs share nodes; some texts about the machine's file apply only if they do not.
    """
    facts: list[str] = []
    if federation is not None:
        facts += ignored_by_federation(workload, federation, shared=shared)
    log = workload.log
    several = np.array(["," in text for text in workload.label("partition").tolist()], dtype=np.bool_)
    bits = np.where(several, int(Demand.PARTITIONS), 0)
    if log is None or not len(workload):
        return (*facts, *unmodelled_requests(bits, workload.label(OPTIONS)))
    slurm = FROM_SLURM in workload.header
    facts += further_fields_in_words(workload)
    facts += [CPUS_AS_NODES] if IN_CPUS in workload.header and not shared else []
    facts += _pooled(workload.origin, log.partition, "cluster" if slurm else "partition")
    queue = np.where(workload.label("partition") == "", log.queue, UNKNOWN)  # the other jobs ask for a partition
    facts += _pooled(workload.origin, queue, "partition" if slurm else "queue")
    bits |= np.where(log.demands == UNKNOWN, 0, log.demands).astype(np.int64)
    if federation is not None and reserved_names(federation):  # the labels name these reservations
        bits[workload.label(RESERVATION) != ""] &= ~int(Demand.RESERVATION)
    memory = (log.requested_memory > 0) | (log.used_memory > 0) | ((bits & Demand.MEMORY) != 0)
    facts += _jobs(memory, "with memory needs")
    if workload.feedback is None:
        facts += _jobs(log.preceding > 0, "after other jobs")
        facts += _jobs(log.think_time > 0, "with think times")
    unread = next((f" ({names})" for label, names in workload.header if label == UNREAD), "")
    facts += unmodelled_requests(bits, workload.label(OPTIONS), unread=unread)
    cut = (log.status == FAILED) | (log.status == CANCELLED)
    cut &= ~may_be_cancelled(workload)
    return (*facts, *_jobs(cut, "failed or cancelled (run as long as they did)"))


def sentence(facts: tuple[str, ...]) -> str:
    """Return "not modelled: " followed by the facts, separated by semicolons."""
    return f"not modelled: {'; '.join(facts)}"


def unmodelled_requests(
    bits: NDArray[np.int64], options: NDArray[Any], *, unread: str = "", noun: str = "job"
) -> list[str]:
    """Return what jobs ask for and the model lacks, as texts with the number of jobs (`noun`).

    `bits` has the `Demand` flags of each job, and `options` the names of Slurm options that the job uses. `unread` is
    appended to the text about fields that are not read.
    """
    facts = []
    for demand, text in DEMANDS.items():
        facts += _jobs((bits & demand) != 0, text + unread * (demand is Demand.UNREAD), noun)
    texts, which = distinct(options)
    for name in sorted({one for text in texts for one in text.split(SEPARATOR) if one}):
        having = np.array([name in text.split(SEPARATOR) for text in texts])
        facts += _jobs(having[which], f"with {name}", noun)
    return facts


def _jobs(which: NDArray[np.bool_], text: str, noun: str = "job") -> list[str]:
    count = int(np.count_nonzero(which))
    return [f"{counted(count, noun)} {text}"] if count else []


def _pooled(origin: NDArray[np.int64], column: NDArray[np.float64], noun: str) -> list[str]:
    """Return a text with the number of known values of a column, "5 queues pooled", if the model merges some.

    It merges values if jobs of one site (or jobs without sites) have several. Otherwise the list is empty.
    """
    known = column >= 0
    if not known.any() or (column == column[0]).all():
        return []
    pairs = np.unique(np.stack([origin[known].astype(np.float64), column[known]]), axis=1)
    count = pairs.shape[1]
    return [f"{count:,} {noun}s pooled"] if count > len(np.unique(pairs[0])) else []


def ignored_by_federation(workload: Workload, federation: Federation, *, shared: bool = False) -> list[str]:
    """Return, in words, what this federation ignores of the jobs' requests, and of the machine's and calendar's files.

    Also the federation's limits, reservations and partition factors that have no effect.
    """
    needs = [fact for part in workload.extras.values() for fact in part.unmodelled(federation)]
    facts_away = [fact for fact in (conditions_on_absent_jobs(workload), feedback_of_absent_jobs(workload)) if fact]
    pooled = _pooled_sites(workload, federation) + _pooled_partitions(workload, federation)
    facts = pooled + needs + facts_away + _factors(federation)
    facts += limits_without_jobs(workload, federation) + unmodelled_reservations(workload, federation)
    return facts + ignored_in_files(federation, shared=shared)


def _factors(federation: Federation) -> list[str]:
    """Return, in words, how many partitions have a priority factor, which only policy slurm uses; [] if none has."""
    counting = [one for one in federation.partitions if one.factor not in (None, 1)]
    return [f"the priority factor of {counted(len(counting), 'partition')}, {SLURM_ONLY}"] if counting else []


def ignored_in_files(federation: Federation, *, shared: bool = False) -> list[str]:
    """Return, in words, what the files of the machine and of its calendar say and the model leaves out.

    If jobs share nodes (`shared`), notes that a shared node is given whole are left out.
    """
    found = []
    for of, part in {"machine": federation.partitions, "calendar": federation.calendar}.items():
        held = [fact for fact in left_out_of(part) if not (shared and fact.endswith(GIVEN_WHOLE))]
        for some in ([one for one in held if one.endswith(SLURM_ONLY) == alone] for alone in (False, True)):
            found += [f"of the {of}'s file: {'; '.join(some)}"] if some else []
    return found


def _pooled_sites(workload: Workload, federation: Federation) -> list[str]:
    """Return a text with the number of the jobs' sites if there are several and they are no clusters here; else []."""
    used = len(np.unique(workload.origin[workload.origin >= 0]))
    if used < 2 or federation.knows_sites(workload.sites):
        return []
    into = "one cluster" if len(federation.clusters) == 1 else f"{len(federation.clusters)} clusters of other names"
    return [f"{used:,} sites pooled into {into}"]


def _pooled_partitions(workload: Workload, federation: Federation) -> list[str]:
    """Return a text with the number of partitions that jobs ask for if the machine has none; else []."""
    asked = workload.partition
    if federation.partitions or not (asked != "").any():
        return []
    return _pooled(workload.origin, np.where(asked == "", UNKNOWN, distinct(asked)[1]), "partition")
