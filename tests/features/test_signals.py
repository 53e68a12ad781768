"""Prices and carbon over time: what schedules cost, what files say, and what searches find [65]."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from engine.test_against_naive import run_engine
from reference import naive_measures
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.io.tables.signals import read_signal
from fedsched.model.time.signal import Curve

if TYPE_CHECKING:
    from pathlib import Path

ONE = fs.Cluster("a", (fs.NodeGroup(1, 1.0, 1000.0, 100.0),))
OTHER = fs.Cluster("b", (fs.NodeGroup(1, 1.0, 500.0, 200.0),))
HOUR = 3600.0
STEPS = fs.Signal((0.0, HOUR, 3 * HOUR), (10.0, 20.0, 40.0), "g/kWh")


def machine(*signals: fs.Signal, clusters: tuple[fs.Cluster, ...] = (ONE,)) -> fs.Federation:
    """Return nodes with these signals."""
    return fs.Federation(clusters, signals=signals)


def jobs(*rows: tuple[float, int, float]) -> fs.Workload:
    """Return jobs by submit, tasks and run time."""
    return fs.Workload(**dict(zip(("submit", "tasks", "runtime"), zip(*rows, strict=True), strict=True)))


def test_a_schedule_on_one_node_costs_what_it_does_by_hand() -> None:
    """A kilowatt for two hours from half past zero on, the idle node's tenth before it: by the hour's own value."""
    log = jobs((0.0, 1, 1.0), (0.5 * HOUR, 1, 2 * HOUR))
    schedule = fs.simulate(log, machine(STEPS, fs.Signal((0.0,), (50.0,), "EUR/MWh")))
    row = schedule.metrics()
    schedule.verify(claimed=row)
    grams = (0.9 / 3600 + 0.1 * 0.5) * 10 + 0.5 * 10 + 1.5 * 20
    assert row.carbon == pytest.approx(grams / 1000, rel=1e-12)
    assert row.peak_watts == 1000.0
    assert row.cost == row.energy * 50.0 / 3.6e9
    power = schedule.power()
    assert power.times.tolist() == [0.0, 1.0, 0.5 * HOUR, 2.5 * HOUR]
    assert power.watts.tolist() == [[1000.0, 100.0, 1000.0, 0.0]]
    assert "carbon" in str(schedule)
    for name in ("carbon", "cost", "peak_watts"):
        (line,) = schedule.violations(claimed=replace(row, **{name: getattr(row, name) * 1.01}))
        assert line.startswith(f"Schedule: {name} is given as")


def test_a_signal_that_comes_again_for_ages_is_checked_by_whole_periods() -> None:
    """A kilowatt through 10¹⁴ periods of a mean price of 1.5 millions: verify() lists none of them."""
    price = fs.Signal((0.0, 5.0), (1e6, 2e6), "EUR/MWh", beyond="repeat", until=10.0)
    for begin, length, integral in ((0.0, 1e15, 1.5e15), (7.5, 1e6, 1.5e6), (2.5, 7.5, 12.5), (3.0, 1.0, 1.0)):
        schedule = fs.simulate(jobs((begin, 1, length)), machine(price))
        row = schedule.metrics()
        assert row.cost == pytest.approx(1e9 * integral / 3.6e9, rel=1e-12)
        schedule.verify(claimed=row)
        (line,) = schedule.violations(claimed=replace(row, cost=row.cost * 1.01))
        assert line.startswith("Schedule: cost is given as")


def test_constant_signals_are_the_energy_itself_to_the_last_bit() -> None:
    """Whatever the steps are, one value everywhere makes the cost the sum of eq. 1.8 times the value."""
    log = fs.Workload.example().head(80)
    plain = fs.Federation.example()
    steps = fs.Signal(tuple(np.arange(-5.0, 90.0) * 7919.0), (0.3,) * 95, "kg/MWh", until=1e9)
    row = fs.simulate(log, replace(plain, signals=(steps,))).metrics()
    assert row.energy == fs.simulate(log, plain).metrics().energy
    assert row.carbon == row.energy * 0.3 / 3.6e9
    assert math.isnan(row.cost)


def test_a_cluster_has_its_own_signal_or_that_of_all() -> None:
    """The signal without a name is that of the clusters that have none; each pays for its own nodes."""
    log = jobs((0.0, 2, HOUR))
    of_all, own = fs.Signal((0.0,), (1000.0,), "kg/MWh"), fs.Signal((0.0,), (2.0,), "kg/kWh", cluster="b")
    row = fs.simulate(log, machine(of_all, own, clusters=(ONE, OTHER))).metrics()
    assert row.carbon == pytest.approx(1.0 * 1.0 + 0.5 * 2.0)


@pytest.mark.parametrize(("beyond", "carbon"), [("last", 2 * 20 + 3 * 40), ("repeat", 2 * 20 + 40 + 10 + 20)])
def test_beyond_its_end_a_signal_holds_as_it_is_told(beyond: str, carbon: float) -> None:
    """A kilowatt from the second hour to the sixth; the signal has four, and begins anew or keeps its last value."""
    signal = replace(STEPS, until=4 * HOUR, beyond=beyond)
    row = fs.simulate(jobs((HOUR, 1, 5 * HOUR)), machine(signal)).metrics()
    assert row.carbon == pytest.approx(carbon / 1000, rel=1e-12)


def test_where_a_signal_does_not_reach_costs_are_refused_by_name() -> None:
    """A schedule that outlasts the signal, or begins before it, has no cost, and is told what to do."""
    short = machine(replace(STEPS, until=4 * HOUR))
    with pytest.raises(FederationError, match=r"signal ends at 14400 s, before the schedule does at 18000 s.*last"):
        fs.simulate(jobs((0.0, 1, 5 * HOUR)), short).metrics()
    late = machine(fs.Signal((10.0, 20.0), (1.0, 2.0), "EUR/MWh", beyond="last"))
    with pytest.raises(FederationError, match=r"signal begins at 10 s, after the schedule's begin at 0 s.*repeat"):
        fs.simulate(jobs((0.0, 1, 5.0)), late).metrics()
    assert fs.simulate(jobs((0.0, 1, 4 * HOUR)), short).metrics().carbon > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"times": (0.0, 0.0)}, r"time 0\.0 must be after 0\.0"),
        ({"times": (0.0,)}, "1 time and 2 values"),
        ({"times": "12"}, "times='12' must be a sequence"),
        ({"values": (1.0, math.nan)}, "values has nan"),
        ({"values": (1.0, -2.0)}, r"value -2\.0 must be at least 0"),
        ({"unit": "watts"}, "unit='watts' must be a price"),
        ({"until": 3.0}, r"until=3\.0 must be after its last time"),
        ({"until": math.inf, "beyond": "repeat"}, "give until="),
        ({"beyond": "never"}, "beyond='never' is none of refuse, repeat, last"),
        ({"held": -1}, "held=-1 must be a whole number"),
        ({"cluster": "a\n"}, "cluster"),
    ],
)
def test_wrong_signals_are_refused(words: dict[str, Any], message: str) -> None:
    """An error says field, value and rule."""
    usual = {"times": (0.0, 5.0), "values": (1.0, 2.0), "unit": "g/kWh"}
    with pytest.raises(FederationError, match=message):
        fs.Signal(**usual | words)


@pytest.mark.parametrize(
    ("signals", "message"),
    [
        ((replace(STEPS, cluster="z"),), "a carbon signal is of 'z', which is not one of its clusters"),
        ((STEPS, STEPS), "two carbon signals of all clusters"),
        ((replace(STEPS, cluster="a"),), "cluster 'b' has no carbon signal"),
        ((replace(STEPS, unit="EUR/MWh", cluster="a"), replace(STEPS, unit="CZK/MWh")), "in CZK/MWh and EUR/MWh"),
    ],
)
def test_federations_refuse_signals_that_do_not_go_with_their_clusters(
    signals: tuple[fs.Signal, ...], message: str
) -> None:
    """Each cluster has one signal of a kind, or none has one; prices are in one money."""
    with pytest.raises(FederationError, match=message):
        machine(*signals, clusters=(ONE, OTHER))


def test_a_federation_file_keeps_signals(tmp_path: Path) -> None:
    """What is written comes back, notes and counted gaps included."""
    there = machine(replace(STEPS, held=2, notes=("by ear",)), fs.Signal((0.0,), (-5.0,), "EUR/MWh", beyond="last"))
    there.write(tmp_path / "machine.toml")
    back = fs.Federation.read(tmp_path / "machine.toml")
    assert back == there
    assert back.signals[0].said == there.signals[0].said == (
        "by ear", "the value before it for 2 steps without one, in the carbon signal",
    )  # fmt: skip


def test_a_curve_agrees_with_its_steps() -> None:
    """Integral and value at any time are those of the steps, be it far before or after them."""
    signal = fs.Signal((5.0, 6.0, 9.0), (1.0, 4.0, 2.0), "g/kWh", until=10.0, beyond="repeat")
    curve = Curve(signal)
    assert curve.at(np.array([5.0, 5.5, 6.0, 9.9, 10.0, 0.0, 1.0, 16.0])).tolist() == [1, 1, 4, 2, 1, 1, 4, 4]
    assert curve.integral(np.array([10.0, 15.0])) - curve.integral(np.array([5.0, 0.0])) == pytest.approx([15, 45])
    assert curve.changes(4.0, 15.5).tolist() == [4.0 + 1, 6, 9, 10, 11, 14, 15]


# ---- files


def test_a_file_of_dates_is_aligned_with_the_logs_clock(tmp_path: Path) -> None:
    """Times in UTC are seconds from the log's UnixStartTime on; an origin takes its place; gaps are counted."""
    file = tmp_path / "carbon.csv"
    file.write_text(
        "Time,Carbon Intensity\n1970-01-02 00:00:00,100\n1970-01-02 00:30:00,\n1970-01-02 01:00:00,300\n"
        "1970-01-02 02:30:00,50\n1970-01-02 03:00:00,60\n",
        encoding="utf-8",
    )
    log = replace(jobs((0.0, 1, 1.0)), header=(("UnixStartTime", "82800"), ("TimeZoneString", "Europe/Prague")))
    signal = read_signal(file, "g/kWh", workload=log)
    assert signal.times == (3600.0, 7200.0, 12600.0, 14400.0 - 2 * 900 + 1800)
    assert (signal.values, signal.until, signal.held) == ((100.0, 300.0, 50.0, 60.0), 16200.0, 3)
    assert "UnixStartTime" in signal.said[0]
    given = read_signal(file, "g/kWh", workload=log, origin="1970-01-02T00:00:00", cluster="a")
    assert (given.times[0], given.cluster, given.notes) == (0.0, "a", ())
    prague = read_signal(file, "g/kWh", workload=log, zone="Europe/Prague")
    assert prague.times[0] == 0.0
    assert read_signal(file, "g/kWh", workload=log, zone="local").times[0] == 0.0
    assert read_signal(file, "g/kWh", origin="1970-01-02", step=900).held == 8 + 1


def test_a_file_may_count_the_jobs_own_seconds(tmp_path: Path) -> None:
    """A column named second counts them; where steps are uneven none is missing."""
    file = tmp_path / "prices.csv"
    file.write_text("second;price\n0;1,5\n10;2\n25;-3\n", encoding="utf-8")
    signal = read_signal(file, "EUR/MWh", beyond="last")
    assert signal == fs.Signal((0.0, 10.0, 25.0), (1.5, 2.0, -3.0), "EUR/MWh", beyond="last")


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("time,a,b\n1,2,3\n", {}, "two columns"),
        ("time,a\n", {}, "0 lines"),
        ("second,a\n0,\n", {}, "line 2: the first value is empty"),
        ("second,a\n0,1\n0,2\n", {}, "line 3: its time is not after that of line 2"),
        ("second,a\n0,high\n", {}, "a='high' must be a number"),
        ("second,a\nnow,1\n", {}, "second='now' must be seconds"),
        ("time,a\n2020-01-01,1\n", {}, "the date of second 0 is unknown; give origin="),
        ("time,a\nnoon,1\n", {"origin": "2020-01-01"}, "time='noon' must be a time"),
        ("time,a\n2020-01-01,1\n", {"zone": "Atlantis/City"}, "is not a time zone"),
        ("second,a\n0,1\n", {"step": 0.0}, r"step=0\.0 must be seconds"),
    ],
)
def test_wrong_files_are_refused_by_line(tmp_path: Path, text: str, words: dict[str, Any], message: str) -> None:
    """An error says which line, which field and what to do."""
    file = tmp_path / "signal.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FederationError, match=message):
        read_signal(file, "EUR/MWh", **words)


def test_a_log_that_tells_no_zone_says_that_its_clock_was_taken(tmp_path: Path) -> None:
    """Where the header's time has no zone the signal's is taken as it stands, and that is said."""
    file = tmp_path / "signal.csv"
    file.write_text("time,a\n2020-01-01 01:00:00,1\n", encoding="utf-8")
    log = replace(jobs((0.0, 1, 1.0)), header=(("StartTime", "2020-01-01 00:00:00"),))
    signal = read_signal(file, "EUR/MWh", workload=log)
    assert signal.times == (3600.0,)
    assert "nothing says in which zone" in signal.said[1]


# ---- searches


def test_a_search_finds_the_cheap_hour_in_space() -> None:
    """Of two equal clusters the one whose hour is clean takes the job, and each plan's carbon is its schedule's."""
    sites = (ONE, replace(ONE, name="b"))
    dirty, clean = (fs.Signal((0.0,), (grams,), "g/kWh", cluster=name) for name, grams in (("a", 500.0), ("b", 50.0)))
    log = jobs((0.0, 1, HOUR), (HOUR, 1, HOUR))
    found = fs.optimize(
        log, machine(dirty, clean, clusters=sites), objectives=("carbon", "mean_wait"), submits="keep", evaluations=60
    )
    best = found.best("carbon")
    assert best.counts[:, 1].tolist() == [1, 1]
    assert found.method == "moga"
    assert best.metrics().carbon == pytest.approx(found.front.values[0, 0], rel=1e-12)
    assert found.front.values[0, 0] < found.baselines[0].values[0]
    assert "carbon" in str(found)


@pytest.mark.deep
@pytest.mark.parametrize("objectives", [("cost", "makespan"), ("carbon", "cost", "mean_wait")])
def test_fronts_of_two_and_of_three_objectives(objectives: tuple[str, ...]) -> None:
    """Each plan's values are its schedule's, no plan is beaten by another, and none is below the bounds."""
    prices = fs.Signal((0.0, HOUR, 4 * HOUR), (90.0, 20.0, 50.0), "EUR/MWh", beyond="last")
    there = machine(replace(STEPS, beyond="last"), prices, clusters=(ONE, OTHER))
    log = replace(jobs(*((600.0 * k, 1, HOUR * (1 + k % 3)) for k in range(6))), slack=3 * HOUR)
    found = fs.optimize(log, there, objectives=objectives, submits="keep", evaluations=400, seed=1)
    values = found.front.values
    assert len(values) > 1
    for k, row in enumerate(values):
        schedule = found.schedule(k)
        metrics = schedule.metrics()
        schedule.verify(claimed=metrics)
        assert row.tolist() == pytest.approx([getattr(metrics, name) for name in objectives], rel=1e-9)
        assert not any((other <= row).all() and (other < row).any() for other in values)
    for name, column in zip(objectives, values.T, strict=True):
        assert column.min() >= found.bound(name) * (1 - 1e-9)


def test_searches_say_what_costs_need() -> None:
    """Objectives without their signal, compiled walks, and downtimes that take nodes are refused by name."""
    log = jobs((0.0, 1, 10.0), (0.0, 1, 10.0))
    with pytest.raises(InfeasibleError, match=r"objective 'cost' needs a price signal.*--tariff"):
        fs.optimize(log, machine(STEPS), objectives="cost", evaluations=5)
    with pytest.raises(ValueError, match="'carbon' is made of signals, which compiled walks"):
        fs.optimize(log, machine(STEPS), objectives="carbon", method="memetic", evaluations=5)
    taken = fs.Downtime("a", 5.0, 6.0, kind="outage", on_running="requeue")
    with pytest.raises(InfeasibleError, match="plans do not price these"):
        fs.optimize(log, replace(machine(STEPS), calendar=(taken,)), objectives="carbon", evaluations=5)
    with pytest.raises(ValueError, match="'carbon' needs signals, which plans do not see"):
        fs.Rolling(objective="carbon", method="ga")
    closed = fs.Downtime("a", 5.0, kind="drain")
    with pytest.raises(InfeasibleError, match="ends of all jobs"):
        fs.optimize(log, replace(machine(STEPS), calendar=(closed,)), objectives="peak_watts", evaluations=5)


# ---- against the reference


def test_random_systems_cost_what_the_reference_says() -> None:
    """Schedules of every kind, under signals of every kind, cost what the plain sum over pieces of time says."""
    rng = random.Random(65)
    for seed in range(65_000, 65_000 + tries(150)):
        schedule = run_engine(scenario := strategies.random_scenario(seed, restless=True))
        expected = scenario.simulate()
        if np.isnan(schedule.finish).all():
            continue
        span, steps = max(1.0, schedule.makespan), []
        signals = []
        for cluster in schedule.federation.clusters:
            beyond = rng.choice(["refuse", "repeat", "last"])
            begin = schedule.t0 - rng.choice([0.0, 3.0, span / 3])
            times = sorted({begin, *(begin + round(rng.random() * span, 1) for _ in range(rng.randrange(6)))})
            until = times[-1] + rng.choice([0.5, span / 4]) if beyond != "refuse" else schedule.t0 + 3 * span
            values = [rng.choice([0.0, 10.0, 12.5, 300.0]) for _ in times]
            signals.append(fs.Signal(times, values, "g/kWh", cluster.name, until=until, beyond=beyond))
            steps.append(naive_measures.Steps(times, values, until, beyond, 1e-3 / 3.6e6))
        priced = replace(schedule, federation=replace(schedule.federation, signals=tuple(signals)))
        row = priced.metrics()
        near = 1e-9 if schedule.t0 < 1e6 else 1e-6  # at the epoch steps that come again are a clock's tick off
        assert row.carbon == pytest.approx(naive_measures.cost(expected, steps), rel=near, abs=1e-15), seed
        assert row.peak_watts == pytest.approx(naive_measures.peak_watts(expected)), seed
        priced.verify(claimed=row)
