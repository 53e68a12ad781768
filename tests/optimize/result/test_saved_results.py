"""Saved results: what a file says is what its jobs and plans give, or the file is refused; the rest is marked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FedschedError, TraceError
from fedsched.optimize.result import verification
from fedsched.optimize.result.files import FORMAT, WITHOUT_RUNNING
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

FEW = ("fcfs", "easy")
JOBS = fs.Workload.example().head(16)
MACHINE = fs.Federation.example()
pytestmark = pytest.mark.compiled


def found(**options: Any) -> fs.Result:
    """Return what a small search finds."""
    given = {"evaluations": 300, "seed": 2, "baselines": FEW, **options}
    return fs.optimize(JOBS, MACHINE, **given)


def beside_running() -> fs.Result:
    """Return a search that begins while jobs run."""
    run = prepare(JOBS, MACHINE, "easy").advance(until=float(JOBS.submit[12]))
    state = run.running()
    waiting = np.flatnonzero(np.isnan(run.state.start))
    assert len(state.rows)
    assert len(waiting) > 1
    rows = np.concatenate([waiting, state.rows])
    return fs.optimize(
        JOBS.take(rows), MACHINE, objectives="flow", evaluations=200, submits="keep",
        running=state.renumbered(rows), baselines=FEW,
    )  # fmt: skip


@pytest.fixture(scope="module")
def results() -> dict[str, fs.Result]:
    """Return results of every kind."""
    return {
        "front": found(),
        "running": beside_running(),
        "packages": found(objectives="makespan", package=6),
        "function": found(objectives=["makespan", twice], method="moga"),
    }


def twice(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a cost of the user's."""
    return 2.0 * metrics["energy"]


def saved(result: fs.Result, path: Path, edit: Callable[[dict[str, Any]], object] | None = None) -> Path:
    """Return a file with the result, edited."""
    result.save(path)
    data = json.loads(path.read_text())
    if edit is not None:
        edit(data)
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("kind", ["front", "running", "packages", "function"])
def test_a_result_comes_back_with_its_running_jobs(kind: str, results: dict[str, fs.Result], tmp_path: Path) -> None:
    """Tests that values and schedules of a loaded result are those of the saved one, jobs that ran included."""
    result = results[kind]
    again = fs.Result.load(saved(result, tmp_path / "r.json"))
    assert np.array_equal(again.front.values, result.front.values)
    for i in range(len(result.front)):
        for name in ("start", "finish", "counts"):
            assert np.array_equal(getattr(again.schedule(i), name), getattr(result.schedule(i), name))
    if kind == "running":
        metrics = again.best().metrics(users=False)
        assert metrics.flow == again.value("flow")
        assert "of the jobs ran already at its begin" in str(again)
    assert {"bounds", "history"} <= set(again.unverified)
    assert ("the values of 'twice'" in again.unverified) == (kind == "function")
    assert result.unverified == ()
    for text in (str(again), again._repr_html_()):
        assert "from a file: front and baselines made again; unverified: " in text
    for text in (str(result), result._repr_html_()):
        assert "unverified" not in text


def put(*names: str | int, to: Any) -> Callable[[Any], None]:
    """Return an edit that sets a field to a value, or to what a function makes of it."""

    def edit(data: Any) -> None:
        for name in names[:-1]:
            data = data[name]
        data[names[-1]] = to(data[names[-1]]) if callable(to) else to

    return edit


def worst_first(order: list[int]) -> list[int]:
    """Return an order turned round."""
    return order[::-1]


def of_a_row(data: dict[str, Any]) -> dict[str, Any]:
    """Return the first plan of the front that is a queue."""
    return next(plan for plan in data["front"]["plans"] if "order" in plan)


FALSE = {
    "value": ("front", put("front", "values", 0, 0, to=lambda v: 0.999 * v), "is said to have makespan="),
    "value above": ("front", put("front", "values", 0, 1, to=lambda v: v * (1 + 1e-8)), "is said to have energy="),
    "baseline": ("front", put("baselines", 0, "values", 0, to=lambda v: 1.1 * v), "baseline 'fcfs' is said to have"),
    "no such policy": ("front", put("baselines", 0, "policy", to="best ever"), "there is no policy 'best ever'"),
    "another policy": ("front", put("baselines", 0, "policy", to="ljf-greedy"), "is said to have"),
    "values short": ("front", put("baselines", 0, "values", to=lambda v: v[:1]), "values for other objectives"),
    "order": ("front", lambda data: put("order", to=worst_first)(of_a_row(data)), "is said to have"),
    "job twice": ("front", lambda data: put("order", 0, to=of_a_row(data)["order"][1])(of_a_row(data)), "not fit"),
    "no job": ("front", lambda data: put("order", 0, to=10**9)(of_a_row(data)), "not fit"),
    "caps": ("front", lambda data: put("caps", 0, 0, to=10**6)(of_a_row(data)), "not fit"),
    "caps below": ("front", lambda data: put("caps", 0, 0, to=-7)(of_a_row(data)), "not fit"),
    "no caps": ("front", lambda data: put("caps", to=lambda c: [[0] * len(r) for r in c])(of_a_row(data)), "not fit"),
    "runtime": ("front", put("workload", "runtime", 3, to=lambda v: 3 * v), "is said to have"),
    "bound": ("front", put("lower_bounds", "makespan", to=1e12), "no schedule is said to have makespan below"),
    "rows": ("front", put("front", "plans", to=lambda plans: plans[:-1]), "plans"),
    "running gone": ("running", put("running", to=None), "is said to have flow="),
    "running elsewhere": ("running", put("running", "counts", 0, to=lambda c: c[::-1]), "is said to|running jobs"),
    "running too many": ("running", put("running", "counts", 0, 0, to=10**6), "its running jobs are not"),
    "running nobody": ("running", put("running", "rows", 0, to=10**6), "its running jobs are not"),
    "running twice": ("running", put("running", "time", to=-1e9), "its running jobs are not"),
    "running for ever": ("running", put("running", "finish", 0, to=float("nan")), "its running jobs are not"),
    "schedule": ("packages", put("front", "plans", 0, "finish", 2, to=lambda v: v - 1), "breaks the model: Job"),
    "start": ("packages", put("front", "plans", 0, "start", 2, to=lambda v: v - 1e6), "breaks the model: Job"),
    "package value": ("packages", put("front", "values", 0, 0, to=lambda v: 0.9 * v), "is said to have makespan="),
    "known beside a function": ("function", put("front", "values", 0, 0, to=lambda v: v - 1), "is said to have makesp"),
}


@pytest.mark.parametrize("what", FALSE)
def test_a_false_result_is_refused(what: str, results: dict[str, fs.Result], tmp_path: Path) -> None:
    """Tests that what the jobs and plans of a file do not bear out is an error of one line that says what is false."""
    kind, edit, says = FALSE[what]
    path = saved(results[kind], tmp_path / "r.json", edit)
    with pytest.raises(TraceError, match=rf"r\.json: a saved result, but not a true one: .*({says})") as caught:
        fs.Result.load(path)
    assert "\n" not in str(caught.value)


def test_a_front_has_an_order_and_no_plan_too_many(results: dict[str, fs.Result], tmp_path: Path) -> None:
    """Tests that plans in another order, or one that another beats, are no front."""
    front = results["front"]

    def backwards(data: dict[str, Any]) -> None:
        data["front"] = {name: values[::-1] for name, values in data["front"].items()}

    def with_fcfs(data: dict[str, Any]) -> None:
        values = next(one["values"] for one in data["baselines"] if one["policy"] == "fcfs")
        data["front"]["plans"].append({"policy": "fcfs"})
        data["front"]["values"].append(values)

    with pytest.raises(TraceError, match="beaten by another"):
        fs.Result.load(saved(front, tmp_path / "r.json", with_fcfs))
    if len(front.front) > 1:
        with pytest.raises(TraceError, match="not in the order of its first objective"):
            fs.Result.load(saved(front, tmp_path / "r.json", backwards))


def old(data: dict[str, Any]) -> None:
    """Make a file of version 1 of it."""
    data["format"] = WITHOUT_RUNNING
    del data["running"]


def test_an_old_file_is_read_where_it_is_complete(results: dict[str, fs.Result], tmp_path: Path) -> None:
    """Tests that a file of version 1 loads where no job ran at its begin, and else is refused by that."""
    front = results["front"]
    again = fs.Result.load(saved(front, tmp_path / "r.json", old))
    assert np.array_equal(again.front.values, front.front.values)
    with pytest.raises(TraceError, match="jobs may have run at its begin, which files of this old format do not hold"):
        fs.Result.load(saved(results["running"], tmp_path / "r.json", old))


def test_another_version_is_named(results: dict[str, fs.Result], tmp_path: Path) -> None:
    """Tests that the error of a false result says which fedsched saved it, where it was another; a true one loads."""
    path = tmp_path / "r.json"

    def other(data: dict[str, Any]) -> None:
        data["versions"]["fedsched"] = "0.0.9"

    def other_and_false(data: dict[str, Any]) -> None:
        other(data)
        data["front"]["values"][0][0] *= 2

    assert fs.Result.load(saved(results["front"], path, other)).versions["fedsched"] == "0.0.9"
    with pytest.raises(TraceError, match=r"it was saved by fedsched 0\.0\.9, this is"):
        fs.Result.load(saved(results["front"], path, other_and_false))
    with pytest.raises(TraceError, match="its format is neither"):
        fs.Result.load(saved(results["front"], path, put("format", to=f"{FORMAT}9")))


def test_an_interrupted_search_in_packages_comes_back(tmp_path: Path) -> None:
    """Tests that a schedule that ends early loads with its note, and that its part is still verified."""
    calls: list[int] = []

    def interrupt(run: Any) -> None:
        calls.append(run.steps)
        if len(calls) == 3:
            raise KeyboardInterrupt

    result = found(objectives="makespan", package=6, evaluations=2000, callback=interrupt)
    assert not result.best().complete
    again = fs.Result.load(saved(result, tmp_path / "r.json"))
    assert again.best().notes == result.best().notes != ()
    with pytest.raises(TraceError, match="breaks the model"):
        fs.Result.load(saved(result, tmp_path / "r.json", put("front", "plans", 0, "finish", 2, to=lambda v: v - 1)))


def test_report_and_pictures_say_what_is_unverified(
    results: dict[str, fs.Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that the page and the commands' output name what is as the file says."""
    from fedsched.cli import run

    path, page = saved(results["front"], tmp_path / "r.json"), tmp_path / "r.html"
    said = "from a file: front and baselines made again; unverified: bounds, history and what the search took"
    assert run(["report", str(path), "--out", str(page)]) == 0
    assert said in capsys.readouterr().out
    assert f"F{said[1:]}." in page.read_text(encoding="utf-8")
    assert run(["plot", str(path), "--what", "front", "--out", str(tmp_path / "r.svg")]) == 0
    assert said in capsys.readouterr().out
    assert run(["report", str(path), "--out", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unverified"] == ["bounds", "history", "what the search took"]


def test_baselines_of_many_jobs_are_simulated_when_asked_for(
    results: dict[str, fs.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that those of a large log are marked everywhere as the file says, and found false where one looks."""
    false = saved(results["front"], tmp_path / "r.json", put("baselines", 0, "values", 0, to=lambda value: value / 2))
    true = saved(results["front"], tmp_path / "s.json")
    with pytest.raises(TraceError, match="the baseline 'fcfs' is said to have"):
        fs.Result.load(false)
    assert "(unverified)" not in str(fs.Result.load(true))
    monkeypatch.setattr(verification, "FEW", len(results["front"].workload) - 1)
    for found in (fs.Result.load(false), fs.Result.load(true), fs.Result.load(true, baselines=False)):
        assert "baselines" in found.unverified
        assert "from a file: front made again; unverified: baselines, bounds" in str(found)
        assert all(f"{one.policy} (unverified)" in str(found) for one in found.baselines)
        assert "below fcfs (unverified)" in found._repr_html_() or "above fcfs (unverified)" in found._repr_html_()
    assert "baselines" not in fs.Result.load(true, baselines=True).unverified
    with pytest.raises(TraceError, match="the baseline 'fcfs' is said to have"):
        fs.Result.load(false, baselines=True)
    with pytest.raises(FedschedError, match="the baseline 'fcfs' is said to have"):
        fs.Result.load(false).report(tmp_path / "r.html")
    fs.Result.load(true).report(tmp_path / "s.html")
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert "unverified: baselines, bounds" in page
