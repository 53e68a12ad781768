"""How many nodes go off, and boot, in a minute: who waits for that, and that no minute has more [66]."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from engine.test_against_naive import run_engine
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.model.power.switching import power_saving_named
from fedsched.model.schedule.lost import finished_runs
from fedsched.model.schedule.off_spans import spans_of
from fedsched.policies import Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NODE = {"busy_watts": 100.0, "idle_watts": 50.0, "off_watts": 5.0}
STATES = {"boot_seconds": 30.0, "boot_watts": 80.0, "shutdown_seconds": 10.0, "shutdown_watts": 60.0}


def machine(*nodes: int, clusters: int = 1, **rates: int) -> fs.Federation:
    """Return clusters of groups of so many nodes each, which go off when they have been idle for 100 s."""
    groups = tuple(fs.NodeGroup(count, 1.0, **NODE, **STATES) for count in nodes)
    return fs.Federation(tuple(fs.Cluster(f"c{k}", groups) for k in range(clusters)), power=Timeout(100.0, **rates))


def jobs(*rows: tuple[float, int, float]) -> fs.Workload:
    """Return jobs by submit, tasks and run time."""
    return fs.Workload(**dict(zip(("submit", "tasks", "runtime"), zip(*rows, strict=True), strict=True)))


def checked(workload: fs.Workload, federation: fs.Federation) -> fs.Schedule:
    """Return a schedule whose check accepts its row, and no other energy."""
    schedule = fs.simulate(workload, federation, "easy")
    row = schedule.metrics()
    schedule.verify(claimed=row)
    for name in ("energy", "switches", "boot_wait"):
        (line,) = schedule.violations(claimed=replace(row, **{name: getattr(row, name) + 1.0}))
        assert line.startswith(f"Schedule: {name} is given as")
    return schedule


def switched(schedule: fs.Schedule) -> list[tuple[float, float, int]]:
    """Return when nodes went off and booted, and how many."""
    found = spans_of(schedule.federation, finished_runs(schedule), schedule.promises, schedule.t0)
    return sorted(zip(found.off_at.tolist(), found.boot_at.tolist(), found.nodes.tolist(), strict=True))


def test_boots_begin_at_once_and_then_one_by_one() -> None:
    """Of five nodes two boot at 1000, the others each 30 s later, the last at 1090: so its job starts at 1120.

    Who comes then finds two that may boot at once only when the minute after that has made up for it: at 1150 one may.
    """
    wide = checked(jobs((0, 5, 1), (1000, 5, 10)), machine(5, resume_rate=2))
    assert wide.start.tolist() == [0.0, 1120.0]
    assert [row[1] for row in switched(wide)] == [1000.0, 1000.0, 1030.0, 1060.0, 1090.0]
    again = checked(jobs((0, 7, 1), (1000, 5, 10), (1095, 1, 10), (1200, 1, 10)), machine(7, resume_rate=2))
    assert again.start.tolist() == [0.0, 1120.0, 1150.0, 1200.0]
    free = checked(jobs((0, 5, 1), (1000, 5, 10)), machine(5, suspend_rate=2))
    assert free.start.tolist() == [0.0, 1030.0]


def test_nodes_go_off_one_by_one_and_those_that_wait_are_had() -> None:
    """Of four nodes that idle since 1 one goes off at 101, and one each minute; at 170 one of the two left is taken.

    That one idles again at 180, and goes off when the other, at 221, and a minute are over.
    """
    schedule = checked(jobs((0, 4, 1), (170, 1, 10), (400, 1, 10)), machine(4, suspend_rate=1))
    assert schedule.start.tolist() == [0.0, 170.0, 430.0]
    assert switched(schedule) == [(101.0, 400.0, 1), (161.0, math.inf, 1), (221.0, math.inf, 1), (281.0, math.inf, 1)]
    row = schedule.metrics()
    assert row.energy == pytest.approx(
        24 * 100 + (100 + 160 + 220 + 169 + 101) * 50 + 4 * 10 * 60 + 30 * 80
        + (400 - 111 + (440 - 171) + (440 - 231) + (440 - 291)) * 5
    )  # fmt: skip


def test_groups_of_a_cluster_share_a_rate_and_clusters_do_not() -> None:
    """Three jobs of three nodes' groups wait for each other's boots in one cluster, and not in three."""
    log = jobs((0, 3, 1), (1000, 3, 10))
    together = checked(log, machine(1, 1, 1, resume_rate=1, suspend_rate=1))
    assert together.start.tolist() == [0.0, 1150.0]
    assert switched(together) == [(101.0, 1000.0, 1), (161.0, 1060.0, 1), (221.0, 1120.0, 1)]
    apart = checked(log, machine(1, clusters=3, resume_rate=1, suspend_rate=1))
    assert apart.start.tolist() == [0.0, 1030.0]
    assert switched(apart) == [(101.0, 1000.0, 1)] * 3


def test_a_boot_that_waits_for_a_shutdown_stops_none_before_it_that_has_room() -> None:
    """Who needs a node that goes off waits for its shutdown; the next boots before it where a minute has two."""
    groups = (fs.NodeGroup(1, 1.0, **NODE, boot_seconds=30.0, shutdown_seconds=50.0), fs.NodeGroup(1, 1.0, **NODE))
    for rate, last in ((2, 105.0), (1, 210.5)):
        power = Timeout(100.0, resume_rate=rate)
        whole = fs.Federation((fs.Cluster("a", groups),), power=power)
        schedule = checked(jobs((0, 2, 0.5), (105, 1, 10), (105, 1, 10)), whole)
        assert schedule.start.tolist() == [0.0, 180.5, last]


def test_a_check_finds_who_starts_before_a_boot_had_its_turn() -> None:
    """Who has all nodes boot at once is too early; who has them boot in turn where no rate holds is too late."""
    paced = machine(5, resume_rate=2)
    schedule = checked(jobs((0, 5, 1), (1000, 5, 10)), paced)
    early = replace(schedule, start=[0.0, 1030.0], finish=[1.0, 1040.0])
    assert early.violations() == ["Job 2: it starts at 1030, but its nodes are on at 1120."]
    free = replace(schedule, federation=replace(paced, power=Timeout(100.0)))
    assert free.violations() == ["Job 2: it starts at 1120, but its nodes are on at 1030."]


def test_rates_that_nothing_reaches_change_nothing() -> None:
    """Of random systems whose rates are beyond all nodes each start and each metric is that of none."""
    for seed in range(66_300, 66_300 + tries(60)):
        scenario = strategies.saving_power(seed)
        if scenario.machine.ahead:
            continue
        free, wide = (
            run_engine(replace(scenario, machine=replace(scenario.machine, rates=(rate, rate))))
            for rate in (0, 10**9)
        )
        np.testing.assert_array_equal(free.start, wide.start, str(seed))
        if not np.isnan(free.finish).all():
            one, other = free.metrics(), wide.metrics()
            assert one.energy == pytest.approx(other.energy, rel=1e-12), seed
            assert (one.switches, one.boot_wait) == (other.switches, other.boot_wait), seed


def test_no_stretch_of_time_has_more_than_its_rate() -> None:
    """In random systems from one switch of a cluster to a later one no more begin than its rate says, and some wait."""
    bound = 0
    for seed in range(66_000, 66_000 + tries(300)):
        schedule = run_engine(strategies.saving_power(seed))
        power = schedule.federation.power
        if not isinstance(power, Timeout):
            continue
        cluster = np.array(schedule.federation.group_cluster)
        spans = spans_of(schedule.federation, finished_runs(schedule), schedule.promises, schedule.t0)
        for rate, times in ((power.suspend_rate, spans.off_at), (power.resume_rate, spans.boot_at)):
            for its in np.unique(cluster[spans.group]) if rate else ():
                mine = np.repeat(times, spans.nodes * (cluster[spans.group] == its))
                bound += sum(crowded(np.sort(mine[np.isfinite(mine)]).tolist(), rate))
    assert bound > tries(300) / 4


def crowded(times: list[float], rate: int) -> Iterator[bool]:
    """Give whether each pair of switches has as many between them as may be; fail where it has more."""
    for i, first in enumerate(times):
        for k, last in enumerate(times[i:], start=1):
            most = rate + (last - first) * rate / 60
            assert k <= most + 1e-6
            yield k > max(rate, most - 1e-6)


@pytest.mark.parametrize(
    ("text", "power"),
    [
        ("timeout:10m:suspend=20", Timeout(600.0, suspend_rate=20)),
        ("timeout:10m:4:resume=3", Timeout(600.0, 4, resume_rate=3)),
        ("timeout:90:suspend=2:resume=3", Timeout(90.0, suspend_rate=2, resume_rate=3)),
        ("timeout:90:suspend=0:resume=0", Timeout(90.0)),
    ],
)
def test_rates_have_words(text: str, power: Timeout) -> None:
    """What options and files say of rates comes back from its own words; 0 is none."""
    assert power_saving_named(text) == power
    assert power_saving_named(str(power)) == power


def test_wrong_rates_are_refused() -> None:
    """Rates are whole numbers of nodes, and in words the one of going off comes first."""
    with pytest.raises(FederationError, match=r"Timeout: suspend_rate=1\.5 must be a whole number of at least 0"):
        Timeout(5.0, suspend_rate=1.5)
    with pytest.raises(FederationError, match="Timeout: resume_rate=-1 must be"):
        Timeout(5.0, resume_rate=-1)
    with pytest.raises(FederationError, match=r"then :suspend=20 and :resume=20, in nodes per minute"):
        power_saving_named("timeout:5:resume=1:suspend=1")


def test_files_keep_rates(tmp_path: Path) -> None:
    """A federation's file and a schedule's come back with the rates, and are checked by them."""
    there = machine(5, resume_rate=2, suspend_rate=30)
    there.write(tmp_path / "machine.toml")
    assert fs.Federation.read(tmp_path / "machine.toml") == there
    log = jobs((0, 5, 1), (1000, 5, 10))
    schedule = fs.simulate(log, there)
    schedule.to_csv(tmp_path / "plan.csv")
    back = fs.Schedule.read(tmp_path / "plan.csv", log, there, same_time="batch", knowledge="estimate")
    assert back == schedule
    back.verify(claimed=schedule.metrics())
