"""The command line: what it prints, what it writes, how it fails and how it stops."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched import cli
from fedsched.cli.commands import COMMANDS, GROUPS, module_of

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("sample", "--head", "40", "--federation", "example")


def modules_after(code: str) -> set[str]:
    """Return the top-level modules that an interpreter has loaded after the code."""
    code += "\nimport sys; print('|', *sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.rpartition("|")[2].split())


# ---- help and names -----------------------------------------------------------------------------------------------


def test_help_loads_nothing_heavy() -> None:
    """Tests that `fedsched --help` loads not even the parser, and a command's help no printer of tables."""
    loaded = modules_after("from fedsched.cli import run; assert run(['--help']) == 0")
    assert not loaded & {"cyclopts", "rich"}
    loaded = modules_after("from fedsched.cli import run; assert run(['simulate', '--help']) == 0")
    assert "cyclopts" in loaded
    assert "rich" not in loaded
    assert not loaded & {"numpy", "numba", "scipy", "matplotlib", "pandas", "markdown_it", "pygments"}


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("--help-all",)])
def test_help_names_every_command(arguments: tuple[str, ...], call: Callable[..., Any]) -> None:
    """Tests that the first page says what to do first, then lists each command on one line in its group."""
    status, out, _ = call(*arguments)
    assert status == 0
    lines = out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert out.index("fedsched demo") < out.index("fedsched info YOUR.swf") < out.index("Look:")
    for group, commands in GROUPS.items():
        listed = lines[lines.index(f"{group}:") + 1 :][: len(commands)]
        assert listed == [f"  {name:<12}{COMMANDS[name]}" for name in commands]
    assert sum(map(len, GROUPS.values())) == len(COMMANDS) == 27


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_its_options(name: str, call: Callable[..., Any]) -> None:
    """Tests that each command has a help page that describes --json, and that its summary is its docstring's."""
    for option in ("--help", "-h", "--help-all"):
        status, out, _ = call(name, option)
        assert status == 0
        assert "--json" in out
        assert ("--config" in out) == (option == "--help-all")
    summary = importlib.import_module(module_of(name)).command.__doc__.splitlines()[0]
    assert summary.split()[0] == COMMANDS[name].split()[0]


def test_version(call: Callable[..., Any]) -> None:
    """Tests that --version prints the package's version and nothing else."""
    assert call("--version")[:2] == (0, f"{fs.__version__}\n")


# ---- simulate -----------------------------------------------------------------------------------------------------


def test_simulate_prints_the_metrics_of_the_library(call: Callable[..., Any]) -> None:
    """Tests that the JSON of a run is what `simulate` gives, metric by metric."""
    schedule = fs.simulate(fs.Workload.example().head(40), fs.Federation.example(), "conservative")
    status, out, err = call("simulate", *SMALL, "--policy", "conservative", "--json")
    said = json.loads(out)
    assert (status, err) == (0, "")
    assert said["metrics"] == schedule.to_json()["metrics"]
    assert said["start_hash"] == schedule.start_hash()


def test_simulate_prints_a_table(call: Callable[..., Any]) -> None:
    """Tests that the table names federation, policy, metrics and their units."""
    status, out, _ = call("simulate", *SMALL)
    assert status == 0
    assert re.search(r"energy\s+[\d,]+\s+J\s", out)
    assert "easy on fastest, example: 4 clusters" in out


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        (("--policy", "easy-sjbf"), fs.Rules(dispatch="easy", backfill_order="sjf")),
        (("--backfill-order", "sjf"), fs.Rules(dispatch="easy", backfill_order="sjf")),
        (("--order", "saf", "--dispatch", "greedy", "--placement", "best_fit"), fs.Rules("saf", "greedy", "best_fit")),
        (("--policy", "WFP3-easy"), fs.Rules("wfp3", "easy")),
        (("--policy", "lookahead"), fs.Rules(dispatch="lookahead")),
        (("--policy", "Min-Min"), fs.ListHeuristic("min-min")),
        (("--policy", "sufferage", "--dispatch", "easy"), fs.ListHeuristic("sufferage", "easy")),
    ],
)
def test_rules_are_what_the_options_say(options: tuple[str, ...], rules: fs.Rules, call: Callable[..., Any]) -> None:
    """Tests that policy, order, dispatch, backfill order and placement reach the engine, singly and together."""
    said = json.loads(call("simulate", *SMALL, *options, "--json")[1])
    schedule = fs.simulate(fs.Workload.example().head(40), fs.Federation.example(), rules)
    assert said["start_hash"] == schedule.start_hash()


def test_readings_reach_the_engine(call: Callable[..., Any]) -> None:
    """Tests that the options on events, saturation, knowledge and kills are passed on."""
    options = {"same_time": "sequential", "saturation": "static", "knowledge": "runtime", "kill_at_estimate": True}
    words = ("--same-time", "sequential", "--saturation", "static", "--knowledge", "runtime", "--kill-at-estimate")
    said = json.loads(call("simulate", "sample", "--head", 60, "--nodes", 128, *words, "--json")[1])
    schedule = fs.simulate(fs.Workload.example().head(60), fs.Federation.homogeneous(128), **options)
    assert said["metrics"] == schedule.to_json()["metrics"]


def test_a_sample_follows_its_seed(call: Callable[..., Any]) -> None:
    """Tests that --sample draws the same jobs for the same seed, and others for another."""
    first, again, other = (
        json.loads(call("simulate", "sample", "--nodes", 128, "--sample", 30, "--seed", seed, "--json")[1])
        for seed in (1, 1, 2)
    )
    assert first["jobs"] == 30
    assert first["metrics"] == again["metrics"]
    assert first["metrics"] != other["metrics"]


@pytest.mark.parametrize("name", ["plan.csv", "plan.csv.gz", "plan.swf", "plan.swf.gz", "plan.json"])
def test_plans_are_written_by_suffix(name: str, tmp_path: Path, call: Callable[..., Any]) -> None:
    """Tests that each format of a plan is written whole and can be read back."""
    path = tmp_path / name
    assert call("simulate", *SMALL, "--out", path)[0] == 0
    workload = fs.Workload.example().head(40)
    schedule = fs.simulate(workload, fs.Federation.example(), "easy")
    if ".csv" in name:
        assert fs.Schedule.read(path, workload, fs.Federation.example()).start_hash() == schedule.start_hash()
    elif ".swf" in name:
        log = fs.read(path)
        assert log.log is not None
        assert dict(zip(log.id.tolist(), log.log.wait.tolist(), strict=True)) == dict(
            zip(workload.id.tolist(), schedule.wait.tolist(), strict=True)
        )
    else:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        assert [row["start"] for row in rows] == schedule.start.tolist()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("name", "magic"), [("plan.png", b"\x89PNG"), ("plan.svg", b"<?xml")])
def test_a_gantt_chart_is_drawn(name: str, magic: bytes, tmp_path: Path, call: Callable[..., Any]) -> None:
    """Tests that --gantt writes a picture of the kind that the suffix names."""
    path = tmp_path / name
    assert call("simulate", *SMALL, "--gantt", path)[0] == 0
    assert path.read_bytes().startswith(magic)


# ---- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulat",), "Did you mean 'simulate'"),
        (("simulate",), "name a log, e.g. sample, or give --scenario FILE"),
        (("simulate", "sample", "--plicy", "easy"), "--policy"),
        (("simulate", "sample", "--head", "many"), "many"),
        (("simulate", "sample", "--policy", "eazy"), "Did you mean 'easy'"),
        (("simulate", "sample", "--policy", "minmin"), "Did you mean 'min-min'"),
        (("simulate", "sample", "--policy", "lookahed"), "Did you mean 'lookahead'"),
        (
            ("simulate", "sample", "--policy", "mct", "--placement", "single"),
            "policy 'mct' chooses itself",
        ),
        (("simulate", "sample", "--policy", "mct", "--order", "sjf"), "--order sjf is what policy 'mct' chooses"),
        (("simulate", "sample", "--placement", "singel"), "Did you mean 'single'"),
        (("simulate", "sample", "--order", "sjff"), "Did you mean 'sjf'"),
        (("simulate", "sample", "--federation", "exampel"), "Did you mean 'example'"),
        (("simulate", "sample", "--federation", "example", "--nodes", "3"), "not both"),
        (("simulate", "sampel"), "Did you mean 'sample'"),
        (("simulate", "nowhere.swf"), "no such file"),
        (("simulate", "sample", "--nodes", "5"), "5"),
        (("simulate", "sample", "--nodes", "0"), "--nodes=0 must be at least 1"),
        (("simulate", "sample", "--head", "0"), "empty"),
        (("simulate", *SMALL, "--placement", "home"), "origin"),
        (("simulate", "sample", "--out", "plan.xls"), ".csv, .swf or .json"),
        (("simulate", "sample", "--out", "plan"), "no suffix"),
        (("simulate", "sample", "--gantt", "plan.gif"), ".svg, .png or .pdf"),
        (("simulate", "sample", "--out", "no/such/folder/plan.csv"), "make it first"),
        (("info", "nowhere.toml"), "no such file"),
        (("generate", "lublin"), "--out"),
        (("generate", "lublin", "--out", "jobs.txt"), ".swf or .csv"),
        (("verify", "nowhere.swf"), "no such file"),
        (("verify", "sampel"), "Did you mean 'sample'"),
        (("verify", "sample", "--federation", "exampel", "--hosts", "x"), "Did you mean 'example'"),
    ],
)
def test_errors_are_one_line_with_the_cure(
    arguments: tuple[str, ...], said: str, call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a mistake gives exit status 2, nothing on stdout, one line that helps, and no file."""
    monkeypatch.chdir(tmp_path)
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.startswith("fedsched: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_judged_before_the_work(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that an output that cannot be written is refused before anything is simulated."""
    module = importlib.import_module("fedsched.engine.run.simulation")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the run began")

    monkeypatch.setattr(module.Simulation, "__init__", never)
    status, _, err = call("simulate", *SMALL, "--out", tmp_path)
    assert status == 2
    assert "begin" not in err
    status, _, err = call("simulate", *SMALL, "--out", tmp_path / "missing" / "plan.csv")
    assert status == 2
    assert "does not exist" in err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that a folder that may not be written to is named, with what to do."""
    tmp_path.chmod(0o500)
    status, _, err = call("simulate", *SMALL, "--out", tmp_path / "plan.csv")
    assert status == 2
    assert "Permission denied; choose a folder" in err


def test_debug_shows_the_traceback() -> None:
    """Tests that --debug lets the error through as it was raised."""
    with pytest.raises(fs.errors.UnknownNameError):
        cli.run(["simulate", "sample", "--policy", "eazy", "--debug"])


def test_an_unexpected_error_says_how_to_see_more(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an error nobody foresaw is one line too, and points to --debug."""

    def broken(*_: object, **__: object) -> None:
        raise KeyError("what")

    monkeypatch.setattr("fedsched.cli.data.info.load_workload", broken)
    status, _, err = call("info", "sample")
    assert status == 2
    assert "KeyError" in err
    assert "--debug" in err


# ---- Ctrl-C -------------------------------------------------------------------------------------------------------


def interrupting(after: int) -> Callable[[int, int], None]:
    """Return a progress callback that does what Ctrl-C does once so many jobs have finished."""

    def progress(done: int, total: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    return progress


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C be pressed in every run of the engine when ten jobs have finished."""
    import contextlib

    from fedsched.engine.run.simulation import Simulation

    bar = contextlib.nullcontext(interrupting(10))
    for name in ("simulate", "verify", "demo"):
        monkeypatch.setattr(f"{module_of(name)}.progress_bar", lambda _: bar)
    advance = Simulation.advance

    def slowly(self: Simulation, **options: Any) -> Simulation:
        self._slice = 1
        return advance(self, **options)

    monkeypatch.setattr(Simulation, "advance", slowly)


@pytest.mark.usefixtures("interrupted")
def test_what_was_done_is_kept(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that Ctrl-C ends with status 130, a note, and a plan of the jobs that were started."""
    path = tmp_path / "plan.csv"
    status, out, err = call("simulate", *SMALL, "--out", path, "--gantt", tmp_path / "plan.svg", "--json")
    said = json.loads(out)
    assert status == 130
    assert said["complete"] is False
    assert "interrupted" in err
    assert "plan.csv" in err
    plan = fs.Schedule.read(path, fs.Workload.example().head(40), fs.Federation.example())
    assert 10 <= (plan.finish == plan.finish).sum() < 40
    assert (tmp_path / "plan.svg").exists()


@pytest.mark.usefixtures("interrupted")
def test_part_of_a_schedule_is_no_verdict(call: Callable[..., Any]) -> None:
    """Tests that `verify` under Ctrl-C ends with status 130 and does not judge the schedule it was in."""
    status, out, err = call("verify", ROOT / "traces" / "lublin-128.swf.gz", "--json")
    assert status == 130
    assert json.loads(out) == []
    assert "interrupted; 0 schedules" in err


@pytest.mark.usefixtures("interrupted")
def test_no_report_on_part_of_a_run(call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `demo` under Ctrl-C writes nothing."""
    monkeypatch.chdir(tmp_path)
    status, _, err = call("demo")
    assert status == 130
    assert "nothing was written" in err
    assert list(tmp_path.iterdir()) == []


# ---- the other commands -------------------------------------------------------------------------------------------


def test_info_on_a_log(call: Callable[..., Any]) -> None:
    """Tests that a log's page says its jobs, machine, load and cleaning, as text and as JSON."""
    path = ROOT / "traces" / "lublin-128.swf.gz"
    status, out, _ = call("info", path)
    workload = fs.read(path)
    assert status == 0
    assert f"{len(workload):,} jobs" in out
    assert "cleaning:" in out
    assert json.loads(call("info", "sample", "--json")[1])["jobs"] == len(fs.Workload.example())


def test_info_on_a_federation(call: Callable[..., Any]) -> None:
    """Tests that a federation's page lists every node group."""
    groups = json.loads(call("info", "example", "--json")[1])["groups"]
    assert len(groups) == len(fs.Federation.example().groups)
    out = call("info", ROOT / "traces" / "federations" / "das-2.toml")[1]
    assert all(cluster.name in out for cluster in fs.read_federation(ROOT / "traces/federations/das-2.toml").clusters)


PLATFORM = """<platform version="4.1"><zone id="z" routing="Full">
<cluster id="c" prefix="c" radical="0-3" speed="2Gf"/></zone></platform>"""


@pytest.mark.parametrize("name", ["machine.xml", "machine.xml.gz", "machine.toml", "machine.toml.gz"])
def test_every_federation_file_is_taken(name: str, call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that platforms and packed files are taken by `info` and as --federation, like any other."""
    (tmp_path / "machine.xml").write_text(PLATFORM, encoding="utf-8")
    fs.read_federation(tmp_path / "machine.xml").write(tmp_path / "machine.toml")
    path = tmp_path / name
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress((tmp_path / path.stem).read_bytes()))
    assert json.loads(call("info", path, "--json")[1])["groups"][0]["nodes"] == 4
    log = tmp_path / "jobs.csv"
    log.write_text("submit,tasks,runtime\n0,4,5\n", encoding="utf-8")
    assert json.loads(call("simulate", log, "--federation", path, "--json")[1])["jobs"] == 1
    path.unlink()
    dump = tmp_path / "nowhere.sacct"
    for words in (("info", path), ("simulate", log, "--federation", path), ("simulate", log, "--federation", dump)):
        status, _, err = call(*words)
        assert status == 2
        assert f"{words[-1]}: there is no such file" in err


def test_a_report_on_a_batsim_workload(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that JSON which holds jobs is simulated, and JSON which is neither jobs nor a result is said to be none."""
    log, out = tmp_path / "jobs.json", tmp_path / "report.html"
    fs.write(fs.Workload.example().head(20), log)
    assert json.loads(call("report", log, "--nodes", 128, "--out", out, "--json")[1])["jobs"] == 20
    log.write_text("{}", encoding="utf-8")
    status, _, err = call("report", log, "--out", out)
    assert status == 2
    assert "jobs.json: not a saved result" in err


@pytest.mark.parametrize("model", ["lublin", "poisson", "planted"])
def test_generated_workloads_follow_the_seed(model: str, call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that the same seed writes the same bytes, another seed others, and that `read` takes them."""
    paths = [tmp_path / f"{name}.swf.gz" for name in "abc"]
    size = () if model == "planted" else ("--nodes", 64)
    for path, seed in zip(paths, (3, 3, 4), strict=True):
        assert call("generate", model, "--jobs", 50, *size, "--seed", seed, "--out", path)[0] == 0
    first, again, other = (path.read_bytes() for path in paths)
    assert first == again
    assert first != other
    assert len(fs.read(paths[0])) >= 50


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lublin", "--federation", "example"), "lublin takes no --federation; it takes --nodes, --load."),
        (("lublin", "--makespan", 10), "lublin takes no --makespan"),
        (("poisson", "--federation", "example"), "poisson takes no --federation"),
        (("planted", "--nodes", 7), "planted takes no --nodes; it takes --federation, --makespan, --within."),
        (("planted", "--load", 1.5), "planted takes no --load"),
    ],
)
def test_a_model_takes_its_own_options(
    words: tuple[object, ...], said: str, call: Callable[..., Any], tmp_path: Path
) -> None:
    """Tests that what another model is made by is refused, and not left out of the workload without a word."""
    status, _, err = call("generate", *words, "--out", tmp_path / "made.csv")
    assert status == 2
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_planted_says_its_optimum(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that the certificate of a planted workload is printed, and where its jobs were cut from is recorded."""
    call("generate", "planted", "--jobs", 30, "--within", "cluster", "--out", tmp_path / "w.csv")
    assert "within='cluster'" in fs.read(tmp_path / "w.csv").history[0]
    out = call("generate", "planted", "--jobs", 30, "--makespan", 900, "--out", tmp_path / "p.csv", "--json")[1]
    assert json.loads(out)["best_makespan"] == 900


def test_demo_writes_one_self_contained_page(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that the report has the table, the chart's place, no outside reference, and the way to reproduce."""
    monkeypatch.chdir(tmp_path)
    status, out, _ = call("demo")
    page = (tmp_path / "demo-report" / "report.html").read_text(encoding="utf-8")
    assert status == 0
    assert "demo-report/report.html" in out
    assert all(head in " ".join(out.split()) for head in ("mean_wait s", "makespan s", "energy J"))
    assert 'canvas id="gantt"' in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert all(policy in page for policy in ("fcfs", "easy", "easy-sjbf", "conservative"))
    assert "fedsched simulate" in page


def test_a_reader_who_goes_away_is_no_error() -> None:
    """Tests that output into a pipe that is closed early ends quietly."""
    command = f"{sys.executable} -m fedsched.cli simulate sample --head 20 --nodes 128 --json"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command} | true"], capture_output=True, text=True,
                          check=False, cwd=ROOT)  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


# ---- the rolling horizon ------------------------------------------------------------------------------------------

ROLLING = ("sample", "--head", "12", "--policy", "rolling", "--evaluations", "20")


def test_rolling_is_a_policy(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that the command simulates what the library does, and that a checkpoint is written."""
    file = tmp_path / "run.npz"
    options = ("--window", 5, "--method", "hc", "--every", 600, "--objective", "mean_wait", "--seed", 3)
    status, out, _ = call("simulate", *ROLLING, *options, "--checkpoint", file, "--json")
    assert status == 0
    workload = fs.Workload.example().head(12)
    policy = fs.Rolling(window=5, method="hc", every=600, objective="mean_wait", seed=3, evaluations=20)
    same = fs.simulate(workload, fs.Federation.homogeneous(workload.nodes), policy)
    assert json.loads(out)["start_hash"] == same.start_hash()
    assert file.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*ROLLING, "--every", "day"), "every='day' must be 'change' or a number of seconds"),
        ((*ROLLING, "--window", 0), "window=0 must be at least 1"),
        ((*ROLLING, "--objective", "speed"), "Unknown objective 'speed'"),
        ((*ROLLING, "--order", "sjf"), "--order sjf is found by the search; leave it out"),
        ((*SMALL, "--window", 5), "--window 5 goes with --policy rolling; leave it out"),
        ((*SMALL, "--policy", "roling"), "Did you mean 'rolling'"),
    ],
)
def test_wrong_rolling_options_are_one_line(
    arguments: tuple[object, ...], words: str, call: Callable[..., Any]
) -> None:
    """Tests that what does not go together is refused with the option's name and the cure."""
    status, _, err = call("simulate", *arguments)
    assert status != 0
    assert words in err
