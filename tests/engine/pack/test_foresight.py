"""What is known of a problem: calendars without what comes later, and with ends that are known only."""

from __future__ import annotations

import math
from dataclasses import replace

import fedsched as fs
from fedsched.engine.pack.foresight import known_problem, may_miss
from fedsched.engine.pack.problem import pack
from fedsched.model.reading import USUAL
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

LOG = fs.Workload(submit=[0.0, 3.0], tasks=[2, 4], runtime=[5.0, 7.0])
SIX = fs.Federation.homogeneous(6)


def closing(*downtimes: fs.Downtime) -> fs.Federation:
    """Return six nodes with these downtimes."""
    return replace(SIX, calendar=downtimes)


def test_what_is_all_known_is_the_problem_itself() -> None:
    """Nothing is made anew where nothing is hidden, so that a run is the same to the bit."""
    known = closing(fs.Downtime("cluster", 5.0, 9.0), fs.Downtime("cluster", -9.0, -5.0, kind="outage"))
    problem = SearchProblem(LOG, known, Objectives.of("flow"))
    assert problem.truth is problem
    assert not problem.scores_differ
    assert known_problem(problem.problem, 0.0) is problem.problem
    assert known_problem(pack(LOG, SIX, reading=USUAL), 0.0).extras is None


def test_what_comes_later_is_away_and_unknown_ends_never_come() -> None:
    """At each time those are there that are known by then and not over; `left` is that of these alone."""
    true = pack(
        LOG,
        closing(
            fs.Downtime("cluster", 5.0, 9.0, nodes="1 of all"),
            fs.Downtime("cluster", 6.0, 30.0, nodes="2 of all", kind="outage"),
            fs.Downtime("cluster", 20.0, 25.0, nodes="3 of all", known_from=8.0),
        ),
        reading=USUAL,
    )
    for time, begins, ends, left in (
        (0.0, [5.0], [9.0], [5]),
        (7.0, [5.0, 6.0], [9.0, math.inf], [5, 3]),
        (9.0, [6.0, 20.0], [math.inf, 25.0], [4, 1]),
        (26.0, [6.0], [math.inf], [4]),
        (30.0, [], [], []),
    ):
        calendar = known_problem(true, time).extras.calendar
        assert (calendar.begin.tolist(), calendar.end.tolist()) == (begins, ends)
        assert calendar.planned_end.tolist() == ends
        assert calendar.left[:, 0].tolist() == left
        assert calendar.known.tolist() == [len(begins)]


def test_where_jobs_may_have_no_end() -> None:
    """Where nodes stay closed, or jobs are killed that run then; not where closures end, or have begun by t0."""
    for downtime, may in (
        (fs.Downtime("cluster", 5.0, 9.0, on_running="requeue"), False),
        (fs.Downtime("cluster", 5.0, 9.0, on_running="kill"), True),
        (fs.Downtime("cluster", 0.0, 9.0, on_running="kill"), False),
        (fs.Downtime("cluster", 5.0), True),
    ):
        assert may_miss(pack(LOG, closing(downtime), reading=USUAL)) is may
    assert not may_miss(pack(LOG, SIX, reading=USUAL))
