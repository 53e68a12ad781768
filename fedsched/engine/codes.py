"""Rules and readings as integer enums, which the compiled kernels branch on; and the data that each rule needs."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from fedsched.core.jit import constant, inlined

LOOKAHEAD = 50  # candidates that a lookahead pass packs together, as its authors do


class Dispatch(IntEnum):
    """Dispatch rules as integers: each says which of the queued jobs may start now."""

    STRICT = 0
    GREEDY = 1
    LOCAL = 2
    EASY = 3
    CONSERVATIVE = 4
    LOOKAHEAD = 5


class Placement(IntEnum):
    """Placement rules as integers: each says which nodes a starting job takes."""

    FASTEST = 0
    SINGLE = 1
    HOME = 2
    BEST_FIT = 3
    EFFICIENT = 4
    POWERFUL = 5
    BIG_SMALL = 6
    LINK_AWARE = 7


class QueueKey(IntEnum):
    """How the queue is kept in order, as integers: by a fixed permutation, or by a sort key that changes with time."""

    FIXED = 0
    XFACTOR = 1
    WFP3 = 2
    UNICEF = 3
    SUBMITTED = 4  # first come, first served, if submits depend on the schedule; likewise F1
    F1 = 5


class SameTime(IntEnum):
    """How events at one instant are processed: all before one dispatch pass, or in turn with a pass after each."""

    BATCH = 0
    SEQUENTIAL = 1


class Saturation(IntEnum):
    """How saturated uplinks slow a job down, by the reading of the model.

    The job's rate follows the load of its uplinks, is fixed at its start, or is a fair share.
    """

    DYNAMIC = 0
    STATIC = 1
    FAIR = 2


class OnRunning(IntEnum):
    """What a downtime does with jobs that run on its nodes: waits for their ends, requeues them, or kills them."""

    WAIT = 0
    REQUEUE = 1
    KILL = 2


class Victims(IntEnum):
    """Which running jobs a downtime takes nodes from: those started last, jobs drawn at random, or those of the log."""

    LATEST = 0
    RANDOM = 1
    RECORDED = 2


class Status(IntEnum):
    """Codes that the compiled event loop returns to Python: done, more to do, stuck, paused, or asking for a plan."""

    DONE = 0
    MORE = 1
    STUCK = 2
    PAUSED = 3
    ASKED = 4


class CandidateRow(IntEnum):
    """Row numbers of the table in which a lookahead pass lists its candidates, one column each."""

    JOB = 0
    TASKS = 1
    LASTS = 2  # 1: runs beyond the shadow time
    CHOSEN = 3


class ReachRow(IntEnum):
    """Row numbers of a lookahead pass's table of sums, one column for each number of nodes.

    The rows tell which numbers of nodes a set of candidates can use together.
    """

    BRIEF_WITH = 0  # the least i such that jobs done by the shadow time, of the first i candidates, have this sum
    LASTING_WITH = 1  # the same for jobs that run beyond it
    MOST_BRIEF = 2  # the greatest sum up to this one that jobs done by the shadow time can have


class Needs(IntFlag):
    """Flags for data that the simulation keeps only if a dispatch rule needs them, as they cost time or memory."""

    NOTHING = 0
    ENDS = 1  # the planned ends of running jobs, and each job's shortest duration
    PROFILE = 2  # room for a plan of every job that waits
    PACKING = 4  # room for a table of sums
    CLASSES = 8  # room to group a long queue if many placements of a scan fail


NEEDS = {
    Dispatch.STRICT: Needs.NOTHING,
    Dispatch.GREEDY: Needs.CLASSES,
    Dispatch.LOCAL: Needs.NOTHING,
    Dispatch.EASY: Needs.ENDS | Needs.CLASSES,
    Dispatch.CONSERVATIVE: Needs.ENDS | Needs.PROFILE,
    Dispatch.LOOKAHEAD: Needs.ENDS | Needs.PACKING | Needs.CLASSES,
}
_ENDS = tuple(constant(Needs.ENDS in NEEDS[rule]) for rule in Dispatch)  # kernels know neither dicts nor flags


@inlined
def needs_ends(dispatch: int) -> bool:
    """Return whether a dispatch rule needs the planned ends of running jobs."""
    return _ENDS[dispatch] == 1


def needs_of(*dispatch: int) -> Needs:
    """Return the union of the data that these dispatch rules need, as flags."""
    needs = Needs.NOTHING
    for rule in dispatch:
        needs |= NEEDS[Dispatch(rule)]
    return needs
