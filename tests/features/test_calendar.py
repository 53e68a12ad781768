"""Downtimes: what they say, what they are refused for, what becomes of them in files, checks, searches and charts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FederationError, OutputError, UnknownNameError
from fedsched.io import read_federation
from fedsched.io.tables.downtimes import read_calendar, write_calendar
from fedsched.model.schedule.closed_spans import closed_spans
from fedsched.model.time.downtimes import closures_of

if TYPE_CHECKING:
    from pathlib import Path

TWO = fs.Federation(
    (
        fs.Cluster("a", (fs.NodeGroup(6, 1.0, 200, 90, name="old"), fs.NodeGroup(4, 2.0, 300, 90))),
        fs.Cluster("b", (fs.NodeGroup(8, 1.0, 200, 90),), 1e9),
    ),
    name="two",
)
DOWNTIMES = (
    fs.Downtime("a", 100.0, 200.0, nodes="0-1,7", name="rack 3"),
    fs.Downtime("b", 50.0, 80.0, nodes="3 of all", kind="outage"),
    fs.Downtime("b", 300.0, kind="drain", known_from=250.0),
    fs.Downtime("a", 400.0, 500.0, known_from=0.0, end_known=False),
)
CLOSED = replace(TWO, calendar=DOWNTIMES)


def test_named_nodes_are_groups_of_their_own() -> None:
    """A group of which a downtime names some nodes is split; a number of nodes splits nothing."""
    a, b = CLOSED.clusters
    assert [(group.count, group.name) for group in a.groups] == [
        (2, "old[0-1]"), (4, "old[2-5]"), (3, ""), (1, ""),
    ]  # fmt: skip
    assert [group.count for group in b.groups] == [8]
    assert CLOSED.nodes == TWO.nodes
    assert replace(CLOSED) == CLOSED
    assert str(CLOSED).endswith("4 downtimes")
    closures = closures_of(CLOSED)
    assert closures.group.tolist() == [3, 0, 4, 4, 3, 2, 1, 0]
    assert closures.nodes.tolist() == [1, 2, 3, 8, 1, 3, 4, 2]
    assert closures.planned_end.tolist() == [200, 200, math.inf, math.inf] + [math.inf] * 4


def test_partitions_and_downtimes_split_together() -> None:
    """Nodes are alike that are in the same partitions and the same downtimes."""
    parts = (fs.Partition("p", {"b": "2-5"}),)
    both = replace(TWO, partitions=parts, calendar=(fs.Downtime("b", 0.0, 9.0, nodes="4-7"),))
    assert [group.count for group in both.clusters[1].groups] == [2, 2, 2, 2]
    assert both.groups_of_partitions().astype(int).tolist() == [[0, 0, 0, 1, 1, 0]]
    some = replace(TWO, partitions=parts, calendar=(fs.Downtime("b", 0.0, 9.0, nodes="3 of 2-7"),))
    assert [group.count for group in some.clusters[1].groups] == [2, 4, 2]
    closures = closures_of(some)  # of several groups: the last first
    assert list(zip(closures.group.tolist(), closures.nodes.tolist(), strict=True)) == [(4, 2), (3, 1)]


def test_each_kind_is_known_as_it_usually_is() -> None:
    """Maintenance is known from the outset and with its end, the others from their begin and without one."""
    known = [(one.known_from, one.end_known) for one in DOWNTIMES]
    assert known == [(-math.inf, True), (50.0, False), (250.0, False), (0.0, False)]
    assert [one.usual for one in DOWNTIMES] == [True, True, False, False]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"kind": "party"}, r"kind='party' is none of maintenance, outage, drain"),
        ({"begin": math.nan}, r"begin=nan must be finite"),
        ({"begin": math.inf}, r"begin=inf must be finite"),
        ({"end": 10.0}, r"end=10.0 must be after its begin"),
        ({"end": math.nan}, r"end=nan must be after its begin"),
        ({"end": "noon"}, r"end='noon' must be after its begin"),
        ({"known_from": 11.0}, r"known_from=11.0 must not be after its begin"),
        ({"nodes": "4-2"}, r"'4-2' must be 'all', or node numbers"),
        ({"nodes": "two of all"}, r"'two of all' must be 'all', or node numbers"),
        ({"name": "a|b"}, r"Downtime: name"),
    ],
)
def test_a_downtime_that_says_nothing_sensible_is_refused(words: dict[str, Any], message: str) -> None:
    """Each value that cannot be meant is named, with the downtime."""
    with pytest.raises(FederationError, match=message):
        fs.Downtime(**{"cluster": "a", "begin": 10.0, "end": 20.0, **words})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"nodes": "0-8"}, r"Downtime 'maintenance' of 'b' at 10.0: node 8 is not one of its 8 nodes, 0 to 7"),
        ({"nodes": "9 of all"}, r"'all' are 8 nodes, not 9"),
        ({"nodes": "0 of all"}, r"'all' are 8 nodes, not 0"),
    ],
)
def test_a_downtime_of_other_nodes_is_refused(words: dict[str, Any], message: str) -> None:
    """Nodes that the cluster does not have, and more than there are."""
    with pytest.raises(FederationError, match=message):
        replace(TWO, calendar=(fs.Downtime("b", 10.0, 20.0, **words),))


def test_a_downtime_of_an_unknown_cluster_is_refused() -> None:
    """The clusters that there are stand in the error."""
    with pytest.raises(UnknownNameError, match=r"Unknown cluster 'c'. Known: a, b"):
        replace(TWO, calendar=(fs.Downtime("c", 10.0, 20.0),))


def test_files_give_back_what_was_written(tmp_path: Path) -> None:
    """A federation's TOML file holds its downtimes; a calendar of its own is a CSV file, or TOML."""
    CLOSED.write(tmp_path / "closed.toml")
    assert read_federation(tmp_path / "closed.toml") == CLOSED
    write_calendar(DOWNTIMES, tmp_path / "calendar.csv")
    assert read_calendar(tmp_path / "calendar.csv") == DOWNTIMES
    (tmp_path / "calendar.toml").write_text(
        '[[downtime]]\ncluster = "a"\nbegin = 100\nend = 200\nnodes = "0-1,7"\nname = "rack 3"\n', encoding="utf-8"
    )
    assert read_calendar(tmp_path / "calendar.toml") == DOWNTIMES[:1]
    with pytest.raises(OutputError, match=r"a calendar is written as \.csv"):
        write_calendar(DOWNTIMES, tmp_path / "other.toml")


def test_a_calendar_as_a_spreadsheet_saves_it(tmp_path: Path) -> None:
    """Semicolons, decimal commas, empty cells and comments are read; what is usual need not be given."""
    (tmp_path / "c.csv").write_text(
        "# planned works\ncluster;begin;end;kind;end_known\na;10,5;20;;\nb;30;;outage;yes\n;;;;\n", encoding="utf-8"
    )
    assert read_calendar(tmp_path / "c.csv") == (
        fs.Downtime("a", 10.5, 20.0),
        fs.Downtime("b", 30.0, kind="outage", end_known=True),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cluster,end\na,5\n", r"c.csv: the column 'begin' is missing"),
        ("cluster,begin,colour\na,5,red\n", r"c.csv: Unknown column 'colour'"),
        ("cluster,begin\na,5\n,7\n", r"c.csv, line 3: cluster is empty"),
        ("cluster,begin\na,noon\n", r"c.csv, line 2: begin='noon' must be seconds"),
        ("cluster,begin,end_known\na,5,perhaps\n", r"c.csv, line 2: end_known='perhaps' must be yes or no"),
        ("cluster,begin,end\na,5,4\n", r"c.csv, line 2: Downtime 'maintenance' of 'a' at 5.0: end=4.0"),
        ("cluster,begin\na\n", r"c.csv, line 2: 1 fields, but 2 columns"),
    ],
)
def test_a_calendar_that_cannot_be_read_is_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    """Each fault is named with its line."""
    (tmp_path / "c.csv").write_text(text, encoding="utf-8")
    with pytest.raises(FederationError, match=message):
        read_calendar(tmp_path / "c.csv")


def test_a_file_of_downtimes_holds_nothing_else(tmp_path: Path) -> None:
    """As one of partitions, and unknown keys are named."""
    (tmp_path / "c.toml").write_text('name = "x"\n[[downtime]]\ncluster = "a"\nbegin = 1\n', encoding="utf-8")
    with pytest.raises(FederationError, match=r"a calendar holds tables \[\[downtime\]\], and nothing else"):
        read_calendar(tmp_path / "c.toml")
    (tmp_path / "c.toml").write_text('[[downtime]]\ncluster = "a"\nbegin = 1\nnode = "all"\n', encoding="utf-8")
    with pytest.raises(FederationError, match=r"downtime 1: unknown key 'node'. Did you mean 'nodes'"):
        read_calendar(tmp_path / "c.toml")


def test_the_check_accepts_what_keeps_to_downtimes_and_names_what_does_not() -> None:
    """A schedule made without the calendar runs into downtimes, and the first that does is named."""
    log = fs.Workload(submit=[0.0, 0.0, 60.0], tasks=[8, 10, 6], runtime=[120.0, 370.0, 10.0])
    kept = fs.simulate(log, CLOSED, "easy")
    kept.verify(claimed=kept.metrics())
    without = fs.simulate(log, replace(CLOSED, calendar=()), "easy")
    with pytest.raises(fs.errors.ScheduleError, match=r"nodes in use, but .* are closed|planned to run beyond"):
        replace(without, federation=CLOSED).verify()


def test_each_side_of_the_check_catches_a_start() -> None:
    """A start on closed nodes, and one into nodes that are known to close; what nobody could know is no fault."""
    one = fs.Workload(submit=[0.0], tasks=[4], runtime=[10.0])
    whole = fs.Federation.homogeneous(4)

    def broken(downtime: fs.Downtime, start: float, **words: Any) -> list[str]:
        schedule = fs.Schedule(
            workload=one, federation=replace(whole, calendar=(downtime,)), start=[start], finish=[start + 10.0],
            counts=[[4]], t0=0.0, same_time="batch", **{"knowledge": "estimate", **words},
        )  # fmt: skip
        return schedule.violations()

    gap = fs.Downtime("cluster", 5.0, 8.0, nodes="1 of all")
    assert "at 6 group 0 has 4 nodes in use, but 1 of its 4 are closed" in broken(gap, 6.0)[0]
    assert "it starts at 0 and is planned to run beyond 5, when 4 nodes of group 0 would be" in broken(gap, 0.0)[0]
    assert broken(gap, 8.0) == []
    assert broken(replace(gap, known_from=3.0), 0.0) == []
    assert broken(gap, 0.0, knowledge=None) == []  # nobody knows what was known


def test_searches_keep_to_downtimes() -> None:
    """Every plan of a search is one that the downtimes allow, and where all of them are known nothing is apart."""
    log = fs.Workload.example().filter(fs.Workload.example().tasks <= 4).head(8)
    t0 = float(log.submit.min())
    gaps = (fs.Downtime("a", t0 + 1000.0, t0 + 9000.0), fs.Downtime("b", t0 + 5000.0, t0 + 20000.0, nodes="0-3"))
    machine = replace(TWO, calendar=gaps)
    for method in ("memetic", "ga", "moga"):
        result = fs.optimize(log, machine, method=method, objectives="flow", evaluations=300, seed=1)
        schedule = result.schedule(0)
        schedule.verify(claimed=schedule.metrics())
        assert 0 < result.lower_bounds["flow"] <= schedule.metrics().flow
        assert result.front.planned is None
        assert result.foresight == ""
    past = replace(TWO, calendar=(fs.Downtime("a", t0 - 9.0, t0 - 5.0, kind="outage"),))
    assert fs.optimize(log, past, evaluations=50, seed=1).schedule(0).complete


def test_rolling_plans_keep_to_downtimes() -> None:
    """A plan made anew at each instant sees the downtimes as every rule does."""
    log = fs.Workload.example().filter(fs.Workload.example().tasks <= 8).head(25)
    t0 = float(log.submit.min())
    gaps = (fs.Downtime("a", t0 + 1000.0, t0 + 9000.0), fs.Downtime("b", t0 + 500.0, t0 + 90000.0, nodes="5 of all"))
    schedule = fs.simulate(log, replace(TWO, calendar=gaps), fs.Rolling(evaluations=40, seed=1))
    assert schedule.complete
    schedule.verify(claimed=schedule.metrics())


def test_list_heuristics_keep_to_downtimes() -> None:
    """Their predictions do not look at downtimes, their starts do."""
    log = fs.Workload.example().filter(fs.Workload.example().tasks <= 8).head(40)
    t0 = float(log.submit.min())
    machine = replace(TWO, calendar=(fs.Downtime("a", t0 + 1000.0, t0 + 9000.0),))
    for name in ("min-min", "sufferage-easy", "least-energy"):
        schedule = fs.simulate(log, machine, name)
        schedule.verify(claimed=schedule.metrics())


def test_closed_spans_are_what_downtimes_really_have() -> None:
    """A downtime has its nodes from its begin on, those that a job still held from that job's end on."""
    late = fs.Workload(submit=[0.0], tasks=[3], runtime=[15.0], estimate=[10.0])
    gap = fs.Downtime("cluster", 10.0, 20.0, nodes="2 of all")
    schedule = fs.simulate(late, replace(fs.Federation.homogeneous(4), calendar=(gap,)), "fcfs")
    spans = closed_spans(schedule)
    assert spans.start.tolist() == [10.0, 15.0]
    assert spans.finish.tolist() == [20.0, 20.0]
    assert spans.counts.tolist() == [[1], [1]]


def test_closed_spans_and_jobs_fit_on_the_machine_together() -> None:
    """In random systems jobs and closed nodes never exceed a group, and where no job is in the way all is closed."""
    seen = 0
    for seed in range(tries(150)):
        scenario = strategies.random_scenario(seed)
        if not scenario.machine.closures:
            continue
        seen += 1
        result = scenario.simulate()
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        schedule = fs.Schedule(
            workload=workload, federation=federation, start=result.start, finish=result.finish, counts=result.counts,
            t0=result.t0,
        )  # fmt: skip
        spans = closed_spans(schedule)
        start = np.concatenate([schedule.start, spans.start])
        finish = np.concatenate([schedule.finish, spans.finish])
        counts = np.concatenate([schedule.counts, spans.counts])
        for time in np.unique(start[~np.isnan(start)]):
            used = counts[(start <= time) & (time < finish)].sum(axis=0)
            assert (used <= [group.count for group in federation.groups]).all()
            jobs_there = schedule.counts[(schedule.start <= time) & (time < schedule.finish)].sum(axis=0)
            wanted = np.zeros(len(federation.groups), dtype=int)
            for one in scenario.machine.closures:
                wanted[one.group] += one.nodes if one.covers(time) and one.reservation is None else 0
            sizes = np.array([group.count for group in federation.groups])
            np.testing.assert_array_equal(used - jobs_there, np.minimum(wanted, sizes - jobs_there))
    assert seen > 5
