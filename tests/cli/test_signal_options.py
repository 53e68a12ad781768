"""Prices and carbon on the command line and in scenarios."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.core.errors import FieldError
from fedsched.study.scenario.scenario_parts import Machine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_the_command_line_prices_a_schedule(call: Callable[..., Any], tmp_path: Path) -> None:
    """--tariff and --carbon are read, of all clusters or of one, and the metrics say what comes of them."""
    log, prices, north = tmp_path / "jobs.csv", tmp_path / "prices.csv", tmp_path / "north.csv"
    log.write_text("submit,tasks,runtime\n0,4,20\n0,2,5\n", encoding="utf-8")
    prices.write_text("second,price\n0,100\n10,200\n", encoding="utf-8")
    north.write_text("second,grams\n0,100\n", encoding="utf-8")
    words = ("simulate", log, "--nodes", "4", "--tariff", prices, "--carbon", f"cluster={north}")
    status, _, said = call(*words, "--json")
    assert status != 0
    assert "price signal ends at 20 s, before the schedule does at 25 s" in said
    told = json.loads(call(*words, "--beyond", "last", "--json")[1])
    watts = 4 * 135.0
    rest = (2 * 135.0 + 2 * 93.7) * 5
    assert told["metrics"]["cost"] == pytest.approx((watts * 10 * 100 + (watts * 10 + rest) * 200) / 3.6e9)
    assert told["metrics"]["carbon"] == told["metrics"]["energy"] * 100 * 1e-3 / 3.6e6
    assert "the last value of the price signal after its end" in told["assumed"]
    status, _, said = call("simulate", log, "--nodes", "4", "--beyond", "last")
    assert status != 0
    assert "--beyond is for a --tariff, --carbon or --cap" in said


def test_info_shows_signals(call: Callable[..., Any], tmp_path: Path) -> None:
    """A federation's signals are a table of its page, and a list of its JSON."""
    grams = fs.Signal((0.0, 3600.0), (100.0, 200.0), "g/kWh")
    there = fs.Federation(fs.Federation.homogeneous(4).clusters, signals=(grams, fs.Signal((0.0,), (50.0,), "EUR/MWh")))
    there.write(tmp_path / "machine.toml")
    said = call("info", tmp_path / "machine.toml")[1]
    for word in ("g/kWh", "EUR/MWh", "7200", "—"):
        assert word in said
    told = json.loads(call("info", tmp_path / "machine.toml", "--json")[1])
    assert [one["kind"] for one in told["signals"]] == ["carbon", "price"]


def test_scenarios_name_signals(tmp_path: Path) -> None:
    """A scenario's signals are files of its folder, be it of one cluster."""
    (tmp_path / "p.csv").write_text("second,price\n0,100\n", encoding="utf-8")
    (tmp_path / "case.toml").write_text(
        '[log]\nfile = "sample"\nhead = 5\n[machine]\nnodes = 128\ntariff = ["p.csv"]\ncarbon = ["cluster=p.csv"]\n'
        'beyond = "last"\n',
        encoding="utf-8",
    )
    scenario = fs.Scenario.load(tmp_path / "case.toml")
    assert scenario.machine.carbon == (f"cluster={tmp_path / 'p.csv'}",)
    row = scenario.simulate().metrics()
    assert row.carbon == row.energy * 100 * 1e-3 / 3.6e6


def test_the_command_line_switches_idle_nodes_off(call: Callable[..., Any], tmp_path: Path) -> None:
    """--power takes the place of the federation's own; a machine that does not say what off means is refused."""
    log = tmp_path / "jobs.csv"
    log.write_text("submit,tasks,runtime\n0,4,20\n900,2,5\n", encoding="utf-8")
    group = fs.NodeGroup(4, off_watts=0.0, boot_seconds=30.0)
    fs.Federation((fs.Cluster("a", (group,)),), power=fs.policies.Planned()).write(tmp_path / "machine.toml")
    words = ("simulate", log, "--federation", tmp_path / "machine.toml", "--json")
    told = {power: json.loads(call(*words, "--power", power)[1])["metrics"] for power in ("always", "timeout:10m")}
    assert (told["always"]["boot_wait"], told["timeout:10m"]["boot_wait"]) == (None, 15.0)
    assert told["timeout:10m"]["energy"] < told["always"]["energy"]
    beside = {power: json.loads(call(*words, "--power", power)[1]).get("always_on") for power in told}
    assert (beside["always"], beside["timeout:10m"]["energy"]) == (None, told["always"]["energy"])
    assert "always on" in call(*words[:-1], "--power", "timeout:10m")[1]
    assert json.loads(call(*words)[1])["metrics"]["switches"] == 4.0
    status, _, said = call("simulate", log, "--nodes", "4", "--power", "timeout:10m")
    assert status != 0
    assert "give off_watts= of each NodeGroup" in said


def test_the_command_line_caps_power(call: Callable[..., Any], tmp_path: Path) -> None:
    """--cap takes shares, amounts and files, of all clusters or of one, and shows what the same is without it."""
    log, caps = tmp_path / "jobs.csv", tmp_path / "caps.csv"
    log.write_text("submit,tasks,runtime\n0,2,20\n0,2,5\n", encoding="utf-8")
    caps.write_text("second,watts\n0,1000\n30,470\n", encoding="utf-8")
    fs.Federation((fs.Cluster("A", (fs.NodeGroup(4, 1.0, 150.0, 50.0),)),)).write(tmp_path / "machine.toml")
    words = ("simulate", log, "--federation", tmp_path / "machine.toml", "--json")
    waits = {"100%": 0.0, "75%": 10.0, "0.4kW": 10.0, "399.9": None, "A=75%": 10.0, str(caps): 0.0}
    for cap, wait in waits.items():
        beyond = ("--beyond", "last") if cap == str(caps) else ()
        status, out, said = call(*words, "--cap", cap, *beyond)
        if wait is None:
            assert "draw 200 W more than idle ones, and the power cap leaves 199.9 W" in said
            continue
        assert status == 0, said
        told = json.loads(out)
        assert told["metrics"]["mean_wait"] == wait, cap
        assert (told["without_cap"]["mean_wait"], told["without_cap"]["peak_watts"]) == (0.0, 600.0)
    said = call(*words[:-1], "--cap", "75%")[1]
    assert "without cap" in said
    assert "without_cap" not in json.loads(call(*words, "--cap", "none")[1])
    for options, wrong in (
        (("--cap", "none", "--cap", "75%"), "'none' excludes other caps"),
        (("--cap", "75%", "--beyond", "last"), "--beyond is for a --tariff, --carbon or --cap"),
        (("--cap", str(caps)), "The power cap ends at 60 s, and plans look beyond that"),
    ):
        status, _, said = call(*words, *options)
        assert status != 0
        assert wrong in said


def test_caps_of_a_scenario_and_of_a_federations_file(call: Callable[..., Any], tmp_path: Path) -> None:
    """A scenario's caps are texts, or files of its folder; --cap none takes the federation's own away."""
    (tmp_path / "caps.csv").write_text("second,watts\n0,50000\n", encoding="utf-8")
    (tmp_path / "case.toml").write_text(
        '[log]\nfile = "sample"\nhead = 5\n[machine]\nnodes = 128\ncap = ["caps.csv", "cluster=99%"]\ncap_at = "now"\n',
        encoding="utf-8",
    )
    scenario = fs.Scenario.load(tmp_path / "case.toml")
    assert scenario.machine.cap == (str(tmp_path / "caps.csv"), "cluster=99%")
    schedule = scenario.simulate()
    assert schedule.federation.cap == "now"
    assert [signal.kind for signal in schedule.federation.signals] == ["cap", "cap"]
    schedule.federation.write(tmp_path / "machine.toml")
    told = json.loads(call("info", tmp_path / "machine.toml", "--json")[1])
    assert told["cap"] == "now"
    log = tmp_path / "jobs.csv"
    log.write_text("submit,tasks,runtime\n0,1,20\n", encoding="utf-8")
    words = ("simulate", log, "--federation", tmp_path / "machine.toml", "--json")
    assert json.loads(call(*words)[1])["metrics"]["peak_watts"] is not None
    assert json.loads(call(*words, "--cap", "none")[1])["metrics"]["peak_watts"] is None


def test_info_tells_of_nodes_that_go_off(call: Callable[..., Any], tmp_path: Path) -> None:
    """Its table has what they draw in each state, given or not, and that planned switching knows all beforehand."""
    group = fs.NodeGroup(4, 1.0, 100.0, 50.0, name="old", off_watts=5.0, boot_seconds=30.0)
    fs.Federation((fs.Cluster("a", (group,)),), power=fs.policies.Planned()).write(tmp_path / "machine.toml")
    said = call("info", tmp_path / "machine.toml")[1]
    assert "power planned" in said
    assert "knows the whole schedule beforehand" in said
    (row,) = [line.split() for line in said.splitlines() if " old " in line]
    assert row[-5:] == ["5", "30", "100", "0", "50"]
    told = json.loads(call("info", tmp_path / "machine.toml", "--json")[1])
    assert (told["power"], told["groups"][0]["off_watts"], told["groups"][0]["boot_watts"]) == ("planned", 5.0, None)
    assert "power" not in json.loads(call("info", "example", "--json")[1])


def test_the_command_line_finds_the_cheapest_plan_by_a_time(call: Callable[..., Any], tmp_path: Path) -> None:
    """--end-by is so long after the first submit, or a date where the log says when its second 0 was."""
    log, prices = tmp_path / "jobs.swf", tmp_path / "prices.csv"
    fields = "0 -1 3600 1 -1 -1 1 3600 -1 1 1 1 -1 1 -1 -1 -1"
    log.write_text(f"; UnixStartTime: 0\n; TimeZoneString: Europe/Prague\n1 {fields}\n", encoding="utf-8")
    prices.write_text("second,price\n0,100\n3600,50\n7200,10\n", encoding="utf-8")
    node = fs.NodeGroup(1, 1.0, 1000.0, 10.0)
    fs.Federation((fs.Cluster("a", (node,)),)).write(tmp_path / "machine.toml")
    words = (
        "optimize",
        log,
        "--federation",
        tmp_path / "machine.toml",
        "--tariff",
        prices,
        "--beyond",
        "last",
        "--objective",
        "cost",
    )
    words += ("--evaluations", "60", "--json")
    for by, least in (
        ("1h", 1.0 * 100),
        ("2h", 0.01 * 100 + 1.0 * 50),
        ("1970-01-01T03:00", 0.01 * 100 + 1.0 * 50),
        ("10800", 0.01 * 150 + 1.0 * 10),
    ):
        told = json.loads(call(*words, "--end-by", by)[1])
        assert told["front"][0][0] == pytest.approx(least / 1000)
        assert 0.9 * least / 1000 < told["lower_bounds"]["cost"] <= least / 1000
    status, _, said = call(*words, "--end-by", "noon")
    assert status != 0
    assert "end_by='noon' must be a time after the first submit" in said
    status, _, said = call(*words, "--end-by", "30m")
    assert status != 0
    assert "no schedule of these jobs ends before 60.0 min after it" in said
    log.write_text("1 " + fields + "\n", encoding="utf-8")
    status, _, said = call(*words, "--end-by", "1970-01-01T03:00")
    assert status != 0
    assert "does not say when its second 0 was; give a time after the first submit: 18h" in said


def test_options_name_forecasts(call: Callable[..., Any], tmp_path: Path) -> None:
    """--carbon-forecast is of the signal of its cluster; where there is none, that is said."""
    log, true, guess = (tmp_path / name for name in ("jobs.csv", "true.csv", "guess.csv"))
    log.write_text("submit,tasks,runtime\n0,4,20\n0,2,5\n", encoding="utf-8")
    true.write_text("second,grams\n0,100\n10,200\n", encoding="utf-8")
    guess.write_text("second,grams\n0,300\n10,100\n", encoding="utf-8")
    words = ("optimize", log, "--nodes", "4", "--objective", "carbon", "--method", "ga", "--evaluations", "50")
    words = (*words, "--carbon", true, "--beyond", "last")
    told = json.loads(call(*words, "--carbon-forecast", guess, "--json")[1])
    assert told["foresight"] == "planned by forecasts of the carbon signal; figures are of what came"
    assert json.loads(call(*words, "--json")[1])["foresight"] == ""
    status, _, said = call(*words, "--tariff-forecast", guess)
    assert status != 0
    assert "--tariff-forecast is a forecast of a --tariff, and there is none" in said
    with pytest.raises(FieldError, match="of 'north', and there is none"):
        Machine(nodes=4, carbon=(str(true),), carbon_forecast=(f"north={guess}",), beyond="last").cluster()
    assert str(guess) in Machine(nodes=4, carbon=(str(true),), carbon_forecast=(str(guess),)).sources
