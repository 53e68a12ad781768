"""`--scenario` on the command line: what it reaches, what overrules it, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.cli.app import arguments_of, build_app
from fedsched.cli.commands import COMMANDS
from fedsched.model.reading import Reading
from fedsched.study.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

SITE = """
[log]
file = "sample"
head = 30
[machine]
federation = "example"
[policy]
name = "fcfs"
[reading]
kill_at_estimate = true
"""
# Each option that a group of them has, and what a value of it looks like.
LOGS = {"--from", "--sites", "--unit", "--over-request", "--on-error"}
READING_LOGS = ("simulate", "optimize", "compare", "bounds", "report", "info", "convert", "gang", "market")
TAKING_SCENARIOS = ("simulate", "optimize", "compare", "bounds", "report")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a scenario in the folder that commands are called in."""
    monkeypatch.chdir(tmp_path)
    Path("site.toml").write_text(SITE, encoding="utf-8")
    return "site.toml"


def hash_of(call: Callable[..., Any], *words: object) -> str:
    """Return the start hash that a simulation prints."""
    status, out, err = call("simulate", *words, "--json")
    assert status == 0, err
    return str(json.loads(out)["start_hash"])


def test_a_scenario_is_what_is_simulated(site: str, call: Callable[..., Any]) -> None:
    """Tests that the command simulates the file's jobs, machine, policy and reading, and tells the reading."""
    status, out, err = call("simulate", "--scenario", site, "--json")
    said = json.loads(out)
    assert (status, err) == (0, "")
    assert said["start_hash"] == Scenario.load(site).simulate().start_hash()
    assert (said["policy"], said["jobs"], said["reading"]["kill_at_estimate"]) == ("fcfs on fastest", 30, True)


def test_options_overrule_it_one_by_one(site: str, call: Callable[..., Any]) -> None:
    """Tests that a log takes the place of the file's log, a policy of its policy, and others of one key."""
    jobs, machine = fs.Workload.example(), fs.Federation.example()
    killed = Reading(kill_at_estimate=True)
    cases: dict[tuple[object, ...], fs.Schedule] = {
        ("--head", 20): fs.simulate(jobs.head(20), machine, "fcfs", reading=killed),
        ("--policy", "easy"): fs.simulate(jobs.head(30), machine, "easy", reading=killed),
        ("--order", "sjf"): fs.simulate(jobs.head(30), machine, "sjf", reading=killed),
        ("--nodes", 128): fs.simulate(jobs.head(30), fs.Federation.homogeneous(128), "fcfs", reading=killed),
        ("--no-kill-at-estimate",): fs.simulate(jobs.head(30), machine, "fcfs"),
        ("--knowledge", "runtime", "--policy", "sjf"): fs.simulate(
            jobs.head(30), machine, "sjf", reading=killed, knowledge="runtime"
        ),
    }
    for words, expected in cases.items():
        assert hash_of(call, "--scenario", site, *words) == expected.start_hash(), words
    another = fs.simulate(fs.Workload.example("figure-1-6"), machine, "fcfs", reading=killed)
    assert hash_of(call, "figure-1-6", "--scenario", site) == another.start_hash()


def test_its_reading_holds_for_every_command(site: str, call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that searches, bounds and comparisons under a scenario have its reading, and say what they leave out."""
    left = "fedsched: site.toml: [policy] is for simulate and report; {} ignores it.\n"
    words = ("--head", 8, "--method", "random", "--evaluations", 20, "--json")
    status, out, err = call("optimize", "--scenario", site, *words)
    assert (status, err) == (0, left.format("optimize"))
    assert "run times are unknown, estimates known; jobs end at their estimate" in json.loads(out)["reading"]
    status, out, err = call("compare", "--scenario", site, "--method", "fcfs", "--seeds", 1, "--json", "--head", 9)
    (instance,) = json.loads(out)["instances"]
    assert (instance["name"], instance["jobs"], instance["knowledge"]) == ("site 9", 9, "estimate")
    assert (status, instance["kill_at_estimate"]) == (0, True)
    assert call("bounds", "--scenario", site, "--json")[2] == left.format("bounds")
    status, out, _ = call("report", "--scenario", site, "--out", "r.html", "--json")
    assert (status, [plan["label"] for plan in json.loads(out)["plans"]]) == (0, ["fcfs on fastest"])
    assert "fedsched report --scenario site.toml --out r.html" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_an_options_file_alters_no_scenario(site: str, call: Callable[..., Any]) -> None:
    """Tests that fedsched.toml does not change what a scenario on the command line says, and may name one itself."""
    plain = hash_of(call, "--scenario", site)
    Path("fedsched.toml").write_text('[simulate]\npolicy = "easy"\nnodes = 128\nhead = 3\n', encoding="utf-8")
    assert hash_of(call, "--scenario", site) == plain
    Path("fedsched.toml").write_text(f'[simulate]\nscenario = "{site}"\n', encoding="utf-8")
    assert hash_of(call) == plain


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate",), "There are no jobs to read; name a log, e.g. sample, or give --scenario FILE."),
        (("compare", "--method", "easy"), "compare: name at least one log, e.g. sample, or give --scenario FILE."),
        (("simulate", "--scenario", "gone.toml"), "gone.toml: there is no such file; check the path of the scenario."),
        (("simulate", "--scenario", "made.toml", "--head", 3), "--head is for logs, and the scenario's jobs are"),
        (("simulate", "--scenario", "site.toml", "--out", "site.toml"), "toml is no format; a plan must be"),
        (("simulate", "--scenario", "plan.csv", "--out", "plan.csv"), "the file that is read are the same file"),
        (("info", "example", "--unit", "nodes"), "example, a federation, takes no --unit"),
        (("simulate", "sample", "--unit", "nodes"), "unit='nodes' is for Slurm's dumps (sacct), and"),
    ],
)
def test_what_does_not_go_is_said(site: str, words: tuple[object, ...], said: str, call: Callable[..., Any]) -> None:
    """Tests that nothing to read, a missing scenario, and options that it has no place for are one line each."""
    Path("made.toml").write_text('[generate]\nmodel = "lublin"\njobs = 5\n', encoding="utf-8")
    Path("plan.csv").write_text("id,start\n", encoding="utf-8")
    status, out, err = call(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_made_jobs_are_simulated(site: str, call: Callable[..., Any]) -> None:
    """Tests that a scenario's model is run on the machine it is made for, by the seed of the command line."""
    Path("made.toml").write_text('[generate]\nmodel = "lublin"\njobs = 20\nnodes = 64\n', encoding="utf-8")
    jobs = fs.generate.lublin(20, 64, seed=7)
    expected = fs.simulate(jobs, fs.Federation.homogeneous(64))
    assert hash_of(call, "--scenario", "made.toml", "--seed", 7) == expected.start_hash()


def test_how_a_log_is_read_is_asked_wherever_one_is() -> None:
    """Tests that the options of reading stand at every command that reads a log, and --scenario where a machine is."""
    app = build_app()
    names = {command: {argument.name for argument in arguments_of(app, command)} for command in COMMANDS}
    for command in READING_LOGS:
        assert names[command] >= LOGS, command
    for command in TAKING_SCENARIOS:
        assert names[command] >= {"--scenario", "--nodes", "--federation", "--uplink"}, command
