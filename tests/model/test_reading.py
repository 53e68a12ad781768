"""The reading of the model's open choices: one noun, from the call to the schedule, the result and the file."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.model.reading import CLAIRVOYANT, UNRECORDED, USUAL, Reading
from fedsched.search import Objectives, SearchProblem
from fedsched.simulate import prepare

WORDS = {"same_time": "sequential", "knowledge": "runtime", "saturation": "static", "kill_at_estimate": True}
MACHINE = fs.Federation.example()
PACKAGE = Path(fs.__file__).parent


@pytest.fixture(scope="module")
def jobs() -> fs.Workload:
    """Return jobs that send, among which estimates and true run times differ."""
    return fs.Workload.example().head(60).with_communication(bandwidth=5e7)


def test_a_reading_and_its_words_are_the_same(jobs: fs.Workload) -> None:
    """Tests that a run under a reading is the run under its words, and that the schedule tells the reading whole."""
    whole = fs.simulate(jobs, MACHINE, "easy", reading=Reading(**WORDS))  # type: ignore[arg-type]
    by_words = fs.simulate(jobs, MACHINE, "easy", **WORDS)  # type: ignore[arg-type]
    assert whole == by_words != fs.simulate(jobs, MACHINE, "easy")
    assert whole.reading == by_words.reading == Reading(**WORDS)  # type: ignore[arg-type]
    assert {word: getattr(whole, word) for word in WORDS} == WORDS
    assert fs.simulate(jobs, MACHINE, "easy", reading=whole.reading) == whole


@pytest.mark.parametrize(("word", "value"), WORDS.items())
def test_a_word_takes_the_place_of_the_reading_s(word: str, value: object, jobs: fs.Workload) -> None:
    """Tests that a word that is given beside a reading holds in place of its own, and the others stay."""
    given: dict[str, Any] = {word: value}
    run = prepare(jobs, MACHINE, reading=USUAL, **given)
    assert run.reading.beside(USUAL) == {word: value}
    back: dict[str, Any] = {word: getattr(USUAL, word)}
    assert prepare(jobs, MACHINE, reading=Reading(**WORDS), **back).reading == Reading(**(WORDS | back))  # type: ignore[arg-type]


def test_each_word_changes_what_is_packed() -> None:
    """Tests that no word of a reading is lost on the way to the arrays."""
    jobs = fs.Workload(submit=[0.0], tasks=[1], runtime=[9.0], estimate=[5.0])
    usual = prepare(jobs, MACHINE).problem
    for word, value in WORDS.items():
        given: dict[str, Any] = {word: value}
        packed = prepare(jobs, MACHINE, **given).problem
        figures = [(p.same_time, p.saturation, p.runtime[0], p.estimate[0]) for p in (usual, packed)]
        assert figures[0] != figures[1], word


def test_searches_and_bounds_take_the_reading_of_a_schedule(jobs: fs.Workload) -> None:
    """Tests that a search and bounds under a reading are those under its words, and the result tells it."""
    killed = fs.simulate(jobs, MACHINE, kill_at_estimate=True).reading
    few = jobs.head(12)
    found = fs.optimize(few, MACHINE, objectives="makespan", evaluations=60, baselines=("easy",), reading=killed)
    worded = fs.optimize(
        few, MACHINE, objectives="makespan", evaluations=60, baselines=("easy",), knowledge="estimate",
        kill_at_estimate=True,
    )  # fmt: skip
    assert found.settings.reading == worded.settings.reading == killed
    assert np.array_equal(found.front.values, worded.front.values)
    assert lower_bounds(few, MACHINE, reading=killed).makespan == lower_bounds(
        few, MACHINE, knowledge="estimate", kill_at_estimate=True
    ).makespan  # fmt: skip
    assert fs.Instance("i", few, MACHINE, reading=killed) == fs.Instance(
        "i", few, MACHINE, knowledge="estimate", kill_at_estimate=True
    )


def test_what_is_not_recorded_can_not_be_run(jobs: fs.Workload) -> None:
    """Tests that a reading with gaps, as of a schedule from a plain file, is refused by name until they are filled."""
    with pytest.raises(
        ValueError, match="simulate: the reading's same_time is not recorded; give same_time='batch' or"
    ):
        fs.simulate(jobs, MACHINE, reading=UNRECORDED)
    with pytest.raises(ValueError, match="knowledge is not recorded; give knowledge='estimate' or knowledge='runtime'"):
        fs.simulate(jobs, MACHINE, reading=UNRECORDED, same_time="batch")
    filled = fs.simulate(jobs, MACHINE, reading=UNRECORDED, same_time="batch", knowledge="runtime")
    assert filled.reading == CLAIRVOYANT


def test_plans_take_instants_whole(jobs: fs.Workload) -> None:
    """Tests that searches and comparisons refuse the sequential reading, which they would not keep."""
    reading = Reading(same_time="sequential")
    with pytest.raises(ValueError, match="optimize: same_time='sequential' is for simulate"):
        fs.optimize(jobs, MACHINE, reading=reading)
    with pytest.raises(ValueError, match="Instance 'one': same_time='sequential'"):
        fs.Instance("one", jobs, MACHINE, reading=reading)


@pytest.mark.parametrize(
    ("words", "said"),
    [({"kill_at_estimate": "no"}, "kill_at_estimate='no' must be True or False"), ({"saturation": "no"}, "saturation"),
     ({"same_time": 1}, "Unknown same_time 1"), ({"knowledge": "all"}, "Unknown knowledge 'all'")],
)  # fmt: skip
def test_a_wrong_word_is_refused(words: dict[str, Any], said: str) -> None:
    """Tests that a word outside its choices is named with its value."""
    with pytest.raises((ValueError, TypeError), match=said):
        Reading(**words)


def test_a_search_problem_travels_packed(jobs: fs.Workload) -> None:
    """Tests that a problem that comes out of a pickle evaluates as before, its arrays read-only as the kernels want."""
    problem = SearchProblem(jobs.head(9), MACHINE, Objectives.of("makespan"), kill_at_estimate=True)
    again = pickle.loads(pickle.dumps(problem))
    rows = problem.random_rows(5, np.random.default_rng(1))
    assert np.array_equal(again.metrics(rows), problem.metrics(rows), equal_nan=True)
    assert not any(
        array.flags.writeable for array in (*again.problem[:9], *again.problem.groups, *again.space.common.measured)
    )
    assert again.with_own_workspaces().problem.submit is again.problem.submit
    assert again.schedule(rows[0]) == problem.schedule(rows[0])


def test_no_function_takes_the_words_without_the_reading() -> None:
    """Tests that whatever takes a word of the reading takes the noun: the four are handed on as one thing."""
    alone = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "reading.py" or "cli" in path.parts:  # which make one of the words
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
                if "kill_at_estimate" in names and "reading" not in names:
                    alone.append(f"{path.relative_to(PACKAGE)}: {node.name}")
    assert not alone


def test_estimates_that_are_the_run_times_are_told() -> None:
    """Tests that the words of a schedule and of a search say if plans know estimates and no job has a request."""
    bare = fs.Workload(submit=[0, 1], tasks=[2, 3], runtime=[10, 20])
    asked = fs.Workload(submit=[0, 1], tasks=[2, 3], runtime=[10, 20], estimate=[10, 30])
    said = "estimates are the run times, as no job has another request"
    cases = ((bare, "estimate", True), (bare, "runtime", False), (asked, "estimate", False))
    for workload, knowledge, is_told in cases:
        assert (said in fs.simulate(workload, 4, knowledge=knowledge).question) == is_told
        assert (said in fs.optimize(workload, 4, evaluations=10, knowledge=knowledge).reading) == is_told
    assert "estimates: the run times, as no job has another request" in str(bare)
