"""The first line of a print-out is the answer in words, from the figures of --json; the table comes last."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.cli.experiment import market, simulate
from fedsched.cli.slurm import tune
from fedsched.study.page import verdict as verdict_of_study
from fedsched.study.record import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = ("sample", "--head", "40", "--federation", "example")


def test_simulate_says_waits_and_use_first(call: Callable[..., Any]) -> None:
    """Tests the verdict of a run against its metrics, and that the table comes after what was read and assumed."""
    out = call("simulate", *SMALL)[1]
    metrics = fs.simulate(fs.Workload.example().head(40), fs.Federation.example(), "easy").metrics()
    first = out.splitlines()[0]
    assert first == (
        f"easy: mean wait {metrics.mean_wait / 3600:.4g} h, bounded slowdown {metrics.bounded_slowdown:.4g}, "
        f"{metrics.utilisation:.1%} of the nodes used; 40 jobs on example (160 nodes)."
    ).replace("% of", " % of")
    assert out.index("\nReading: ") < out.index("\nassumed: ") < out.index("  metric  ") < out.index("start hash")


def test_several_logs_have_one_verdict(call: Callable[..., Any]) -> None:
    """Tests that the first line has the mean wait of each log."""
    first = call("simulate", "figure-1-6", "figure-1-6", "--nodes", 128)[1].splitlines()[0]
    assert first == "easy: mean wait 0 s on figure-1-6, 0 s on figure-1-6."


def test_a_run_without_ends_has_a_verdict() -> None:
    """Tests a run that was stopped before any job ended, and one beside what its log records."""
    kind = type("Some", (SimpleNamespace,), {"__len__": lambda self: 2})
    schedule = kind(policy="fcfs on single", federation=fs.Federation.homogeneous(4), complete=False)
    run: Any = SimpleNamespace(schedule=schedule, values={}, recorded={})
    said = simulate.verdict(run)
    assert said == "fcfs: no job ended; 2 jobs on cluster (4 nodes), interrupted before the end."
    run.values, run.recorded, schedule.complete = {"mean_wait": 30.0}, {"mean_wait": 7200.0}, True
    assert simulate.verdict(run) == "fcfs: mean wait 30 s (recorded: 2 h); 2 jobs on cluster (4 nodes)."


def test_bounds_say_their_bounds_first(call: Callable[..., Any]) -> None:
    """Tests that the bounds of the sentence are those of --json, and that assumptions stand above the table."""
    words = ("bounds", *SMALL, "--method", "closed")
    out, found = call(*words)[1], json.loads(call(*words, "--json")[1])["bounds"]
    makespan = re.match(r"No schedule has makespan below ([\d.]+) h", out)
    assert makespan
    assert float(makespan[1]) == pytest.approx(found["makespan"] / 3600, rel=1e-3)
    assert out.index("assumed: ") < out.index("  metric  ")


def test_a_comparison_names_the_best_first(call: Callable[..., Any]) -> None:
    """Tests that the first line has the method of the best rank and says that tests show nothing."""
    out = call("compare", *SMALL, "--method", "easy", "--method", "fcfs", "--objective", "mean_wait", "--seeds", 1)[1]
    shown = r"\w+ ranks first of 2 methods on 1 instance by mean_wait: average rank 1\.00, .*\nNo test shows "
    assert re.match(shown, out)


def test_a_market_without_windows_has_a_verdict() -> None:
    """Tests the sentences for one method, for several, and where no job gets a window."""
    row = dict.fromkeys(market.MEANINGS, 3.0)
    assert market.verdict({"css": row}) == "css: jobs with a window: 3, their cost 3, mean finish 3."
    dearer = row | {"cost": 4.0, "finish": 2.0}
    assert market.verdict({"css": row, "bsf": dearer}) == (
        "Jobs with a window: 3 css, 3 bsf. Least total cost: css, 3; earliest mean finish: bsf, 2."
    )
    none = dict.fromkeys(market.MEANINGS, float("nan"))
    assert market.verdict({"css": none, "bsf": none}) == "No job gets a window."


def test_tuning_prefers_what_holds() -> None:
    """Tests that the named configuration is the best of those that hold on later jobs."""

    def tuned(name: str, value: float, holds: bool) -> Any:
        return type("Made", (SimpleNamespace,), {"__str__": lambda self: name})(values=(value,), holds=holds)

    found = [tuned("a 1 → 2", 50.0, False), tuned("b 3 → 4", 80.0, True)]
    kind = type("Some", (SimpleNamespace,), {"__iter__": lambda self: iter(found), "__len__": lambda self: len(found)})
    some = kind(front=found, objectives=("mean_wait",), current=SimpleNamespace(values=(100.0,)), checked_jobs=9)
    assert tune.verdict(some) == (
        "2 configurations better in an objective; 1 of 2 hold on later jobs. b 3 → 4: mean wait 80 s instead of 100 s "
        "(-20.0%)."
    )
    some.front = []
    assert tune.verdict(some) == "No configuration that was tried is better in any objective."


def test_a_study_says_the_least_wait() -> None:
    """Tests that the best of several scenarios is named with its difference, and one whose interval has 0 as such."""
    waits = {"a": 100.0, "b": 40.0}
    scenarios = [SimpleNamespace(name=name, metrics={"mean_wait": waits[name]}, includes="") for name in waits]
    study: Any = SimpleNamespace(
        scenarios=scenarios, base=SimpleNamespace(metrics={"mean_wait": 100.0}), size=range(7),
        difference=lambda one: Interval(-60.0, -90.0, 30.0),
    )  # fmt: skip
    assert verdict_of_study(study).replace("\u00a0", " ") == (
        "The least wait of 2 scenarios is with b: mean wait 40 s instead of 100 s, a difference of −60 s "
        "(−90 s to +30 s); the 95 % interval includes 0; 7 jobs."
    )
