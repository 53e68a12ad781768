"""Which number stands where in the arrays of numbers that the kernels keep."""

from __future__ import annotations

from enum import IntEnum


class Counter(IntEnum):
    """Whole numbers of the loop's state."""

    ARRIVED = 0  # entries of `arrival` already queued
    STARTED = 1
    FINISHED = 2
    RUNNING = 3  # entries of the heap
    ENDS = 4  # entries of the planned ends
    SPANNING = 5
    SPANNING_FIXED = 6  # of those, the ones whose rate is settled (static reading)
    QUEUED = 7
    FREE = 8  # Σ free
    LOADS_STALE = 9
    SATURATED_LINKS = 10
    BREAKPOINTS = 11
    PLANNED_TO = 12  # positions below this have a reservation in a plan that still holds
    TRACK_ENDS = 13
    PLAN_HOLDS = 14
    ASKS = 15  # 1: before a pass that may start something, the loop asks for a plan
    PASS_DUE = 16  # it has asked, and the pass is still to come
    JOINED_FROM = 17  # the first position of the backfill queue at which a job has joined since the last pass
    FREE_BEFORE = 18  # free nodes when that pass had ended


class ClassNumber(IntEnum):
    """Whole numbers of a grouped queue."""

    CLASSES = 0  # 0: it is not grouped
    PATIENCE = 1  # jobs that may still be placed in vain before it is grouped
    SEEN = 2  # of the jobs that have joined the queue, those that have joined their classes
    ROOM_AT = 3  # free nodes when the rooms were measured
    SCANNED = 4  # class of the job that was handed out last
    ROWS = 5  # rows of caps that scans tell apart; 0: none
    ROOMED = 6  # of the jobs that have joined the queue, those that have joined the trees of their rows


class Awaits(IntEnum):
    """What of another job a condition waits for."""

    END = 0
    START = 1
    END_WELL = 2
    END_BADLY = 3
    NOTHING = 4  # a job may end neither well nor badly


class LostNumber(IntEnum):
    """Whole numbers of the runs that came to nothing."""

    RUNS = 0
    REQUEUES = 1


class WaitingNumber(IntEnum):
    """Whole numbers of who waits for others."""

    TIMERS = 0  # entries of the heap
    JOINED = 1


class ClosedNumber(IntEnum):
    """Whole numbers of the calendar."""

    CHANGED = 0  # changes that have happened
    LEARNED = 1  # closures that are known
    PAST = 2  # lookouts that are not after now
    PLANNED = 3  # changes before this one are in the profile, or unknown to planners


class ClosedTime(IntEnum):
    """Times of the calendar; infinite where nothing is to come."""

    UNTIL = 0  # when all closes to the jobs whose queue is gone over
    CHANGE = 1  # when nodes are next closed or opened
    NEWS = 2  # when they are, or it becomes known that they will be
    LOOKOUT = 3  # the first lookout after now


class Clock(IntEnum):
    """Times and integrals of the loop's state."""

    NOW = 0
    SATURATED_SECONDS = 1
    LOST_NODE_SECONDS = 2
    NEXT_DUE = 3  # earliest reservation of the standing plan
    SHADOW = 4  # when the head can start at the latest; infinite where nothing is reserved for it
