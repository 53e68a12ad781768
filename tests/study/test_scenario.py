"""Scenarios: what a file says is what is simulated; what it says wrongly is named; there and back nothing changes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.cli import describe
from fedsched.core.errors import ConfigError, FieldError
from fedsched.model.reading import Reading
from fedsched.study.scenario import Log, Machine, Made, PolicyChoice, Scenario
from fedsched.study.scenario.files import read_scenario, write_scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WHOLE = """
name = "north, killed"
seed = 3

[log]
file = "jobs.csv"
format = "csv"
window = [0, 1e9]
scale_load = 2
head = 40
sample = 20
communication = "10M"

[machine]
uplink = ["1.25G", "north=2G"]

[[machine.cluster]]
name = "north"
[[machine.cluster.group]]
count = 96
[[machine.cluster]]
name = "south"
[[machine.cluster.group]]
count = 64
speed = 1.5

[policy]
name = "easy"
backfill_order = "sjf"
placement = "best_fit"

[reading]
same_time = "sequential"
knowledge = "runtime"
saturation = "static"
kill_at_estimate = true
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes a scenario beside a log."""
    fs.write(fs.Workload.example().head(60), tmp_path / "jobs.csv")
    monkeypatch.chdir(tmp_path)

    def write(text: str, name: str = "site.toml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_everything_in_a_file_reaches_the_simulation(write: Callable[..., Path]) -> None:
    """Tests that a scenario's schedule is that of the calls it stands for, every table's every word among them."""
    made = Scenario.load(write(WHOLE)).simulate()
    jobs = (
        fs.read("jobs.csv").window(0, 1e9).scale_load(2).head(40).sample(20, seed=3).with_communication(bandwidth=1e7)
    )
    node = fs.NodeGroup
    machine = fs.Federation(
        (fs.Cluster("north", (node(96),), uplink=2e9), fs.Cluster("south", (node(64, speed=1.5),), uplink=1.25e9)),
        name="site",
    )
    rules = fs.Rules(dispatch="easy", backfill_order="sjf", placement="best_fit")
    reading = Reading(same_time="sequential", knowledge="runtime", saturation="static", kill_at_estimate=True)
    assert made == fs.simulate(jobs, machine, rules, reading=reading)
    assert made.reading == reading
    assert made.policy == "fcfs-easy-sjf on best_fit"


@pytest.mark.parametrize(
    "text",
    [WHOLE, '[log]\nfile = "sample"\nhead = 9\n', '[generate]\nmodel = "lublin"\njobs = 30\nnodes = 64\nload = 0.5\n',
     '[log]\nfile = "jobs.csv"\n[machine]\nfederation = "example"\n[policy]\nname = "rolling"\nevery = 60\nwindow = 5\n'
     "evaluations = 20\n", '[log]\nfile = "jobs.csv"\n[machine]\nnodes = 128\n[policy]\nname = "min-min"\n'],
)  # fmt: skip
def test_there_and_back(text: str, write: Callable[..., Path], tmp_path: Path) -> None:
    """Tests that a scenario that was saved is the one that is loaded, from the same folder and from another."""
    read = Scenario.load(write(text))
    read.save("again.toml")
    assert Scenario.load("again.toml") == read
    (tmp_path / "deeper").mkdir()
    read.save(tmp_path / "deeper" / "site.toml")
    there = Scenario.load(tmp_path / "deeper" / "site.toml")
    assert there.simulate().start_hash() == read.simulate().start_hash()


def test_files_lead_from_the_scenario_s_folder(write: Callable[..., Path], tmp_path: Path) -> None:
    """Tests that a scenario finds its log and its machine beside it, from whatever folder it is called."""
    fs.io.write_federation(fs.Federation.of(100, 100), tmp_path / "deep.toml")
    path = write('[log]\nfile = "../jobs.csv"\n[machine]\nfederation = "../deep.toml"\n', "inner/site.toml")
    scenario = Scenario.load(path)
    assert scenario.sources == (str(tmp_path / "jobs.csv"), str(tmp_path / "deep.toml"))
    assert scenario.simulate().federation.nodes == 200


def test_a_shipped_name_is_no_file(write: Callable[..., Path]) -> None:
    """Tests that names of shipped logs and federations go through, and are written as they are."""
    scenario = Scenario.load(write('[log]\nfile = "sample"\nhead = 5\n[machine]\nfederation = "example"\n'))
    assert (scenario.jobs, scenario.machine) == (Log(file="sample", head=5), Machine(federation="example"))
    assert scenario.sources == ()
    assert scenario.simulate() == fs.simulate(fs.Workload.example().head(5), fs.Federation.example())


def test_python_makes_what_a_file_says() -> None:
    """Tests that the noun works without a file: made jobs, a federation at hand, and an instance to compare on."""
    scenario = Scenario(
        jobs=Made(model="poisson", jobs=25, nodes=32, estimates="tsafrir"), machine=Machine(nodes=40), seed=2,
        policy=PolicyChoice(name="fcfs"), reading=Reading(kill_at_estimate=True),
    )  # fmt: skip
    jobs = fs.generate.poisson(25, 32, load=0.7, seed=2).with_estimates("tsafrir", seed=2)
    assert scenario.simulate() == fs.simulate(jobs, fs.Federation.homogeneous(40), "fcfs", kill_at_estimate=True)
    held = replace(scenario, machine=Machine(federation=fs.Federation.of(20, 20)))
    assert held.cluster(jobs).nodes == 40
    instance = held.instance(("mean_wait",))
    assert (instance.submits, instance.reading, instance.workload) == ("keep", scenario.reading, jobs)


MISTAKES = {
    "": "neither [log] nor [generate]",
    "[log]": "[log]: the key 'file' is missing",
    '[log]\nfile = "a.swf"\n[generate]\nmodel = "lublin"': "both [log] and [generate]",
    '[logs]\nfile = "a.swf"': "Unknown table or key 'logs'. Did you mean 'log'?",
    'log = "a.swf"': "log='a.swf' must be a table: write [log]",
    '[log]\nfil = "a.swf"': "[log]: Unknown key 'fil'. Did you mean 'file'?",
    "[log]\nfile = 3": "[log]: file=3 must be a text in quotes",
    '[log]\nfile = "a.swf"\nhead = "ten"': "[log]: head='ten' must be a whole number",
    '[log]\nfile = "a.swf"\nhead = true': "[log]: head=True must be a whole number",
    '[log]\nfile = "a.swf"\nhead = -1': "[log]: Log: head=-1 must be at least 0",
    '[log]\nfile = "a.swf"\nsites = "rooms"': "[log]: sites='rooms' must be one of 'auto', 'partition', 'none'",
    '[log]\nfile = "a.swf"\nwindow = [1]': "[log]: window=[1] must be 2 numbers",
    '[log]\nfile = "a.swf"\nstatuses = ["1"]': "[log]: statuses=['1'] must be a list of whole numbers",
    '[log]\nfile = "a.swf"\ncommunication = "much"': "[log]: communication='much' must be bytes a second",
    '[log]\nfile = "a.swf"\nscale_load = nan': "[log]: scale_load=nan must be finite and above 0",
    '[log]\nfile = "a.swf"\nwindow = [5, 1]': "[log]: window=(5, 1) must be two finite numbers of seconds",
    '[log]\nfile = "a.swf"\nwindow = [nan, inf]': "[log]: window=(nan, inf) must be two finite numbers of seconds",
    '[log]\nfile = "a.swf"\ncommunication = "1e400"': "[log]: communication='1e400' must be finite",
    '[log]\nfile = "a.swf"\n[machine]\nnodes = 0': "[machine]: nodes=0 must be at least 1",
    '[log]\nfile = "a.swf"\n[machine]\nuplink = ["fast"]': "[machine]: uplink='fast' must be bytes a second",
    '[log]\nfile = "a.swf"\n[machine]\nuplink = ["a=fast"]': "[machine]: uplink='fast' must be bytes a second",
    '[generate]\nmodel = "lublin"\nload = -1': "[generate]: load=-1 must be finite and above 0",
    '[log]\nfile = "a.swf"\n[machine]\nnodes = 3\nfederation = "example"': "[machine]: Give federation or nodes",
    '[log]\nfile = "a.swf"\n[machine]\nname = "a"': "[machine]: [[machine.cluster]] and federation both give clusters",
    '[log]\nfile = "a.swf"\n[[machine.cluster]]\nname = "a"': "[machine], cluster 1: the key 'group' is missing",
    '[log]\nfile = "a.swf"\n[policy]\nname = "eazy"': "[policy]: Unknown policy 'eazy'. Did you mean 'easy'?",
    '[log]\nfile = "a.swf"\n[policy]\nwindow = 4': "[policy]: window 4 goes with policy rolling; leave it out",
    '[log]\nfile = "a.swf"\n[policy]\nplacement = "low"': "[policy]: Unknown placement rule 'low'",
    '[log]\nfile = "a.swf"\n[reading]\nknowledge = "all"':
        "[reading]: knowledge='all' must be one of 'estimate', 'runtime'",
    '[log]\nfile = "a.swf"\n[reading]\nkill_at_estimate = 1': "[reading]: kill_at_estimate=1 must be true or false",
    'seed = "a"\n[log]\nfile = "a.swf"': "seed='a' must be a whole number",
    'seed = -1\n[log]\nfile = "a.swf"': "Scenario: seed=-1 must be at least 0",
    "[log": "not valid TOML",
}


@pytest.mark.parametrize(("text", "said"), MISTAKES.items())
def test_a_mistake_is_named(text: str, said: str, write: Callable[..., Path]) -> None:
    """Tests that each mistake in a file is one line with the file, the table, the key, the value and the rule."""
    path = write(text)
    with pytest.raises((ConfigError, fs.errors.FederationError)) as caught:
        Scenario.load(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_field_is_called_as_it_is_where_the_error_is_read() -> None:
    """Tests that a noun's error names its fields plainly, and the command line's the options that they are there."""
    for make, plain, spelled in (
        (lambda: Machine(nodes=0), "nodes=0 must be", "--nodes=0 must be"),
        (lambda: Machine(nodes=3, federation="example"), "Give federation or nodes", "Give --federation or --nodes"),
        (lambda: Machine(uplink=("fast",)), "uplink='fast' must be", "--uplink='fast' must be"),
        (lambda: Machine().cluster(), "give nodes or federation", "give --nodes or --federation"),
        (lambda: Log(file="a", scale_load=0.0), "scale_load=0.0 must be", "--scale-load=0.0 must be"),
        (lambda: PolicyChoice(window=4).policy(), "window 4 goes with policy r", "--window 4 goes with --policy r"),
        (
            lambda: PolicyChoice(name="min-min", backfill_order="sjf").policy(),
            "backfill_order sjf is what policy",
            "--backfill-order sjf is what policy",
        ),
    ):
        with pytest.raises(FieldError) as caught:
            make()
        assert plain in str(caught.value)
        assert "--" not in str(caught.value)
        assert spelled in describe(caught.value)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_what_a_user_wrote_is_no_template() -> None:
    """Tests that braces in a value stand in the message as they were given."""
    with pytest.raises(FieldError, match=r"uplink='\{nodes\}' must be bytes a second"):
        Machine(uplink=("{nodes}",))


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    """Tests that a missing scenario and a folder are refused by name, and a log that is missing by its own."""
    with pytest.raises(ConfigError, match="there is no such file; check the path of the scenario"):
        Scenario.load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="it is a folder"):
        Scenario.load(tmp_path)
    with pytest.raises(fs.errors.TraceError, match=r"gone\.swf: there is no such file"):
        Scenario(jobs=Log(file="gone.swf")).workload()


@pytest.mark.parametrize("part", ["jobs", "machine", "policy", "reading"])
def test_a_part_of_another_kind_is_refused(part: str) -> None:
    """Tests that what stands where a part belongs must be one."""
    parts: dict[str, Any] = {"jobs": Log(file="sample"), part: "easy"}
    with pytest.raises(TypeError, match=f"Scenario: {part}='easy' must be a"):
        Scenario(**parts)


def test_how_a_log_is_read_goes_through(tmp_path: Path) -> None:
    """Tests that sites, unit, statuses and what to do with faults are those that `read` is told."""
    dump = tmp_path / "site.sacct"
    dump.write_text(
        "JobIDRaw|Cluster|Partition|User|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|State\n"
        "1|c|short|a|2024-01-01T00:00:00|60|2|8|2|COMPLETED\n"
        "2|c|long|b|2024-01-01T00:01:00|600|20|16|4|COMPLETED\n"
        "3|c|long|b|2024-01-01T00:02:00|600|20|16|4|FAILED\n",
        encoding="utf-8",
    )
    log = Log(file=str(dump), sites="partition", unit="nodes", statuses=(1,))
    jobs = log.workload()
    assert jobs == fs.read(dump, sites="partition", unit="nodes", statuses=(1,))
    assert (jobs.tasks.tolist(), set(jobs.sites)) == ([2, 4], {"short", "long"})
    assert replace(log, sites="none", unit=None).workload().tasks.tolist() == [8, 16]
    with pytest.raises(ValueError, match="unit='nodes' is for Slurm's dumps"):
        Log(file="sample", unit="nodes").workload()


def test_a_machine_of_its_own_keeps_all_its_parts(tmp_path: Path) -> None:
    """Pools, partitions, downtimes and limits of a machine that stands in the scenario come back."""
    machine = fs.Federation(
        fs.Federation.homogeneous(8, name="m").clusters,
        pools=(fs.Pool("lm", 2),),
        partitions=(fs.Partition("short", {"m": "0-3"}),),
        calendar=(fs.Downtime("m", 10.0, 20.0, "4-5", on_running="requeue"),),
        limits=(fs.Limit("user", jobs=2), fs.Limit("qos", nodes=4, names=("long",))),
    )
    write_scenario(Scenario(jobs=Log(file="sample"), machine=Machine(federation=machine)), tmp_path / "s.toml")
    again = read_scenario(tmp_path / "s.toml").machine.federation
    assert again == machine
    for part in ("pools", "partitions", "calendar", "limits"):
        assert getattr(again, part) == getattr(machine, part)
