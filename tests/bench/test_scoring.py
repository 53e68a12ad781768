"""Scores on the field's instances: gaps, primal integrals, shares of fronts, a table, a page, methods of one's own."""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.bench import load
from fedsched.bench.certificates import certified_bound
from fedsched.bench.methods import Planner, methods_of
from fedsched.bench.plans import known_values
from fedsched.bench.scoring import Score, primal_integral, problems_of, scores_of, summary, write_page, write_table
from fedsched.compare import Comparison, RunRecord, read_records
from fedsched.comparison.files import RunFile
from fedsched.core.errors import FedschedError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.compare import Instance

SMALL = "figure-1-5-20/makespan"
KNOWN, BOUND = 3460.0, 3456.25


def run_of(method: str, value: float, seed: int = 0, **details: object) -> RunRecord:
    """Return a run on the small problem."""
    given = {"front": ((value,),), "evaluations": 100, "seconds": 1.0}
    return RunRecord(SMALL, "f", method, seed, 100, None, ("makespan",), **{**given, **details})


def test_gaps_are_to_the_best_known_and_to_what_is_proven() -> None:
    """Tests both gaps of a run by hand."""
    [score] = scores_of(Comparison((run_of("mine", 3600.0),)))
    assert score.gap_to_known == pytest.approx(3600 / KNOWN - 1)
    assert score.gap_to_bound == pytest.approx(3600 / BOUND - 1)
    assert not score.new_best
    assert math.isnan(score.hypervolume)
    [better] = scores_of(Comparison((run_of("mine", 3458.0),)))
    assert better.new_best


def test_the_primal_integral_is_the_mean_gap_over_the_budget() -> None:
    """Tests the integral by hand: nothing until 20 evaluations, a tenth until 60, then the best known value."""
    history = ((20.0, 1.0, KNOWN / 0.9), (60.0, 2.0, KNOWN))
    assert primal_integral(run_of("mine", KNOWN, history=history), KNOWN) == pytest.approx((20 + 40 * 0.1) / 100)
    in_seconds = replace(run_of("mine", KNOWN, history=history), evaluations_allowed=None, seconds_allowed=4.0)
    assert primal_integral(in_seconds, KNOWN) == pytest.approx((1 + 1 * 0.1) / 4)
    assert primal_integral(run_of("mine", KNOWN), KNOWN) == 1.0  # only its end is known, at 100 evaluations
    assert primal_integral(run_of("mine", KNOWN, evaluations=25), KNOWN) == 0.25
    assert primal_integral(run_of("mine", KNOWN, front=(), error="it fell"), KNOWN) == 1.0
    uncounted = run_of("mine", KNOWN, evaluations=0)  # as a plain function's, which counts none
    assert math.isnan(primal_integral(uncounted, KNOWN))
    timed = replace(uncounted, evaluations_allowed=None, seconds_allowed=4.0, seconds=1.0)
    assert primal_integral(timed, KNOWN) == 0.25


def test_a_front_is_measured_against_the_best_known_one() -> None:
    """Tests that the best known front has the whole of its hypervolume, and a part of it less."""
    name, ask = "example-20", "makespan+energy"
    known = known_values(load(name), ask)
    assert known is not None
    whole = RunRecord(f"{name}/{ask}", "f", "a", 0, 100, None, tuple(ask.split("+")), front=tuple(map(tuple, known)))
    part = replace(whole, method="b", front=whole.front[:1])
    scores = scores_of(Comparison((whole, part)))
    assert scores[0].hypervolume == pytest.approx(1.0)
    assert scores[1].hypervolume < 1.0
    assert all(math.isnan(one.gap_to_known) for one in scores)


def test_methods_are_told_by_rank() -> None:
    """Tests the summary by hand: medians over seeds, failed runs counted and ranked last."""
    runs = (
        run_of("good", KNOWN),
        run_of("good", KNOWN, 1),
        run_of("bad", 2 * KNOWN),
        run_of("bad", 0, 1, front=(), error="x"),
    )
    found = summary(Comparison(runs))
    assert [one.method for one in found] == ["good", "bad"]
    assert (found[0].rank, found[0].gap_to_known, found[0].failed) == (1.0, 0.0, 0)
    assert (found[1].rank, found[1].gap_to_known, found[1].failed) == (2.0, 1.0, 1)


def test_table_and_page_hold_every_run(tmp_path: Path) -> None:
    """Tests that the table has a row a run under the fields' names, and the page each method, and how to repeat it."""
    runs = [
        run_of(method, KNOWN * (1 + k / 10), seed) for seed in range(6) for k, method in enumerate(("one", "two<b>"))
    ]
    comparison = Comparison(tuple(runs))
    write_table(comparison, tmp_path / "table.csv")
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert len(rows) == 12
    assert set(rows[0]) == set(Score.__slots__)
    assert float(rows[1]["gap_to_known"]) == pytest.approx(0.1)
    write_page(comparison, tmp_path / "page.html", repeat="fedsched bench run one")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 1  # of one problem there are no ranks to draw
    assert "no test: one instance" in page
    assert "two&lt;b&gt;" in page
    assert "two<b>" not in page
    assert "10.00%" in page
    assert "fedsched bench run one" in page


def test_problems_are_named_whole_or_by_their_ask() -> None:
    """Tests the names of problems, and that planted makespans go with their optimum."""
    assert [one.name for one in problems_of(["figure-1-5-20"])] == ["figure-1-5-20/makespan", "figure-1-5-20/flow"]
    [planted] = problems_of(["planted-one-20/makespan"])
    assert planted.optimum == certified_bound("planted-one-20", "makespan") == 15600.0
    assert {one.name.partition("-")[0] for one in problems_of([], family="windows")} == {"windows"}
    usual = {one.name.partition("-")[0] for one in problems_of([])}
    assert "example" in usual
    assert not usual & {"shared", "market", "gang"}
    with pytest.raises(UnknownNameError):
        problems_of(["figure-1-5-20/beauty"])
    with pytest.raises(FedschedError, match="no named instance is of family 'cats'"):
        problems_of([SMALL], family="cats")


def test_studies_are_run_by_their_own_methods() -> None:
    """Tests that presets and metaschedulers run on what is given, the seed theirs, and that others say by name why not.

    A gap is to the best known plan, which a method's own figures are above.
    """
    problems = problems_of(["market-24-20/cpu", "gang-sites-200/mean_response"])
    found = fs.compare(problems, ["backfilling", "dimitriadou-karatza-2", "fcfs"], range(1), fs.Budget(evaluations=1))
    by = {(record.instance, record.method): record for record in found.records}
    assert len(by) == 6
    for problem, method in ((problems[0], "backfilling"), (problems[1], "dimitriadou-karatza-2")):
        assert not by[problem.name, method].error
    for problem, method, said in (
        (problems[0], "fcfs", "fcfs is a policy for jobs and clusters"),
        (problems[1], "fcfs", "fcfs is a policy for jobs and clusters"),
        (problems[0], "dimitriadou-karatza-2", "runs on a GangInstance, not on 'market-24-20/cpu'"),
        (problems[1], "backfilling", "runs on a MarketInstance, not on 'gang-sites-200/mean_response'"),
    ):
        assert said in by[problem.name, method].error
    scores = {(one.instance, one.method): one for one in scores_of(found)}
    assert scores[problems[0].name, "backfilling"].gap_to_known >= 0
    assert scores[problems[1].name, "dimitriadou-karatza-2"].gap_to_known >= 0
    assert math.isnan(scores[problems[0].name, "backfilling"].gap_to_bound)


@pytest.mark.compiled
def test_shared_nodes_are_searched_by_what_runs_each_plan() -> None:
    """Tests that policies and searches run where jobs share nodes, and that walks of whole nodes say why not."""
    problems = problems_of(["shared-even-50/makespan"])
    found = fs.compare(problems, ["easy", "ga", "hc"], range(1), fs.Budget(evaluations=60))
    one, search, walk = found.records
    assert one.best() >= search.best() >= certified_bound("shared-even-50", "makespan")
    assert "on nodes that jobs share" in walk.error
    shared = Planner("mine", lambda instance, seed, budget: fs.simulate(
        instance.workload, instance.federation, "easy", sharing=instance.sharing, reading=instance.reading
    ))  # fmt: skip
    assert shared.run(problems[0], 0, fs.Budget(evaluations=1)).front == one.front


def easy(instance: Instance, seed: int, budget: fs.Budget) -> fs.Schedule:
    """Plan as EASY does."""
    return fs.simulate(instance.workload, instance.federation, "easy", reading=instance.reading)


OWN = """
from neighbour_of_mine import fs
def mine(instance, seed, budget):
    return fs.simulate(instance.workload, instance.federation, "easy", reading=instance.reading)
class Other:
    name = "other"
    def run(self, instance, seed, budget):
        return fs.compare.Outcome(((1.0,),))
seven = 7
"""


def test_a_function_is_a_method_whose_plans_are_verified() -> None:
    """Tests that a plain function's schedule is measured here, and that one of other jobs is refused."""
    [instance] = problems_of([SMALL])
    outcome = Planner("mine", easy).run(instance, 0, fs.Budget(evaluations=1))
    schedule = easy(instance, 0, fs.Budget(evaluations=1))
    assert outcome.front == ((schedule.makespan,),)

    def cheat(instance: Instance, seed: int, budget: fs.Budget) -> fs.Schedule:
        return replace(schedule, start=schedule.start - 5.0)

    with pytest.raises(FedschedError):
        Planner("cheat", cheat).run(instance, 0, fs.Budget(evaluations=1))

    def other(instance: Instance, seed: int, budget: fs.Budget) -> fs.Schedule:
        return fs.simulate(instance.workload.head(3), instance.federation, "easy", reading=instance.reading)

    with pytest.raises(FedschedError, match="other jobs"):
        Planner("other", other).run(instance, 0, fs.Budget(evaluations=1))
    with pytest.raises(FedschedError, match="returned float; it must return a schedule"):
        Planner("number", lambda *_: 3.0).run(instance, 0, fs.Budget(evaluations=1))  # type: ignore[arg-type,return-value]


def test_methods_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that FILE.py:NAME is a function or an entrant of that file, beside its neighbours, or why not."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "own_methods.py"
    (tmp_path / "neighbour_of_mine.py").write_text("import fedsched as fs\n")
    file.write_text(OWN)
    plain, mine, other = methods_of(["easy", f"{file}:mine", f"{file}:Other"])
    assert plain == "easy"
    assert (mine.name, other.name) == ("mine", "other")
    for word, said in ((f"{file}:his", "has no 'his'"), (f"{file}:seven", "must be a policy .*, a function of"),
                       (f"{tmp_path}/no.py:mine", "no such file"), (str(file), r"own_methods\.py:NAME")):  # fmt: skip
        with pytest.raises(FedschedError, match=said):
            methods_of([word])
    with pytest.raises(UnknownNameError):
        methods_of(["memetik"])


def test_a_runs_history_is_kept_in_its_line(tmp_path: Path) -> None:
    """Tests that the way a search took comes back from a file of runs, and that of older lines nothing is known."""
    record = run_of("mine", KNOWN, history=((20.0, 1.0, 4000.0), (60.0, 2.0, KNOWN)), versions={})
    with RunFile(tmp_path / "runs.jsonl") as file:
        file.add(record)
    text = (tmp_path / "runs.jsonl").read_text()
    assert read_records(tmp_path / "runs.jsonl")[0].history == record.history
    (tmp_path / "old.jsonl").write_text(text.replace(', "history": [[20.0, 1.0, 4000.0], [60.0, 2.0, 3460.0]]', ""))
    assert read_records(tmp_path / "old.jsonl")[0].history == ()


@pytest.mark.compiled
def test_searches_tell_how_they_came_there() -> None:
    """Tests that a search's run has a history that only falls, and ends at its best value."""
    problems = problems_of([SMALL])
    [record] = fs.compare(problems, ["hc"], range(1), fs.Budget(evaluations=300)).records
    values = [row[2] for row in record.history]
    assert values == sorted(values, reverse=True)
    assert values[-1] == record.best()
    assert record.history[-1][0] <= 300
