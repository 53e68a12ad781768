"""Policies and search methods of other installed packages: found by name, in every verb; broken ones are named."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched import cli
from fedsched.core.errors import PluginError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CODE = """
    import fedsched as fs
    from fedsched.search import MethodInfo


    class WidestFirst:
        def rules(self, workload, federation):
            order = sorted(range(len(workload)), key=lambda row: (-workload.tasks[row], row))
            return fs.Rules(order=order, dispatch="greedy", name="widest")


    ready = fs.Rules(order="sjf", dispatch="easy", placement="best_fit")
    made = WidestFirst()


    class Few:
        \"\"\"Ten random plans a step.\"\"\"

        def __init__(self, run):
            self.steps = 0

        def step(self, run):
            self.steps += 1
            run.evaluate(run.problem.random_rows(10, run.generator(self.steps)))
            return True

        def state(self):
            return {"steps": self.steps}

        def restore(self, saved, run):
            self.steps = saved.whole("steps")


    told = MethodInfo("other", "told in full", ("flow",), Few)


    def broken():
        raise RuntimeError("no licence")


    number = 7
"""
POINTS = """
    [fedsched.policies]
    widest = other_package:WidestFirst
    Ready = other_package:ready
    made = other_package:made
    broken = other_package:broken
    seven = other_package:number
    absent = other_package:nothing
    twice = other_package:made

    [fedsched.methods]
    few = other_package:Few
    told = other_package:told
    seven = other_package:number
"""
JOBS = fs.Workload(submit=[0, 0, 0, 0], tasks=[1, 3, 2, 1], runtime=[10, 20, 30, 5], name="four")


@pytest.fixture(autouse=True)
def _others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put two distributions on the path, as if they were installed."""
    for name, points in (("others", POINTS), ("more", "[fedsched.policies]\ntwice = other_package:made\n")):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(dedent(points))
    (tmp_path / "other_package.py").write_text(dedent(CODE))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "other_package", raising=False)
    importlib.invalidate_caches()


@pytest.mark.parametrize(
    ("name", "policy"),
    [("widest", "widest on fastest"), ("ready", "ready on best_fit"), ("READY", "ready on best_fit"),
     ("made", "widest on fastest")],
)  # fmt: skip
def test_a_policy_is_a_class_an_object_or_rules(name: str, policy: str) -> None:
    """Tests that simulate takes what a package offers by its name, in any case, and that the schedule is valid."""
    schedule = fs.simulate(JOBS, 3, name)
    assert schedule.policy == policy
    schedule.verify()
    if "widest" in policy:
        assert schedule.start.tolist().index(0.0) == 1


def test_a_placement_replaces_that_of_offered_rules() -> None:
    """Tests that rules of another package are like rules of our own."""
    assert fs.simulate(JOBS, 3, "ready", placement="single").policy == "ready on single"


@pytest.mark.parametrize(("name", "objectives"), [("few", ("makespan",)), ("told", ("flow",)), ("TOLD", ("flow",))])
def test_a_method_is_a_callable_or_told_in_full(name: str, objectives: tuple[str, ...]) -> None:
    """Tests that optimize runs it with its objectives and name, and that a policy may be a baseline beside it."""
    result = fs.optimize(JOBS, 3, method=name, evaluations=30, baselines=["easy", "widest"])
    assert (result.method, result.objectives, result.evaluations) == (name.lower(), objectives, 30)
    assert [one.policy for one in result.baselines] == ["easy", "widest"]
    result.best().verify()


def test_a_result_with_an_offered_policy_comes_back(tmp_path: Path) -> None:
    """Tests that a saved result names the policy and is checked with it."""
    result = fs.optimize(JOBS, 3, "flow", "few", evaluations=20, baselines=["widest"])
    result.save(tmp_path / "r.json")
    assert fs.Result.load(tmp_path / "r.json").baselines == result.baselines


def test_a_comparison_has_both() -> None:
    """Tests that compare takes offered searches, with their first plans, and policies by name."""
    instance = fs.Instance("four", JOBS, fs.Federation.of(3), ("flow",))
    found = fs.compare(instance, ["few", "few:random", "widest"], [0], fs.Budget(evaluations=20))
    assert not found.failed
    assert found.methods == ("few", "few:random", "widest")


def test_the_command_line_has_both(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that simulate, optimize and compare take the names as options, and refuse what goes with rules alone."""
    monkeypatch.setattr("fedsched.cli.shared.compile_progress.report_compiling", nullcontext)
    sample = ["sample", "--federation", "example", "--head", "20"]
    assert cli.run(["simulate", *sample, "--policy", "widest"]) == 0
    assert cli.run(["simulate", *sample, "--policy", "ready", "--placement", "fastest"]) == 0
    assert cli.run(["optimize", *sample, "--method", "few", "--evaluations", "20"]) == 0
    assert cli.run(["compare", *sample, "--method", "few", "--method", "widest", "--evaluations", "20"]) == 0
    capsys.readouterr()
    assert cli.run(["simulate", *sample, "--policy", "widest", "--dispatch", "easy"]) != 0
    assert "is what policy 'widest' chooses itself" in capsys.readouterr().err


BROKEN: dict[str, tuple[Callable[[], object], str]] = {
    "raises": (lambda: fs.simulate(JOBS, 3, "broken"),
               "policy 'broken' of package others cannot be made (RuntimeError: no licence); update or uninstall"),
    "is nothing": (lambda: fs.simulate(JOBS, 3, "absent"), "policy 'absent' of package others cannot be loaded ("),
    "is no policy": (lambda: fs.simulate(JOBS, 3, "seven"), "policy 'seven' of package others is 7, which has no met"),
    "is no method": (lambda: fs.optimize(JOBS, 3, method="seven"), "method 'seven' of package others is 7, neither a"),
    "is there twice": (lambda: fs.simulate(JOBS, 3, "twice"), "policy 'twice' is offered by packages more and others;"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_one_is_one_line_that_names_the_package(case: str) -> None:
    """Tests that whatever another package does wrong is one clear line."""
    call, words = BROKEN[case]
    with pytest.raises(PluginError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [lambda: fs.simulate(JOBS, 3, "widst"), lambda: fs.study(replace(JOBS, nodes=3), "policy=widst"),
     lambda: fs.optimize(JOBS, 3, baselines=["widst"])],
)  # fmt: skip
def test_a_slip_is_told_the_offered_name(call: Callable[[], object]) -> None:
    """Tests that errors for unknown names offer what packages offer."""
    with pytest.raises(UnknownNameError, match="Did you mean 'widest'"):
        call()


def test_a_slip_of_a_method_is_told_the_offered_name() -> None:
    """Tests that a method's error offers it, too, and that a failed run of a comparison says so."""
    with pytest.raises(UnknownNameError, match="Did you mean 'told'"):
        fs.optimize(JOBS, 3, method="tolld")


def test_known_names_ask_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that packages are looked at only for names that fedsched does not know."""

    def refuse(**_: object) -> None:
        raise AssertionError("looked at packages")

    monkeypatch.setattr("importlib.metadata.entry_points", refuse)
    fs.optimize(JOBS, 3, "flow", "hc", evaluations=20, baselines=["easy"])
