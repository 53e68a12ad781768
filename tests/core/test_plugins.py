"""Policies and search methods of other installed packages: found by name, in every verb; broken ones are named."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched import cli
from fedsched.comparison.entrants import code_of, policy_entrant
from fedsched.core.errors import FedschedError, PluginError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CODE = """
    import numpy as np

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
    placed = MethodInfo("placed", "by its place", ("makespan",), "other_package:Few")
    nowhere = MethodInfo("nowhere", "by a wrong place", ("makespan",), "other_package:Fw")


    class Widest(Few):
        def step(self, run):
            tasks = run.problem.workload.tasks
            assert tasks.max() <= run.problem.federation.nodes
            run.evaluate(run.problem.row((-tasks).argsort(kind="stable"))[None])
            return super().step(run)


    class Forgetful(Few):
        def step(self, run):
            super().step(run)


    class Fails(Few):
        def step(self, run):
            raise KeyError("oops")


    class Drawing(Few):
        def state(self):
            return {"steps": self.steps, "more": [{"rng": np.random.default_rng(1)}]}


    class Counting(Few):
        def state(self):
            return {"steps": np.int64(self.steps)}


    class Listing(Few):
        def state(self):
            return [self.steps]


    class Misread(Few):
        def restore(self, saved, run):
            self.steps = saved.whole("stepz")


    class Picky(Few):
        def restore(self, saved, run):
            super().restore(saved, run)
            if run.problem.layout.jobs > 3:
                raise saved.unfit("steps", "are for few jobs")


    class Stateless:
        def __init__(self, run):
            pass

        def step(self, run):
            run.evaluate(run.random_rows(10))
            return True


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
    placed = other_package:placed
    nowhere = other_package:nowhere
    seven = other_package:number
    jobs = other_package:Widest
    forgetful = other_package:Forgetful
    fails = other_package:Fails
    drawing = other_package:Drawing
    counting = other_package:Counting
    listing = other_package:Listing
    misread = other_package:Misread
    picky = other_package:Picky
    stateless = other_package:Stateless
    made-of-nothing = other_package:broken
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


SEARCHES: dict[str, tuple[str, dict[str, Any], str]] = {
    "says nothing at a step's end": ("forgetful", {}, "returns None from step(), not True if there is more to do"),
    "is at no such place": ("nowhere", {}, "has maker='other_package:Fw', which cannot be loaded (module"),
    "saves no plain data": ("drawing", {"islands": 2}, "gives state()['more'][0]['rng'] of type numpy.random."),
    "saves no whole number": ("counting", {"checkpoint": "c"}, "gives state()['steps'] of type numpy.int64 that no"),
    "saves no names": ("listing", {"checkpoint": "c"}, "gives state() of type list that no file holds: a state"),
    "saves nothing": ("stateless", {"islands": 2}, "has no state(), which checkpoints and islands need"),
    "misreads": ("misread", {"checkpoint": "c"}, "cannot restore what its own state() gave (UnfitError: stepz is"),
}  # fmt: skip


@pytest.mark.parametrize("case", SEARCHES)
def test_a_broken_search_is_named_before_it_begins(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a method that cannot be saved or stepped is one line with the method, package and field."""
    monkeypatch.chdir(tmp_path)
    name, options, words = SEARCHES[case]
    steps: list[int] = []
    with pytest.raises(PluginError) as caught:
        fs.optimize(JOBS, 3, method=name, evaluations=30, callback=lambda run: steps.append(run.steps), **options)
    assert str(caught.value).startswith(f"method {name!r} of package others 1.0 {words}")
    assert "\n" not in str(caught.value)
    assert not steps


def test_a_state_that_does_not_fit_names_file_and_method(tmp_path: Path) -> None:
    """Tests that a file that a method refuses is told with the method, which may be wrong instead."""
    given = {"method": "picky", "checkpoint": tmp_path / "c"}
    fs.optimize(JOBS, 3, evaluations=20, **given)
    words = r"c: .*\(restore\(\) of method 'picky' of package others 1\.0 says: method\.steps are for few jobs\)"
    with pytest.raises(FedschedError, match=words):
        fs.optimize(JOBS, 3, evaluations=40, **given)


@pytest.mark.parametrize("name", ["stateless", "misread", "placed"])
def test_a_search_that_is_never_saved_needs_no_state(name: str) -> None:
    """Tests that state and restore are asked for only where they are needed; and that a maker may be a place."""
    assert fs.optimize(JOBS, 3, method=name, evaluations=30).evaluations == 30


def test_an_error_within_a_search_is_noted_with_the_method(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that the error keeps its kind, and that the command line says whose it is."""
    monkeypatch.setattr("fedsched.cli.shared.compile_progress.report_compiling", nullcontext)
    with pytest.raises(KeyError) as caught:
        fs.optimize(JOBS, 3, method="fails", evaluations=30)
    assert caught.value.__notes__ == ["in step() of method 'fails' of package others 1.0"]
    assert cli.run(["optimize", "sample", "--nodes", "128", "--head", "5", "--method", "fails"]) == 2
    assert "KeyError: 'oops' (unexpected; in step() of method 'fails' of package others 1.0;" in capsys.readouterr().err
    assert cli.run(["optimize", "sample", "--nodes", "128", "--head", "5", "--method", "made-of-nothing"]) == 2
    assert "takes 0 positional arguments" in (told := capsys.readouterr().err)
    assert "(in the maker of method 'made-of-nothing' of package others 1.0)" in told


@pytest.mark.parametrize("call", [
    lambda: fs.simulate(JOBS, 3, fs.Rolling(method="jobs", evaluations=20)),
    lambda: fs.optimize(JOBS, 3, method="jobs", evaluations=20, islands=2).best(),
])  # fmt: skip
def test_a_method_may_read_the_jobs(call: Callable[[], fs.Schedule]) -> None:
    """Tests that run.problem has jobs and machine in a search, on islands, and at each instant of a rolling run."""
    call().verify()


# ---- another version ------------------------------------------------------------------------------------------------


def upgraded(tmp_path: Path) -> None:
    """Install version 1.1 of the package in the place of 1.0."""
    about = tmp_path / "others-1.0.dist-info" / "METADATA"
    about.write_text(about.read_text().replace("Version: 1.0", "Version: 1.1"))


def test_runs_of_another_version_are_made_again(tmp_path: Path) -> None:
    """Tests that compare(path=) reuses only runs of the present version, and that records list it."""
    instance = fs.Instance("four", JOBS, fs.Federation.of(3), ("flow",))

    def versions() -> list[str]:
        made: list[int] = []
        found = fs.compare(instance, ["few", "widest", "easy", "few:random"], [0], fs.Budget(evaluations=20),
                           path=tmp_path / "runs", progress=lambda done, _: made.append(done))  # fmt: skip
        return [record.versions.get("others", "") for record in found.records] + [str(len(made) - 1)]

    assert versions() == ["1.0", "1.0", "", "1.0", "4"]
    assert versions() == ["1.0", "1.0", "", "1.0", "0"]
    upgraded(tmp_path)
    assert versions() == ["1.1", "1.1", "", "1.1", "3"]
    assert versions() == ["1.1", "1.1", "", "1.1", "0"]


@pytest.mark.parametrize("options", [{"method": "few"}, {"method": "ga", "baselines": ["widest"]}])
def test_a_checkpoint_of_another_version_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    """Tests that a search goes on only with the version of the package that it began with, which its result lists."""
    given = {"objectives": "flow", "checkpoint": tmp_path / "c", **options}
    assert fs.optimize(JOBS, 3, evaluations=20, **given).versions["others"] == "1.0"
    assert fs.optimize(JOBS, 3, evaluations=40, **given).evaluations == 40
    upgraded(tmp_path)
    with pytest.raises(FedschedError, match=r"c: .* by others 1\.0, and others 1\.1 is installed; name another file"):
        fs.optimize(JOBS, 3, evaluations=40, **given)


def test_a_rolling_run_of_another_version_is_another_run(tmp_path: Path) -> None:
    """Tests that its checkpoint is refused too, and that its code in a comparison has the version."""
    policy = fs.Rolling(method="few", evaluations=20, checkpoint=tmp_path / "c")
    fs.simulate(JOBS, 3, policy)
    before = code_of(policy_entrant(policy))
    upgraded(tmp_path)
    with pytest.raises(FedschedError, match="the checkpoint of another run"):
        fs.simulate(JOBS, 3, policy)
    assert (before.partition(",")[0], before == code_of(policy_entrant(policy))) == ("others 1.0", False)


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


@pytest.mark.parametrize("call", [
    lambda: fs.simulate(JOBS, 3, "qqqq"),
    lambda: fs.optimize(JOBS, 3, method="qqqq"),
    lambda: fs.optimize(JOBS, 3, baselines=["qqqq"]),
    lambda: fs.compare(fs.Instance("four", JOBS, 3), "qqqq", [0], fs.Budget(evaluations=20)),
])  # fmt: skip
def test_a_name_like_no_other_may_be_a_missing_packages(call: Callable[[], object]) -> None:
    """Tests that the error says that a package may have to be installed."""
    with pytest.raises(UnknownNameError, match=r"more.*\. If another package offers it, install that package\."):
        call()


def test_seeds_in_a_methods_name_are_for_compare() -> None:
    """Tests that optimize says how it takes the first plans that compare has in a name."""
    with pytest.raises(ValueError, match="here give method='few', seeds='random'"):
        fs.optimize(JOBS, 3, method="few:random")


def test_known_names_ask_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that packages are looked at only for names that fedsched does not know."""

    def refuse(**_: object) -> None:
        raise AssertionError("looked at packages")

    monkeypatch.setattr("importlib.metadata.entry_points", refuse)
    fs.optimize(JOBS, 3, "flow", "hc", evaluations=20, baselines=["easy"])
