"""Reservations: who may use which nodes when, what is said of them, and what is refused [46]."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.bounds.lower.longest_paths import sure_starts
from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.engine.pack.problem import pack
from fedsched.io.platforms.toml import read_federation
from fedsched.io.tables.downtimes import read_calendar, write_calendar
from fedsched.model.reading import Reading
from fedsched.model.time.reservations import reservations_of, reserved_nodes

if TYPE_CHECKING:
    from pathlib import Path

RULES = ("strict", "greedy", "local", "easy", "conservative", "lookahead")
COURSE = fs.Downtime("main", 100, 200, "2 of all", kind="reservation", name="course")


def machine(*calendar: fs.Downtime, nodes: int = 4) -> fs.Federation:
    """Return one cluster with a calendar."""
    cluster = fs.Cluster("main", (fs.NodeGroup(nodes, 1.0),), math.inf)
    return fs.Federation((cluster,), calendar=calendar)


def jobs(*rows: tuple[float, int, float, str], **words: object) -> fs.Workload:
    """Return jobs by submit, tasks, run time (which is what they ask for) and the reservation that they name."""
    submit, tasks, runtime, named = zip(*rows, strict=True)
    columns: dict[str, object] = {"submit": submit, "tasks": tasks, "runtime": runtime, "estimate": runtime}
    labels = {"reservation": list(named)} | dict(words.pop("labels", {}))  # type: ignore[call-overload]
    return fs.Workload(**{**columns, "id": np.arange(1, len(rows) + 1), **words}, labels=labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
@pytest.mark.parametrize("dispatch", RULES)
def test_its_jobs_have_its_nodes_and_wait_for_its_begin(dispatch: str, same_time: str) -> None:
    """They hold up nobody until then, others do not start into it, and each queue waits for its own alone."""
    log = jobs((0, 1, 50, "course"), (0, 4, 150, ""), (1, 2, 90, ""), (2, 2, 60, "course"), (3, 1, 30, "course"))
    schedule = fs.simulate(log, machine(COURSE), fs.Rules(dispatch=dispatch), same_time=same_time)
    schedule.verify()
    assert schedule.start[0] == 100.0  # eligible as it begins
    assert schedule.counts[[0, 3, 4], 0].tolist() == [0, 0, 0]  # the last two nodes
    assert schedule.start[1] == 200.0
    in_order = dispatch in ("strict", "local")
    assert schedule.start[2] == (350.0 if in_order else 1.0)
    # Behind the first the next one of the course would end at 210: it never starts, and from 140 on holds up nobody.
    assert np.isnan(schedule.start[3])
    assert schedule.start[4] == (150.0 if in_order else 100.0)
    assert schedule.complete


def test_who_comes_too_late_never_starts_and_is_named() -> None:
    """Nor do those that wait for it; all others are a whole schedule."""
    rows = ((0, 1, 50, ""), (150, 1, 60, "course"), (150, 1, 50, "course"), (0, 1, 10, ""))
    log = jobs(*rows, after=["", "", "", "afterany:2"])
    schedule = fs.simulate(log, machine(COURSE), "fcfs")
    schedule.verify()
    assert np.isnan(schedule.start).tolist() == [False, True, False, True]
    assert schedule.complete
    assert schedule.hopeless.tolist() == [False, True, False, True]
    assert schedule.to_json()["never_start"] == [2, 4]
    assert schedule.remarks == (
        "never started, because their conditions cannot hold: 1 job (4)",
        "1 workflow of 2 jobs; 1 unfinished, which no mean counts (first jobs: 4)",
        "kept by reservation course: 25.00% of the nodes' time until the last job ends, of which its 1 job used 25.00%",
        "never started, because their reservation was over or had too few nodes: 1 job (2)",
    )


def test_verify_refuses_what_no_reservation_allows() -> None:
    """Starts before and after it, beyond its end, on other nodes, and of others on its nodes."""
    log = jobs((0, 2, 50, "course"), (0, 2, 50, ""))
    schedule = fs.simulate(log, machine(COURSE), "fcfs")
    assert schedule.violations() == []

    def moved(row: int, start: float, counts: list[int]) -> list[str]:
        starts, finishes, table = schedule.start.copy(), schedule.finish.copy(), schedule.counts.copy()
        starts[row], finishes[row], table[row] = start, start + 50, counts
        changed = fs.Schedule(
            workload=log,
            federation=schedule.federation,
            start=starts,
            finish=finishes,
            counts=table,
            t0=0.0,
            reading=schedule.reading,
        )
        return changed.violations()

    assert "Job 1: it starts at 90, outside its reservation 'course'." in moved(0, 90.0, [0, 2])
    assert "Job 1: it has nodes outside its reservation 'course'." in moved(0, 110.0, [1, 1])
    assert "Job 1: it is planned to run beyond 200, the end of its reservation 'course'." in moved(0, 160.0, [0, 2])
    assert "Job 2: it starts at 160 on nodes of reservation 'course'." in moved(1, 160.0, [0, 2])
    into = "Job 2: it starts at 60 and is planned to run beyond 100 on nodes of reservation 'course'."
    assert into in moved(1, 60.0, [0, 2])


def test_who_may_use_it_is_said_by_user_and_account() -> None:
    """Of each kind that is named at all; strangers are refused by name, and may be left out."""
    kept = replace(COURSE, users=("ann", "7"), accounts=("physics",))
    labels = {"user": ["ann", "ann", "bob", ""], "account": ["physics", "chem", "physics", "physics"]}
    log = jobs(*[(0, 1, 10, "course")] * 4, labels=labels, user=[1, 1, 2, 7])
    assert machine(kept).admits(log).tolist() == [True, False, False, True]
    with pytest.raises(InfeasibleError, match=r"Job 2: account 'chem' may not use reservation 'course'; leave out"):
        fs.simulate(log, machine(kept))
    with pytest.raises(InfeasibleError, match="Job 1: user 'bob' may not use reservation 'course'"):
        fs.simulate(replace(log.take(np.array([2])), id=np.array([1])), machine(kept))
    schedule = fs.simulate(log.filter(machine(kept).admits(log)), machine(kept))
    assert schedule.start.tolist() == [100.0, 100.0]


def test_names_of_users_are_not_checked_where_jobs_have_numbers() -> None:
    """And that is said, as it is that a machine without reservations keeps nothing."""
    log = jobs((0, 1, 10, "course"), user=[3])
    schedule = fs.simulate(log, machine(replace(COURSE, users=("ann",))))
    assert schedule.start[0] == 100.0
    assert schedule.unmodelled == ("which users may use course (the jobs' users are numbers)",)
    anywhere = fs.simulate(log, machine())
    assert anywhere.start[0] == 0.0
    assert anywhere.unmodelled == ("1 job in reservations (the machine has none)",)


def test_what_the_federation_lacks_is_refused_by_name() -> None:
    """A reservation that it does not have, and more tasks than there are nodes of it in the partition."""
    with pytest.raises(InfeasibleError, match="reservation 'exam' is not in the federation; known: 'course'"):
        fs.simulate(jobs((0, 1, 10, "exam")), machine(COURSE))
    with pytest.raises(InfeasibleError, match="Job 1: tasks=3 exceeds its 2 nodes in reservation 'course'"):
        fs.simulate(jobs((0, 3, 10, "course")), machine(COURSE))
    halves = replace(machine(COURSE), partitions=(fs.Partition("low", {"main": "0-2"}),))
    with pytest.raises(InfeasibleError, match="Job 1: tasks=2 exceeds its 1 nodes in reservation 'course'"):
        fs.simulate(jobs((0, 2, 10, "course"), labels={"partition": ["low"]}), halves)


def test_reservations_that_contradict_each_other_are_refused() -> None:
    """Of one name with other times, of two names on the same nodes; without a name or with an unknown end."""
    with pytest.raises(FederationError, match=r"end=300.0 differs from the 200.0 of reservation 'course'"):
        machine(COURSE, replace(COURSE, nodes="0", end=300))
    with pytest.raises(FederationError, match="'course' and 'exam' have the same nodes at 150; a node may be in one"):
        machine(COURSE, replace(COURSE, name="exam", nodes="3", begin=150))
    with pytest.raises(FederationError, match="a reservation needs a name=, by which jobs ask for it"):
        replace(COURSE, name="")
    with pytest.raises(FederationError, match="end_known=False, but jobs in a reservation must end within it"):
        replace(COURSE, end_known=False)
    with pytest.raises(FederationError, match=r"users=\('ann',\) is for kind='reservation'"):
        fs.Downtime("main", 0, 1, users=("ann",))
    with pytest.raises(FederationError, match="'all' are 4 nodes, not 5"):
        machine(replace(COURSE, nodes="5 of all"))
    machine(COURSE, replace(COURSE, name="exam", begin=200, end=300))  # one after the other


def test_of_several_clusters_it_is_one() -> None:
    """Nodes of two clusters under one name; the counts are the last nodes of each."""
    clusters = tuple(fs.Cluster(name, (fs.NodeGroup(4, 1.0),), math.inf) for name in ("a", "b"))
    parts = (replace(COURSE, cluster="a", nodes="1 of 0-2"), replace(COURSE, cluster="b", nodes="0,3"))
    both = fs.Federation(clusters, calendar=parts)
    (one,) = reservations_of(both)
    assert [(group.count, group.nodes) for group in both.groups] == [(3, "0-1,3"), (1, "2"), (2, "0,3"), (2, "1-2")]
    assert one.groups.tolist() == [False, True, True, False]
    assert [(kept.first, kept.nodes) for kept in reserved_nodes(both)] == [(3, 3)]  # as charts count, group by group
    assert [(kept.first, kept.nodes) for kept in reserved_nodes(both, own=True)] == [(2, 1), (4, 1), (7, 1)]
    schedule = fs.simulate(jobs((0, 3, 10, "course")), both)
    assert schedule.start.tolist() == [100.0]
    assert schedule.counts.tolist() == [[0, 1, 2, 0]]


def test_files_keep_them(tmp_path: Path) -> None:
    """CSV and TOML give back what was written."""
    kept = replace(COURSE, users=("ann", "bob"), accounts=("physics",), on_running="requeue")
    for path in (tmp_path / "calendar.csv",):
        write_calendar([kept], path)
        assert read_calendar(path) == (kept,)
    whole = machine(kept)
    whole.write(tmp_path / "machine.toml")
    assert read_federation(tmp_path / "machine.toml") == whole


def test_plans_take_its_jobs_or_refuse_them_by_name() -> None:
    """Searches plan them, rolling plans order the others, bounds are of these; the rest says what to leave out."""
    log = jobs((0, 2, 50, ""), (0, 4, 50, ""), (0, 1, 20, "course"), (5, 3, 40, ""))
    whole = fs.optimize(log, machine(COURSE), evaluations=50, seed=1)
    whole.best().verify()
    assert whole.best().start[2] == 100.0
    with pytest.raises(InfeasibleError, match=r"miss its reservation.*leave that out"):
        lower_bounds(log.filter(log.label("reservation") != ""), machine(COURSE))
    others = log.filter(log.label("reservation") == "")
    found = fs.optimize(others, machine(COURSE), evaluations=50, seed=1)
    found.best().verify()
    bounds = lower_bounds(log, machine(COURSE))
    assert bounds.makespan == pytest.approx(lower_bounds(others, machine(COURSE)).makespan, rel=1e-12)
    assert np.isnan(bounds.mean_wait)
    assert found.best().makespan >= lower_bounds(others, machine(COURSE)).makespan
    rolling = fs.simulate(log, machine(COURSE), fs.Rolling(evaluations=50, seed=1))
    rolling.verify()
    assert rolling.start[2] == 100.0
    assert rolling.complete


@pytest.mark.parametrize("policy", ["min-min", "sufferage", "mct", "min-min-easy"])
def test_list_heuristics_keep_to_it(policy: str) -> None:
    """They bind its jobs to its nodes, and start them in it."""
    log = jobs((0, 2, 50, ""), (0, 4, 50, ""), (0, 1, 20, "course"), (5, 3, 40, ""), (9, 2, 60, "course"))
    schedule = fs.simulate(log, machine(COURSE), policy)
    schedule.verify()
    assert (schedule.start[[2, 4]] >= 100.0).all()


def test_a_downtime_within_it_takes_idle_nodes_of_it_first() -> None:
    """Only what these are short of is taken from its jobs."""
    log = jobs((0, 1, 90, "course"), (0, 2, 90, ""))
    fails = fs.Downtime("main", 120, 130, "1 of 2-3", kind="outage", on_running="requeue")
    schedule = fs.simulate(log, machine(COURSE, fails), "easy")
    schedule.verify()
    assert schedule.lost.runs == 0
    assert schedule.start.tolist() == [100.0, 0.0]
    twice = fs.simulate(log, machine(COURSE, replace(fails, nodes="2 of 2-3")), "easy")
    twice.verify()
    assert twice.lost.job.tolist() == [0]
    assert np.isnan(twice.start[0])  # from 130 on it is too long


def test_pictures_frame_what_is_kept(tmp_path: Path) -> None:
    """The chart and the page name the reservation."""
    from fedsched.plot import gantt

    schedule = fs.simulate(jobs((0, 1, 50, "course"), (0, 2, 150, "")), machine(COURSE), "easy")
    figure = gantt.figure(schedule)
    assert "course" in [text.get_text() for text in figure.axes[0].texts]
    schedule.report(tmp_path / "page.html")
    assert '"reservedNames": ["course"]' in (tmp_path / "page.html").read_text(encoding="utf-8").replace('":[', '": [')


def test_no_schedule_is_below_the_bounds() -> None:
    """On random systems with reservations the bounds hold for whatever rule made the schedule."""
    checked = 0
    for seed in range(50_000, 50_000 + tries(1200)):
        scenario = strategies.random_scenario(seed, max_jobs=8, restless=seed % 2 == 1).without_kills().as_chosen()
        if all(job.reservation is None for job in scenario.jobs):
            continue
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        reading = {"kill_at_estimate": scenario.settings.kill_at_estimate}
        result = scenario.simulate()
        problem = pack(workload, federation, reading=Reading(**reading))
        if not result.ran or np.isnan(np.array(result.finish)[sure_starts(problem)]).any():
            continue  # nodes that stay closed leave others no room
        try:
            bounds = lower_bounds(workload, federation, method="closed" if seed % 3 else "auto", **reading)
        except InfeasibleError:
            continue
        measured = naive.metrics(result)
        for name in ("makespan", "energy", "flow", "max_wait"):
            bound = bounds.of(name)
            assert np.isnan(bound) or bound <= measured[name] * (1 + 1e-9) + 1e-9, (seed, name)
        checked += 1
    assert checked > tries(40)
