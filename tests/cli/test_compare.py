"""`fedsched compare`: instances from logs, tables and JSON, resuming, and errors of one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fedsched import cli

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
LOG = ("sample", "--federation", "example", "--head", "45", "--package", "20", "--evaluations", "60")


@pytest.fixture
def call(call: Callable[..., tuple[int, str, str]]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `fedsched compare` in this process: exit status, output, errors."""
    return lambda *arguments: call("compare", *arguments)


@pytest.fixture
def simulated(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs any command in this process."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = cli.run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def options(*methods: str) -> tuple[str, ...]:
    """Return the options that name these methods."""
    return tuple(word for method in methods for word in ("--method", method))


@pytest.mark.compiled
def test_methods_and_policies_side_by_side(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests the printed table and tests, the file of runs that makes a second call short, and the report."""
    out, report = tmp_path / "runs.jsonl", tmp_path / "report.html"
    log = ("sample", "--federation", "example", "--head", 160, "--package", 20, "--evaluations", 60)
    words = (*log, *options("hc", "easy", "fcfs"), "--seeds", 2, "--out", out, "--report", report)
    status, said, err = call(*words)
    assert (status, err) == (0, "")
    assert "sample 20 #1  hc" in said
    assert "average ranks: hc 1.00" in said
    assert "hc ahead of easy" in said
    assert f"Report: {report}" in said
    assert len(out.read_text().splitlines()) == 8 * (2 + 1 + 1)
    assert "Friedman over 8 instances" in report.read_text(encoding="utf-8")
    before = out.read_bytes()
    assert call(*words)[1] == said
    assert out.read_bytes() == before


@pytest.mark.compiled
def test_json_holds_every_measure(call: Callable[..., Any]) -> None:
    """Tests that two objectives give indicators too, and that statements are words and numbers."""
    objectives = ("--objective", "makespan", "--objective", "energy")
    words = (*LOG[:-1], "200", *options("random", "fcfs"), *objectives, "--seeds", 4)
    status, said, _ = call(*words, "--json", "--by", "run", "--against", "random")
    found = json.loads(said)
    assert status == 0
    assert set(found["measures"]) == {"hypervolume", "igd_plus", "epsilon", "epsilon_ratio", "makespan", "energy"}
    assert found["measure"] == "hypervolume"
    assert [(pair["first"], pair["second"], pair["verdict"]) for pair in found["pairs"]] == [
        ("random", "fcfs", "ahead")
    ]
    assert "at least 3 methods" in found["friedman"]


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.compiled
def test_processes_change_nothing(call: Callable[..., Any]) -> None:
    """Tests that two worker processes give the same table as none."""
    words = (*LOG, *options("hc", "easy"), "--seeds", 2, "--json")
    alone, together = (json.loads(call(*words, "--workers", count)[1]) for count in (1, 2))
    assert alone == together


def test_policies_alone_need_no_search(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests several federations without a search, each an instance, and that few runs say so."""
    other = tmp_path / "other.toml"
    shipped = (ROOT / "fedsched/data/federations/example.toml").read_text(encoding="utf-8")
    other.write_text(shipped.replace('name = "example"', 'name = "other"', 1), encoding="utf-8")
    words = ("sample", "--federation", "example", "--federation", other, "--head", 10, "--evaluations", 1)
    status, said, _ = call(*words, *options("fcfs", "easy"), "--seeds", 1)
    assert status == 0
    assert "sample on example 10" in said
    assert "sample on other 10" in said
    assert "no test: 2 instances, and seeds are repeats; Wilcoxon's test of 1 pair" in said


def test_a_failed_run_is_told(call: Callable[..., Any]) -> None:
    """Tests that a method that cannot do the objective is named below the table, with exit status 1."""
    status, said, _ = call(*LOG, *options("mpso-fga", "fcfs"), "--seeds", 1)
    assert status == 1
    assert "failed: the run of mpso-fga on sample 20 #1, seed 0 and " in said
    assert "ValueError" in said
    assert "fcfs" in said


def test_logs_of_the_same_name_are_told_apart(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that two files of one name, with dots in it, are instances by their paths, and else by their names."""
    logs = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        logs.append(tmp_path / folder / "log-2.2.csv")
        logs[-1].write_text("submit,tasks,runtime\n0,1,5\n1,2,7\n", encoding="utf-8")
    words = ("--nodes", 4, "--evaluations", 1, *options("fcfs"), "--seeds", 1)
    assert "\nlog-2.2 2  " in call(logs[0], *words)[1]
    said = call(*logs, *words)[1]
    assert all(f"{log} 2  " in said for log in logs)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--evaluations", "1"), "name at least one log"),
        (("sample", "--nodes", "64"), "a search needs a budget; give --evaluations, --seconds or both"),
        ((*LOG, "--method", "memetik"), "Did you mean 'memetic'?"),
        ((*LOG, "--objective", "makespann"), "Did you mean 'makespan'?"),
        ((*LOG, "--seeds", "0"), "--seeds=0 must be at least 1"),
        ((*LOG, "--workers", "0"), "--workers=0 must be at least 1"),
        (("sample", "--nodes", "64", "--evaluations", "1", "--package", "0"), "--package=0 must be at least 1"),
        (("sample", "--nodes", "64", "--head", "5", "--package", "9", "--evaluations", "1"), "do not fill one package"),
        ((*LOG, "--alpha", "2"), "alpha=2.0 must lie between 0 and 1"),
        ((*LOG, "--against", "moga"), "Unknown method 'moga'"),
        ((*LOG, "--out", "runs.txt"), "a list of runs must be"),
        ((*LOG, "--report", "no/report.html"), "no does not exist"),
        (("none.swf", "--evaluations", "1"), "there is no such file"),
    ],
)
def test_errors_are_one_line(words: tuple[str, ...], message: str, call: Callable[..., Any]) -> None:
    """Tests that a mistake is said in one line on stderr before any run, with exit status 2."""
    status, out, err = call(*words)
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_ctrl_c_says_what_is_kept(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that an interrupt after some runs tells how many are in the file, and that the same command goes on."""
    from fedsched.comparison.entrants import PolicyEntrant

    words = (*LOG, *options("fcfs", "easy"), "--seeds", 1, "--out", tmp_path / "runs.jsonl")
    whole = PolicyEntrant.run

    def until_easy(self: PolicyEntrant, *task: Any) -> Any:
        if self.name == "easy":
            raise KeyboardInterrupt
        return whole(self, *task)

    monkeypatch.setattr(PolicyEntrant, "run", until_easy)
    status, out, err = call(*words)
    assert (status, out) == (130, "")
    assert err.startswith("fedsched: interrupted; 1 of 4 runs are in")
    monkeypatch.setattr(PolicyEntrant, "run", whole)
    assert call(*words)[0] == 0
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 4


@pytest.mark.compiled
def test_gangs_and_markets_are_compared_too(call: Callable[..., Any]) -> None:
    """Tests that the two other simulators' methods are compared by name, without a budget; a strange metric is not."""
    status, said, _ = call("market", *options("css", "slicer"), "--objective", "cost", "--seeds", 2, "--json")
    assert status == 0
    assert {row["method"] for row in json.loads(said)["measures"]["cost"]} == {"css", "slicer"}
    status, _, err = call("gang", *options("pinto-2014-s1"), "--objective", "makespan", "--seeds", 1)
    assert status == 2
    assert "mean_response" in err


def test_a_policy_waits_as_in_simulate(call: Callable[..., Any], simulated: Callable[..., Any]) -> None:
    """Tests that --submits keep --knowledge estimate gives `simulate`'s figure, and that the second line says which."""
    words = ("sample", "--nodes", 128, "--objective", "mean_wait", *options("easy"), "--seeds", 1)
    simulate = json.loads(simulated("simulate", "sample", "--nodes", 128, "--policy", "easy", "--json")[1])
    usual = call(*words)[1].splitlines()
    assert usual[0] == "easy is the only method on 1 instance by mean_wait."
    assert usual[1] == "Reading: all jobs wait from the start; run times are known (clairvoyant)."
    kept = (*words, "--submits", "keep", "--knowledge", "estimate")
    told = call(*kept)[1].splitlines()[1]
    assert told.startswith("Reading: jobs arrive at their submit times; run times are unknown, estimates")
    found = json.loads(call(*kept, "--json")[1])
    assert found["measures"]["mean_wait"][0]["median"] == simulate["metrics"]["mean_wait"]
    assert next(iter(found)) == "reading"
    assert found["reading"] in call(*kept)[1]
    one = found["instances"][0]
    assert (one["submits"], one["knowledge"], one["saturation"], one["same_time"]) == (
        "keep",
        "estimate",
        "dynamic",
        "batch",
    )


def test_what_draws_its_own_jobs_takes_no_reading(call: Callable[..., Any]) -> None:
    """Tests that an option that would change nothing for gangs and markets is refused, not dropped."""
    status, _, err = call("market", *options("css"), "--objective", "cost", "--seeds", 1, "--submits", "keep")
    assert (status, err.count("\n")) == (2, 1)
    assert "--submits is for logs; gang and market draw their own jobs" in err
