"""Enums of the indices into the kernels' arrays of counters and times: what each entry of such an array is."""

from __future__ import annotations

from enum import IntEnum


class Counter(IntEnum):
    """Indices into `State.counter`, the integers of the event loop's state, such as the number of free nodes."""

    ARRIVED = 0  # entries of `arrival` already queued
    STARTED = 1
    FINISHED = 2
    RUNNING = 3  # entries of the heap of running jobs
    ENDS = 4  # entries of the planned ends
    SPANNING = 5
    SPANNING_FIXED = 6  # of those, the ones with a settled rate (static reading)
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
    FREE_BEFORE = 18  # free nodes at the end of that pass
    BOOTING = 19  # behind the spanning jobs: those that wait for boots before they use finite uplinks


class ClassNumber(IntEnum):
    """Indices into integers about a queue that may be grouped into classes, each with jobs that scans treat alike."""

    CLASSES = 0  # 0: it is not grouped
    PATIENCE = 1  # failed placements that are left until it is grouped
    SEEN = 2  # of the jobs that have joined the queue, those that have joined their classes
    ROOM_AT = 3  # free nodes when the classes' limits were last measured
    SCANNED = 4  # class of the job that the scan returned last
    ROWS = 5  # trees that scans tell apart, by row of caps and needed pools; 0: none
    ROOMED = 6  # of the jobs that have joined the queue, those that have joined these trees


class Awaits(IntEnum):
    """Which event of another job a dependency waits for: its start, any end, a good end or a bad end."""

    END = 0
    START = 1
    END_WELL = 2
    END_BADLY = 3
    NOTHING = 4  # a job may end neither well nor badly


class LostNumber(IntEnum):
    """Indices of two counts: the runs that downtimes ended, and those of which the job was requeued."""

    RUNS = 0
    REQUEUES = 1


class WaitingNumber(IntEnum):
    """Indices of two counts: jobs on the timer (eligible by time alone), and jobs that have joined the queue."""

    TIMERS = 0  # entries of the timer
    JOINED = 1


class ClosedNumber(IntEnum):
    """Indices of integers that tell how far the calendar of closures (nodes closed for a while) has been processed."""

    CHANGED = 0  # changes (closings and openings) that have happened
    LEARNED = 1  # closures that are known
    PAST = 2  # lookouts (distinct begins of closures) that are not after now
    PLANNED = 3  # changes before this one are in the profile, or unknown to planners


class ClosedTime(IntEnum):
    """Indices of the next times that matter in the calendar of closures; infinite if nothing is to come."""

    UNTIL = 0  # when all nodes close to the jobs of the queue that is scanned
    CHANGE = 1  # when nodes are next closed or opened
    NEWS = 2  # the next change of nodes, or the next time at which a closure becomes known
    LOOKOUT = 3  # the first lookout after now


class Clock(IntEnum):
    """Indices into `State.clock`: the time now, sums over time, and the next planned starts."""

    NOW = 0
    SATURATED_SECONDS = 1
    LOST_NODE_SECONDS = 2
    NEXT_DUE = 3  # earliest reservation of the kept plan
    SHADOW = 4  # when the head can start at the latest; infinite if nothing is reserved for it
