"""The runner under stress: entrants of all kinds, files that cannot be written, executors and processes that die."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.compare import Budget, Comparison, Instance, Outcome, compare, overtime, read_records
from fedsched.comparison.entrants import Entrant, PolicyEntrant, SearchEntrant
from fedsched.comparison.files import RunFile, merge_records
from fedsched.comparison.method_names import entrant_of
from fedsched.core.errors import FedschedError, OutputError
from fedsched.optimize.baselines import bounds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fedsched.search.problem.problem import SearchProblem

ROOT = Path(__file__).resolve().parents[2]
BUDGET = Budget(evaluations=10)


def test_anything_that_runs_takes_part(tiny: list[Instance], fixed: type) -> None:
    """Tests that an object with a name and a run is compared like any method, and what it gives is kept."""
    found = compare(tiny, [fixed("mine", 3.0)], (0, 1), BUDGET)
    first = found.records[0]
    assert isinstance(fixed("mine"), Entrant)
    assert (first.method, first.front, first.bounds, first.evaluations) == ("mine", ((3.0,),), (1.5,), 10)
    assert first.versions == {"toy": "1"}
    assert first.optimum == 2.0


def test_an_instance_of_another_world_takes_part() -> None:
    """Tests that a simulator of another kind needs no workload: a name, objectives, an optimum and a fingerprint."""

    @dataclass(frozen=True)
    class Slots:
        name: str
        length: float
        objectives: tuple[str, ...] = ("cost",)
        optimum: float | None = None

        def fingerprint(self) -> str:
            return f"{self.length}"

    class Window:
        name = "first window"

        def run(self, instance: Slots, seed: int, _budget: Budget) -> Outcome:
            return Outcome(front=[[instance.length + seed]], bounds=(instance.length,))

    found = compare([Slots("a", 2.0), Slots("b", 4.0)], [Window()], (0, 1), BUDGET)
    assert [(row.instance, row.median, row.gap) for row in found.table().rows] == [("a", 2.5, 0.25), ("b", 4.5, 0.125)]


def test_names_are_searches_or_policies(fixed: type) -> None:
    """Tests what a name stands for, and that what is neither a name nor can be run is refused."""
    assert entrant_of("Auto", ("fcfs",)) == SearchEntrant("Auto", ("fcfs",))
    assert entrant_of("easy", None) == PolicyEntrant("easy")
    chance = entrant_of("GA:random", None)
    assert isinstance(chance, SearchEntrant)
    assert (chance.method, chance.seeds) == ("GA", "random")
    assert isinstance(entrant_of("ga:chance", None), PolicyEntrant)  # whose run says which names there are
    mine = fixed("mine")
    assert entrant_of(mine, None) is mine
    with pytest.raises(TypeError, match="method 3 must be a name"):
        entrant_of(3, None)


def test_methods_that_coincide_run_once_and_it_is_said(tiny: list[Instance]) -> None:
    """With objectives named ga-mf and ga-ea are ga, and fcfs-easy is easy: one runs, and the others are named."""
    found = compare(tiny, ("ga", "ga-mf", "easy", "ga-ea", "fcfs-easy", "ga-slowdown"), (0, 1), BUDGET)
    assert found.methods == ("ga", "easy", "ga-slowdown")
    assert found.notes == (
        "ga-mf is not run beside ga: with the instances' objectives they are the same search",
        "ga-ea is not run beside ga: with the instances' objectives they are the same search",
        "fcfs-easy is not run beside easy: they are the same policy",
    )
    assert all(note in str(found) for note in found.notes)


def test_a_comparison_varies_the_plans_that_a_search_begins_with(tiny: list[Instance]) -> None:
    """Both ga and ga:random are methods, each the search that optimize makes with these seeds."""
    found = compare(tiny[:1], ("ga", "ga:random"), [0], BUDGET)
    assert found.methods == ("ga", "ga:random")
    for record, seeds in zip(found.records, ("structured", "random"), strict=True):
        result = fs.optimize(
            tiny[0].workload, tiny[0].federation, objectives="makespan", method="ga", seeds=seeds, evaluations=10
        )
        assert record.best() == result.front.values[0, 0]


def test_a_policy_runs_once_however_many_seeds_there_are(tiny: list[Instance], tmp_path: Path) -> None:
    """Policies know no chance: one run an instance, found again in the file; searches run with every seed."""
    path = tmp_path / "runs.jsonl"
    found = compare(tiny, ("fcfs", "random"), range(3), BUDGET, path=path)
    assert [(one.method, one.seed) for one in found.records if one.instance == "a"] == [
        ("fcfs", 0), ("random", 0), ("random", 1), ("random", 2),
    ]  # fmt: skip
    assert [one.deterministic for one in read_records(path)] == [True, False, False, False] * 2
    assert [row.runs for row in found.table().rows] == [1, 3, 1, 3]


def test_a_run_that_fails_leaves_the_others(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that one failing run is one failed record with its reason, in the file too, and is retried when asked."""
    path, broken = tmp_path / "runs.jsonl", fixed("mine", fails=frozenset({("a", 1)}))
    found = compare(tiny, [broken, fixed("other")], (0, 1), BUDGET, path=path)
    assert [(r.method, r.instance, r.seed, r.error) for r in found.failed] == [
        ("mine", "a", 1, "RuntimeError: it broke")
    ]
    assert len(read_records(path)) == 8
    mended = fixed("mine")
    assert compare(tiny, [mended, fixed("other")], (0, 1), BUDGET, path=path).failed == found.failed
    assert mended.calls == []
    again = compare(tiny, [mended, fixed("other")], (0, 1), BUDGET, path=path, retry=True)
    assert mended.calls == [("a", 1)]
    assert not again.failed
    assert compare(tiny, [mended, fixed("other")], (0, 1), BUDGET, path=path) == again


def test_what_no_schedule_can_give_is_a_failed_run(tiny: list[Instance]) -> None:
    """Tests that a value below a proven bound, and more evaluations than allowed, fail and do not win."""

    class Cheat:
        def __init__(self, name: str, value: float, evaluations: int) -> None:
            self.name, self.value, self.evaluations = name, value, evaluations

        def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
            return Outcome(front=((self.value,),), bounds=(1e9,), evaluations=self.evaluations)

    cheats = (Cheat("below", 1.0, 1), Cheat("over", 1e6, 11), Cheat("fair", 1e6, 10))
    found = compare(tiny[:1], [*cheats, "easy"], [0], Budget(evaluations=10))
    [below, over] = found.failed
    assert "it gave makespan=1, below the proven bound" in below.error
    assert over.error == "ValueError: over took 11 evaluations; the budget is 10."
    assert next(iter(found.ranks())) == "easy"


def test_policies_are_objects_too_and_bounds_are_computed_once(
    tiny: list[Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that an object with rules runs as its name does, and that policies of an instance share its bounds."""
    calls: list[SearchProblem] = []

    def counted(problem: SearchProblem) -> object:
        calls.append(problem)
        return bounds_of(problem)

    monkeypatch.setattr("fedsched.comparison.entrants.bounds_of", counted)
    rolling = fs.Rolling(evaluations=10)
    found = compare(tiny, ["easy", fs.Rules("fcfs", "easy", name="mine"), rolling], [0], BUDGET)
    assert found.methods == ("easy", "mine", str(rolling))
    assert not found.failed
    assert len(calls) == len(tiny)
    assert all(one.bounds[0] == of[0].bounds[0] > 0 for of in (found.records[:3], found.records[3:]) for one in of)
    for values in found.values().values():
        assert values["easy"] == values["mine"]


def test_bounds_do_not_depend_on_what_a_file_holds(tiny: list[Instance], tmp_path: Path) -> None:
    """Tests that a policy that was not the first in a file's comparison gets bounds when it is compared alone."""
    path = tmp_path / "runs.jsonl"
    both = compare(tiny[:1], ["easy", "fcfs"], [0], BUDGET, path=path)
    alone = compare(tiny[:1], ["fcfs"], [0], BUDGET, path=path)
    assert alone.records[0].bounds == both.records[0].bounds
    assert alone.records[0].bounds[0] is not None
    assert len(read_records(path)) == 3
    assert compare(tiny[:1], ["fcfs"], [0], BUDGET, path=path) == alone
    assert len(read_records(path)) == 3


def test_a_changed_object_runs_again(tiny: list[Instance], tmp_path: Path) -> None:
    """Tests that a policy object of the same name with another attribute is no earlier run, and the same one is."""

    class Mine:
        name = "mine"

        def __init__(self, order: str) -> None:
            self.order, self.calls = order, [0]

        def rules(self, workload: fs.Workload, federation: fs.Federation) -> fs.Rules:
            self.calls.append(len(workload))
            return fs.Rules(self.order, "greedy")

    path = tmp_path / "runs.jsonl"
    ljf, sjf = Mine("ljf"), Mine("sjf")
    first = compare(tiny[:1], ljf, [0], BUDGET, path=path)
    assert compare(tiny[:1], sjf, [0], BUDGET, path=path).records[0].code != first.records[0].code
    calls = len(ljf.calls)
    assert compare(tiny[:1], ljf, [0], BUDGET, path=path) == first
    assert len(ljf.calls) == calls
    assert len(read_records(path)) == 2


def test_a_function_is_an_objective(tiny: list[Instance], tmp_path: Path) -> None:
    """Tests that searches and policies are measured by a function, that lines name it, and that a change is noticed."""

    def bill(price: float) -> Callable[[Any], Any]:
        def euros(metrics: Any) -> Any:
            return metrics["energy"] * price + metrics["mean_wait"]

        return euros

    def compared(price: float) -> Comparison:
        one = Instance("one", tiny[0].workload, tiny[0].federation, ("makespan", bill(price)))
        return compare(one, ["ga", "easy"], [0], BUDGET, path=tmp_path / "runs")

    found, dearer = compared(1e-6), compared(2e-6)
    assert (found.failed, dearer.failed) == ((), ())
    assert found.records[0].objectives == read_records(tmp_path / "runs")[0].objectives == ("makespan", "euros")
    metrics = fs.simulate(replace(tiny[0].workload, submit=0.0 * tiny[0].workload.submit), tiny[0].federation, "easy",
                          knowledge="runtime").metrics()  # fmt: skip
    assert found.medians("euros")["one"]["easy"] == pytest.approx(1e-6 * metrics.energy + metrics.mean_wait)
    assert found.medians("euros")["one"]["ga"] <= found.medians("euros")["one"]["easy"]
    assert dearer.medians("euros")["one"]["easy"] > found.medians("euros")["one"]["easy"]
    assert compared(1e-6) == found
    assert len(read_records(tmp_path / "runs")) == 4


def test_a_function_named_as_a_metric_is_refused(tiny: list[Instance]) -> None:
    """Tests that a table could not tell it from the metric."""

    def energy(metrics: Any) -> Any:
        return metrics["makespan"]

    with pytest.raises(ValueError, match="'energy' has the name of a metric; name it otherwise"):
        Instance("one", tiny[0].workload, tiny[0].federation, energy)


def test_a_run_that_is_late_is_told(makespans: Callable[..., Comparison]) -> None:
    """Tests that a method that takes much longer than its seconds is named with the longest time."""
    records = zip(makespans({("x", "a"): [1.0, 2.0], ("x", "b"): [2.0]}).records, (14.0, 20.0, 12.0), strict=True)
    late = [replace(record, seconds=seconds, seconds_allowed=10.0) for record, seconds in records]
    assert overtime(late) == ["a took up to 20.0 s of the 10 s allowed"]


@pytest.mark.parametrize("front", [[], [[1.0, 2.0]], [[float("nan")]], [[float("inf")]]])
def test_a_front_of_another_shape_is_a_failed_run(tiny: list[Instance], front: list[list[float]]) -> None:
    """Tests that an entrant that gives nothing, or rows of other objectives, has failed."""

    class Odd:
        name = "odd"

        def run(self, _instance: Instance, _seed: int, _budget: Budget) -> Outcome:
            return Outcome(front=front)

    (record,) = compare(tiny[:1], [Odd()], [0], BUDGET).records
    assert "rows of 1 finite values" in record.error


def test_names_must_tell_apart(tiny: list[Instance], fixed: type) -> None:
    """Tests that an instance, method or seed given twice, or none at all, is an error before anything is run."""
    mine = fixed("mine")
    for instances, methods, seeds, message in (
        ([tiny[0], tiny[0]], [mine], [0], "instance 'a' is given twice"),
        (tiny, [mine, fixed("mine")], [0], "method 'mine' is given twice"),
        (tiny, [mine], [0, 0], "seed '0' is given twice"),
        ([], [mine], [0], "no instance"),
        (tiny, [], [0], "no method"),
        (tiny, [mine], [], "no seed"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(instances, methods, seeds, BUDGET)
    assert mine.calls == []
    with pytest.raises(ValueError, match="evaluations=0"):
        Budget(evaluations=0)
    with pytest.raises(ValueError, match="must name metrics"):
        Instance("a", tiny[0].workload, tiny[0].federation, ())


def test_other_baselines_make_other_runs(tiny: list[Instance], tmp_path: Path) -> None:
    """Tests that a search is run again with other baselines, and a policy, which has none, is not."""
    path = tmp_path / "runs.jsonl"
    for baselines in (("fcfs",), ("easy",), ("fcfs",)):
        compare(tiny[:1], ["easy"], [0], BUDGET, path=path, baselines=baselines)
    assert [record.baselines for record in read_records(path)] == [None]
    blank = compare(tiny[:1], ["hc"], [0], BUDGET, baselines=["nothing"]).records[0]
    assert blank.baselines == ("nothing",)
    assert "nothing" in blank.error


# ---- files --------------------------------------------------------------------------------------------------------


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond the size: a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, former)


def test_a_full_disk_keeps_the_earlier_rows(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that where the disk takes half a line the error is clear, whole lines are left, and a rerun completes."""
    path = tmp_path / "runs.jsonl"
    whole = compare(tiny, [fixed("mine")], (0, 1), BUDGET, path=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    with (
        largest_file(len(lines[0]) + len(lines[1]) + 30),
        pytest.raises(OutputError, match=r"the run of mine on b, seed 0 to .*\(2 of this call\): make room"),
    ):
        compare(tiny, [fixed("mine")], (0, 1), BUDGET, path=path)
    assert path.read_bytes() == lines[0] + lines[1]
    rest = fixed("mine")
    assert compare(tiny, [rest], (0, 1), BUDGET, path=path) == whole
    assert rest.calls == [("b", 0), ("b", 1)]


def test_a_device_that_is_full_is_said(tiny: list[Instance], run_of: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that a line that the system refuses is an error that gives its reason, and a device is no file of runs."""
    path = tmp_path / "runs.jsonl"
    with RunFile(path) as file, open("/dev/full", "ab", buffering=0) as full:
        file.add(run_of("a", "m", 0, [1.0]))
        stream, file._stream = file._stream, full
        with pytest.raises(OutputError, match=r"No space left on device; the runs .* \(1 of this call\)"):
            file.add(run_of("a", "m", 1, [1.0]))
        file._stream = stream
        file.add(run_of("a", "m", 2, [1.0]))
    assert [record.seed for record in read_records(path)] == [0, 2]
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    for device in ("/dev/full", tmp_path / "full.jsonl"):
        with pytest.raises(FedschedError, match="no regular file"):
            compare(tiny, ["fcfs"], [0], BUDGET, path=device)
        with pytest.raises(FedschedError, match="no regular file"):
            RunFile(device)


HOLDS = """
import sys
from fedsched.comparison.files import RunFile

with RunFile(sys.argv[1]):
    print("it is mine", flush=True)
    input()
"""


def test_two_comparisons_do_not_share_a_file(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that a file that another process writes to is refused before any run, and free when that one has ended."""
    path, mine = tmp_path / "runs.jsonl", fixed("mine")
    compare(tiny[:1], [mine], [0], BUDGET, path=path)
    before = path.read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as other:  # fmt: skip
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(OutputError, match="another comparison is writing to it; give each its own file"):
            compare(tiny, [mine], [0], BUDGET, path=path)
        assert path.read_bytes() == before
        assert mine.calls == [("a", 0)]
        other.kill()
    assert len(compare(tiny, [mine], [0], BUDGET, path=path).records) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_reading_a_file_lets_no_second_writer_in(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that a comparison that looks at its own file within `progress` still has it to itself."""
    path, said = tmp_path / "runs.jsonl", []

    def look(done: int, _total: int) -> None:
        if done == 1:
            read_records(path)
            other = subprocess.run(
                [sys.executable, "-c", HOLDS, str(path)], input="\n", capture_output=True, text=True, check=False,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            said.append((other.stdout, other.stderr))

    compare(tiny, [fixed("mine")], [0], BUDGET, path=path, progress=look)
    ((out, error),) = said
    assert out == ""
    assert "another comparison is writing to it" in error


def test_a_folder_that_takes_no_lock_is_no_obstacle(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that where no file can be made beside it, here for the name's length, the file itself is locked."""
    path = tmp_path / ("x" * 249 + ".jsonl")
    with RunFile(path):
        other = subprocess.run(
            [sys.executable, "-c", HOLDS, str(path)], input="\n", capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert "another comparison is writing to it" in other.stderr
    assert len(compare(tiny, [fixed("mine")], [0], BUDGET, path=path).records) == 2


def test_a_file_that_cannot_be_written_is_said_before_any_run(
    tiny: list[Instance], fixed: type, tmp_path: Path
) -> None:
    """Tests that a folder that is not there, or a folder itself, is an error that costs no run."""
    mine = fixed("mine")
    for path in (tmp_path / "no" / "runs.jsonl", tmp_path):
        with pytest.raises(FedschedError, match="Cannot"):
            compare(tiny, [mine], [0], BUDGET, path=path)
    assert mine.calls == []


def test_lines_survive_a_writer_that_was_cut_off(run_of: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that half a line is cut away by the next writer, a whole one is kept, and other damage is named."""
    path = tmp_path / "runs.jsonl"
    records = [run_of("a", "m", seed, [1.0 + seed, 2.0], bounds=(0.5, None), baselines=("fcfs",)) for seed in range(3)]
    with RunFile(path) as file:
        for record in records[:2]:
            file.add(record)
    for rubbish in (b'{"instance": "a"', b"{", b'{"instance": 1}'):
        path.write_bytes(path.read_bytes() + rubbish)
        assert read_records(path) == records[:2]
        with RunFile(path):
            pass
        assert path.read_bytes().endswith(b"}\n")
    with RunFile(path) as file:
        file.add(records[2])
    assert read_records(path) == records
    path.write_bytes(path.read_bytes()[:-1])  # all but the line feed
    with RunFile(path) as file:
        file.add(records[0])
    assert read_records(path) == [*records, records[0]]
    path.write_bytes(b"\xff\n" + path.read_bytes())
    with pytest.raises(FedschedError, match="line 1"):
        read_records(path)


def test_a_file_of_something_else_is_left_alone(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that a text without line feeds that is no run is an error, and not cut away."""
    path = tmp_path / "mine.txt"
    path.write_text("my notes")
    with pytest.raises(FedschedError, match="line 1: not a run"):
        compare(tiny, [fixed("mine")], [0], BUDGET, path=path)
    assert path.read_text() == "my notes"


def test_numbers_of_numpy_are_kept(tiny: list[Instance], tmp_path: Path) -> None:
    """Tests that seeds and outcomes of numpy's types get into the file and back."""

    class Array:
        name = "array"

        def run(self, _instance: Instance, seed: int, _budget: Budget) -> Outcome:
            value = np.float64(seed + 1)
            return Outcome(np.array([[value]]), (np.nan,), evaluations=np.int64(5), seconds=np.float32(0.5))

    path = tmp_path / "runs.jsonl"
    found = compare(tiny[:1], [Array()], np.arange(2), BUDGET, path=path)
    assert not found.failed
    assert [record.front for record in read_records(path)] == [((1.0,),), ((2.0,),)]
    assert (found.records[0].bounds, found.records[0].seconds) == ((None,), 0.5)


def test_budgets_of_numpy_are_kept(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that a budget of numpy's types gets into the file, and is found there by the same budget of Python's."""
    path, again = tmp_path / "runs.jsonl", fixed("mine")
    given = Budget(np.int64(10), np.float32(2.5))
    compare(tiny, [fixed("mine")], [0], given, path=path)
    compare(tiny, [again], [0], Budget(10, 2.5), path=path)
    assert again.calls == []
    assert (type(given.evaluations), type(given.seconds)) == (int, float)


def test_a_budget_that_no_search_takes_is_refused() -> None:
    """Tests that what would make every run a failed one is an error before any."""
    for wrong, error, words in (
        ({"evaluations": 1e3}, TypeError, r"evaluations=1000\.0 must be a whole number, e\.g\. 1000"),
        ({"evaluations": True}, TypeError, "evaluations=True must be a whole number"),
        ({"evaluations": 0}, ValueError, "evaluations=0 must be at least 1"),
        ({"seconds": "5"}, TypeError, "seconds='5' must be a number"),
        ({"seconds": float("inf")}, ValueError, "seconds=inf must be finite and above 0"),
        ({"seconds": float("nan")}, ValueError, "seconds=nan must be finite and above 0"),
    ):
        with pytest.raises(error, match=words):
            Budget(**wrong)


def test_files_of_several_machines_are_merged(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that every run is taken once, a good one after a failed one, half a line not; again, only what is new."""
    parts, path = [tmp_path / f"{seed}.jsonl" for seed in range(3)], tmp_path / "all.jsonl"
    for seed, part in enumerate(parts):
        compare(tiny, [fixed("mine", fails=frozenset({("a", 0)}))], [seed], BUDGET, path=part)
    parts[2].write_bytes(parts[2].read_bytes()[:-20])
    assert merge_records(parts, path) == 5
    assert merge_records(parts, path) == 0
    compare(tiny, [fixed("mine")], [0], BUDGET, path=parts[0], retry=True)
    assert merge_records(parts[:1], path) == 1
    rest = fixed("mine")
    whole = compare(tiny, [rest], range(3), BUDGET, path=path)
    assert rest.calls == [("b", 2)]
    assert whole == compare(tiny, [fixed("mine")], range(3), BUDGET)
    assert merge_records([tmp_path / "none.jsonl"], path) == 0


def test_rows_of_an_older_file_are_read(run_of: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that lines that know nothing of baselines and optima are runs with the usual baselines."""
    path = tmp_path / "runs.jsonl"
    with RunFile(path) as file:
        file.add(run_of("a", "m", 0, [1.0]))
    row = json.loads(path.read_text())
    del row["baselines"], row["optimum"]
    path.write_text(json.dumps(row) + "\n")
    assert read_records(path) == [run_of("a", "m", 0, [1.0])]


# ---- executors ----------------------------------------------------------------------------------------------------


class Dying(Executor):
    """An executor that does some tasks, last first, and then breaks; or refuses further ones."""

    def __init__(self, does: int, *, refuses: bool = False) -> None:
        self.left, self.refuses, self.futures = does, refuses, []

    def submit(self, function: Any, /, *args: Any, **options: Any) -> Future[Any]:
        """Do it at once, or never."""
        future: Future[Any] = Future()
        if self.left > 0:
            self.left -= 1
            future.set_result(function(*args, **options))
        elif self.refuses:
            raise BrokenProcessPool("cannot take more")
        else:
            future.set_exception(BrokenProcessPool("a worker died"))
        self.futures.append(future)
        return future


@pytest.mark.parametrize("refuses", [False, True])
def test_an_executor_that_dies_names_the_run(refuses: bool, tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that the error says which run was lost, what ended is on disk, and a rerun does only what is missing."""
    path = tmp_path / "runs.jsonl"
    message = r"failed at the run of mine on b, seed 0 and 1 others \(BrokenProcessPool: .*\); .* call again"
    with pytest.raises(FedschedError, match=message):
        compare(tiny, [fixed("mine")], (0, 1), BUDGET, path=path, executor=Dying(2, refuses=refuses))
    assert sorted((r.instance, r.seed) for r in read_records(path)) == [("a", 0), ("a", 1)]
    rest = fixed("mine")
    compare(tiny, [rest], (0, 1), BUDGET, path=path)
    assert rest.calls == [("b", 0), ("b", 1)]


def test_what_was_asked_of_an_executor_is_taken_back(tiny: list[Instance], fixed: type, tmp_path: Path) -> None:
    """Tests that when the file cannot be written the runs that have not begun are cancelled."""

    class Waiting(Dying):
        def submit(self, function: Any, /, *args: Any, **options: Any) -> Future[Any]:
            if len(self.futures) == 1:
                self.futures.append(Future())
                return self.futures[-1]
            return super().submit(function, *args, **options)

    pool = Waiting(9)
    with largest_file(10), pytest.raises(OutputError, match="make room"):
        compare(tiny[:1], [fixed("mine")], (0, 1), BUDGET, path=tmp_path / "runs.jsonl", executor=pool)
    with pytest.raises(CancelledError):
        pool.futures[1].result()


def test_ctrl_c_in_a_worker_ends_the_comparison(tiny: list[Instance], tmp_path: Path) -> None:
    """Tests that an interrupted run is no failed run: the interrupt goes up, earlier runs are kept."""

    class Interrupted:
        name = "mine"

        def run(self, instance: Instance, _seed: int, _budget: Budget) -> Outcome:
            if instance.name == "b":
                raise KeyboardInterrupt
            return Outcome(front=[[1.0]])

    for executor in (None, ThreadPoolExecutor(1)):
        path = tmp_path / f"{executor is None}.jsonl"
        with pytest.raises(KeyboardInterrupt):
            compare(tiny, [Interrupted()], [0], BUDGET, path=path, executor=executor)
        assert [record.instance for record in read_records(path)] == ["a"]


DEADLY = """
import os, signal, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import fedsched as fs
from fedsched import cli
import fedsched as fs
from fedsched.compare import Budget, Instance, Outcome, compare

class Deadly:
    name = "deadly"
    def run(self, instance, seed, budget):
        if seed == 3 and sys.argv[2] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(front=[[1.0 + seed]])

if __name__ == "__main__":
    jobs = fs.Workload(submit=[0.0], tasks=[1], runtime=[10.0])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = compare([Instance("a", jobs, fs.Federation.of(2))], [Deadly()], range(6), Budget(evaluations=1),
                        path=sys.argv[1], executor=pool)
    print(found.medians()["a"]["deadly"])
"""


@pytest.mark.deep
@pytest.mark.slow
def test_a_killed_worker_process_ends_the_comparison(tmp_path: Path) -> None:
    """Tests with a real pool whose worker is killed in the fourth run: an error, three rows, a rerun to the end."""
    script, path = tmp_path / "deadly.py", tmp_path / "runs.jsonl"
    script.write_text(DEADLY)

    def run(how: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(script), str(path), how], capture_output=True, text=True, check=False, cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    done = run("die")
    assert done.returncode != 0
    assert "the run of deadly on a, seed 3 and 2 others (BrokenProcessPool" in done.stderr
    assert [record.seed for record in read_records(path)] == [0, 1, 2]
    assert run("live").stdout.strip() == "3.5"


KILLS = """
import contextlib, io, json, os, random, signal, sys
from pathlib import Path
from fedsched import cli
from fedsched.comparison.files import RunFile, merge_records

path, undisturbed, draw, add = *sys.argv[1:], random.Random(6), RunFile.add
words = ["sample", "--federation", "example", "--head", "40", "--package", "20", "--seeds", "8", "--json"]
words += ["--evaluations", "300", "--baseline", "fcfs", "--method", "hc", "--method", "random", "--method", "sa"]


def table(path):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert cli.run(["compare", *words, "--out", path]) == 0
    return json.loads(said.getvalue()) | {"written": None}


class Torn:
    # A stream whose next write is cut short by death.
    def __init__(self, stream, share):
        self.stream, self.share = stream, share
    def __getattr__(self, name):
        return getattr(self.stream, name)
    def write(self, line):
        self.stream.write(line[: max(1, min(len(line) - 1, round(self.share * len(line))))])
        os.kill(os.getpid(), signal.SIGKILL)


def doomed(rows, share, told):
    # The comparison in a process that tells of each row, and dies within the write after so many rows.
    def telling(file, record):
        nonlocal rows
        if share is not None and rows == 0:
            file._stream = Torn(file._stream, share)
        add(file, record)
        rows -= 1
        os.write(told, b".")
        if rows < -1:
            signal.pause()  # the kill is late
    RunFile.add = telling
    table(path)
    os._exit(0)


whole, kills = table(undisturbed), []
while len(kills) < 10:
    rows, share = draw.randint(1, 3), draw.choice([None, draw.uniform(0.0, 1.02)])
    hears, told = os.pipe()
    child = os.fork()
    if child == 0:
        doomed(rows, share, told)
    os.close(told)
    for _ in range(rows):
        assert os.read(hears, 1) == b"."
    if share is None:
        for _ in range(draw.randrange(300_000)):
            pass
        os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    os.close(hears)
    content = Path(path).read_bytes()
    kills.append([share is not None, content.count(b"\\n"), content.endswith(b"\\n")])
print(json.dumps([kills, whole, table(path)]))
"""


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.compiled
def test_a_comparison_survives_being_killed(tmp_path: Path) -> None:
    """Tests that one killed ten times, at random moments and within writes, ends with the undisturbed table."""
    script, path = tmp_path / "kills.py", tmp_path / "runs.jsonl"
    script.write_text(KILLS)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), str(path), str(tmp_path / "whole.jsonl")],
        capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    kills, whole, resumed = json.loads(done.stdout)
    within, rows, clean = (list(column) for column in zip(*kills, strict=True))
    assert 3 <= sum(within) <= 7
    assert not any(line for write, line in zip(within, clean, strict=True) if write)  # half a line is left
    assert rows == sorted(rows)
    assert rows[-1] < 48  # the last one was killed too
    assert resumed == whole
    keys = [record.key for record in read_records(path)]
    assert len(keys) == len(set(keys)) == 48  # nothing was run twice
