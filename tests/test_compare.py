"""compare(): all combinations, one line a run, resumable, failures recorded."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.tiers import some

import fedsched as fs
from fedsched.compare import Budget, Comparison, Instance, Outcome, compare, read_records
from fedsched.core.errors import FedschedError

if TYPE_CHECKING:
    from pathlib import Path

SMALL = Budget(evaluations=150)
pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    """Return two small instances."""
    log, cluster = fs.Workload.example(), fs.Federation.example()
    return [Instance("a", log.head(15), cluster), Instance("b", log.head(25), cluster, ("makespan", "energy"))]


def all_of(instances: list[Instance], **options: object) -> Comparison:
    """Return the comparison that all tests make."""
    return compare(instances, ("random", "hc"), (1, 2), SMALL, baselines=("fcfs",), **options)


def test_a_rerun_does_only_what_is_missing(instances: list[Instance], tmp_path: Path) -> None:
    """Tests that after the loss of lines, the last of them in its middle, exactly these runs are made again."""
    path = tmp_path / "runs.jsonl"
    whole = all_of(instances, path=path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 8
    path.write_text("".join(lines[:5]) + lines[5][:40])
    calls: list[tuple[int, int]] = []
    again = all_of(instances, path=path, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(5, 8), (6, 8), (7, 8), (8, 8)]
    assert [r.front for r in again.records] == [r.front for r in whole.records]
    assert [r.key for r in read_records(path)] == [r.key for r in whole.records]


def test_an_executor_changes_nothing(instances: list[Instance]) -> None:
    """Tests that runs on two threads give the same records in the same order."""
    with ThreadPoolExecutor(2) as pool:
        parallel = all_of(instances, executor=pool)
    assert [(r.key, r.front) for r in parallel.records] == [(r.key, r.front) for r in all_of(instances).records]


def test_a_method_that_fails_is_recorded(instances: list[Instance]) -> None:
    """Tests that mpso-fga on one objective is a failed run with its reason, and the others go on."""
    found = compare(instances[:1], ("mpso-fga", "hc"), (1,), SMALL, baselines=("fcfs",))
    failed, good = found.records
    assert "two objectives" in failed.error
    assert np.isnan(failed.best())
    assert good.error == ""
    assert np.isnan(found.medians()["a"]["mpso-fga"])
    assert found.medians()["a"]["hc"] == good.best()


def test_policies_are_compared_with_searches(instances: list[Instance], tmp_path: Path) -> None:
    """Tests that a policy's values are those of its schedule with the search's knowledge, and are kept in the file."""
    names, path = ("min-min", "lookahead", "hc"), tmp_path / "runs.jsonl"
    found = compare(instances[1:], names, (1,), SMALL, path=path, baselines=("fcfs",))
    jobs = replace(instances[1].workload, submit=np.zeros(len(instances[1].workload)))
    for record, name in zip(found.records, names[:2], strict=False):
        schedule = fs.simulate(jobs, instances[1].federation, name, knowledge="runtime").metrics()
        assert record.front[0] == pytest.approx((schedule.makespan, schedule.energy), rel=1e-12)
        assert (record.error, record.stop_reason, record.evaluations) == ("", "policy", 1)
    assert len({record.bounds for record in found.records}) == 1
    assert compare(instances[1:], names, (1,), SMALL, path=path, baselines=("fcfs",)).records == found.records


def test_a_name_that_is_nearly_a_policy_is_offered(instances: list[Instance]) -> None:
    """Tests that an unknown name is refused before anything runs, and the nearest method or policy is named."""
    for name, meant in (("sufrage", "sufferage"), ("memetik", "memetic")):
        with pytest.raises(ValueError, match=f"Unknown method or policy '{name}'. Did you mean '{meant}'?"):
            compare(instances[:1], ("easy", name), (1,), SMALL)


def test_another_problem_is_another_run(instances: list[Instance], tmp_path: Path) -> None:
    """Tests that an instance of the same name but other jobs is not taken from the file."""
    path = tmp_path / "runs.jsonl"
    first = compare(instances[:1], ("hc",), (1,), SMALL, path=path, baselines=("fcfs",))
    other = Instance("a", instances[1].workload, instances[1].federation)
    second = compare([other], ("hc",), (1,), SMALL, path=path, baselines=("fcfs",))
    assert first.records[0].fingerprint != second.records[0].fingerprint
    assert len(read_records(path)) == 2


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    """Tests that damage anywhere but at the end is an error with its place."""
    path = tmp_path / "runs.jsonl"
    path.write_text("{}\n[1]\n")
    with pytest.raises(FedschedError, match="line 1"):
        read_records(path)


def test_a_budget_is_needed() -> None:
    """Tests that neither evaluations nor seconds is refused."""
    with pytest.raises(ValueError, match="evaluations, seconds"):
        Budget()


# ---- under which reading --------------------------------------------------------------------------------------------

KNOWN = "Reading: all jobs wait from the start; run times are known (clairvoyant)."
AS_SIMULATED = "Reading: jobs arrive at their submit times; run times are unknown, estimates known"


def arriving(**options: object) -> Instance:
    """Return jobs that arrive one after the other, read as `simulate` reads them unless told otherwise."""
    reading = {"submits": "keep", "knowledge": "estimate"} | options
    objectives = ("mean_wait", "energy", "bounded_slowdown")
    return Instance("a", fs.Workload.example().head(40), fs.Federation.example(), objectives, **reading)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", some([{}, {"knowledge": "runtime"}, {"saturation": "static"}, {"kill_at_estimate": True}], 3)
)
def test_a_policys_figures_are_those_of_simulate(options: dict[str, object]) -> None:
    """With the submit times kept, a policy's values equal `simulate`'s to the last bit, whatever the reading."""
    one = arriving(**options)
    policies = ("fcfs", "easy", "easy-sjbf", "conservative", "min-min", "lookahead")
    found = compare([one], policies, [0], Budget(1))
    simulated = {name: value for name, value in options.items() if name != "submits"}
    for record in found.records:
        metrics = fs.simulate(one.workload, one.federation, record.method, **simulated).metrics()  # type: ignore[arg-type]
        assert record.front == ((metrics.mean_wait, metrics.energy, metrics.bounded_slowdown),)
        assert not record.clairvoyant


def test_the_first_line_of_everything_says_the_reading(instances: list[Instance], tmp_path: Path) -> None:
    """Tables, tests, notebooks' tables, frames, pictures and pages begin with what was known, in plain words."""
    log, cluster = instances[0].workload, instances[0].federation
    several = [Instance(f"{k}", log.take(range(k, k + 5)), cluster) for k in range(7)]
    found = compare(several, ("random", "fcfs", "easy"), [0], SMALL, baselines=("fcfs",))
    assert found.reading == KNOWN
    for said in (found, found.table(), found.friedman(), found.pairs(against="random")):
        assert str(said).splitlines()[0] == KNOWN
    for page in (found._repr_html_(), found.table()._repr_html_()):
        assert page.startswith(f"<table><caption>{KNOWN}<br>")
    assert found.table().to_frame().attrs["reading"] == KNOWN
    for ax in (found.plot_ranks(), found.plot_profile()):
        assert ax.get_title(loc="left").replace("\n", " ") == KNOWN
    found.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '</h1><p class="lede">random ranks first of 3 methods on 7 instances by makespan: ' in text
    assert f"</p><p>{KNOWN}</p></header>" in text


def test_searches_that_see_submissions_are_clairvoyant() -> None:
    """Where jobs arrive, a search is marked clairvoyant in its rows and in the first line; a policy is not."""
    found = compare([arriving()], ("random", "hc", "easy"), [0], SMALL, baselines=("fcfs",))
    assert found.reading == f"{AS_SIMULATED}; random, hc know all submissions in advance (clairvoyant)."
    rows = {row.method: row for row in found.table("mean_wait").rows}
    assert {name: row.cells()[1] for name, row in rows.items()} == {
        "random": "random (clairvoyant)", "hc": "hc (clairvoyant)", "easy": "easy",
    }  # fmt: skip
    alone = compare([arriving()], ("easy",), [0], SMALL)
    assert alone.reading == f"{AS_SIMULATED}."
    waiting = compare([arriving(submits="now")], ("random",), [0], SMALL, baselines=("fcfs",))
    assert "submissions" not in waiting.reading
    assert not waiting.records[0].clairvoyant


def test_an_own_method_can_say_that_it_plans_ahead() -> None:
    """A method of the user's that sees all jobs at once is marked where it says so, and only there."""

    class Own:
        name = "own"

        def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
            return Outcome(((1.0, 1.0, 1.0),))

    class Ahead(Own):
        plans_ahead = True

    assert [compare([arriving()], [one], [0], SMALL).records[0].clairvoyant for one in (Own(), Ahead())] == [
        False, True,
    ]  # fmt: skip


def test_runs_of_another_reading_are_other_runs(tmp_path: Path) -> None:
    """A file keeps runs under several readings apart, gives each back, and no comparison mixes them."""
    path = tmp_path / "runs.jsonl"
    ways = [
        arriving(submits=submits, knowledge=knowledge)
        for submits in ("now", "keep")
        for knowledge in ("runtime", "estimate")
    ]
    found = [compare([one], ("easy",), [0], SMALL, path=path) for one in ways]
    records = read_records(path)
    assert [(record.submits, record.reading) for record in records] == [(one.submits, one.reading) for one in ways]
    assert len({record.key for record in records}) == 4
    done: list[tuple[int, int]] = []
    again = [compare([one], ("easy",), [0], SMALL, path=path, progress=lambda *at: done.append(at)) for one in ways]
    assert again == found
    assert set(done) == {(1, 1)}
    with pytest.raises(ValueError, match="'a' were made under different readings"):
        Comparison(tuple(records))


def test_a_line_without_a_reading_was_made_with_all_waiting_and_known(tmp_path: Path) -> None:
    """A file of before readings were recorded is taken as what its runs were, and is not run anew."""
    path = tmp_path / "runs.jsonl"
    one = arriving(submits="now", knowledge="runtime")
    compare([one], ("easy",), [0], SMALL, path=path)
    line = json.loads(path.read_text())
    for name in ("submits", "reading", "clairvoyant"):
        del line[name]
    path.write_text(json.dumps(line) + "\n")
    assert Comparison(tuple(read_records(path))).reading == KNOWN
    calls: list[tuple[int, int]] = []
    again = compare([one], ("easy",), [0], SMALL, path=path, progress=lambda *at: calls.append(at))
    assert calls == [(1, 1)]
    assert again.reading == KNOWN


@pytest.mark.parametrize("damage", [{"submits": "later"}, {"reading": {"knowledge": "all"}}, {"reading": {"more": 1}}])
def test_a_reading_that_is_none_is_a_damaged_line(tmp_path: Path, damage: dict[str, object]) -> None:
    """A line whose reading nobody knows is named, not guessed."""
    path = tmp_path / "runs.jsonl"
    compare([arriving()], ("easy",), [0], SMALL, path=path)
    path.write_text(json.dumps(json.loads(path.read_text()) | damage) + "\n")
    with pytest.raises(FedschedError, match="line 1"):
        read_records(path)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"submits": "later"}, "submits"), ({"knowledge": "all"}, "knowledge"), ({"saturation": "no"}, "saturation")],
)
def test_a_reading_is_checked(options: dict[str, object], said: str) -> None:
    """A word that an instance's reading does not know is refused when the instance is made."""
    with pytest.raises(ValueError, match=f"Unknown {said}"):
        arriving(**options)


def test_instances_may_differ_and_each_is_said() -> None:
    """Where instances are read differently, the first line says each one's reading."""
    other = replace(arriving(submits="now"), name="b")
    said = compare([arriving(), other], ("easy",), [0], SMALL).reading
    assert said.startswith("Readings differ: a: jobs arrive at their submit times; ")
    assert " | b: all jobs wait from the start; run times are unknown, estimates known." in said


def test_a_search_says_its_reading() -> None:
    """What `optimize` prints says beneath its title which jobs waited and what was known, also in a notebook."""
    log = fs.Workload.example().head(10)
    result = fs.optimize(log, fs.Federation.example(), method="random", evaluations=20)
    assert str(result).splitlines()[1] == KNOWN
    assert KNOWN in result._repr_html_()
    kept = fs.optimize(
        log, fs.Federation.example(), method="random", evaluations=20, submits="keep", knowledge="estimate",
    )  # fmt: skip
    assert str(kept).splitlines()[1] == f"{AS_SIMULATED}; plans know all submissions in advance (clairvoyant)."
