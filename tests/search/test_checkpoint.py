"""Checkpoints of searches: killed anywhere they go on to the same end, and nothing but a search's state is taken up."""

from __future__ import annotations

import hashlib
import io
import pickle
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.tiers import some

import fedsched as fs
from fedsched.core.errors import FedschedError, OutputError
from fedsched.io.checkpoint_file import DIGEST
from fedsched.io.trees import pack, unpack
from fedsched.search.methods.methods import METHODS
from fedsched.search.run import checkpoint as checkpoints

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.search.run.run import Run

FEW = ("fcfs", "easy")
OF_SEVERAL = ("mpso-fga",)  # methods that need two objectives, as no packages have
BOUND = "ga (assignment)"
JOBS = fs.Workload.example().head(24)
pytestmark = pytest.mark.compiled


class Killed(BaseException):
    """Ends a search with no time to save anything."""


@pytest.fixture(autouse=True)
def always_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save after every step."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)


def search(path: Path | None = None, **options: Any) -> fs.Result:
    """Return what a small search finds."""
    given = {"evaluations": 900, "seed": 4, "baselines": FEW, **options}
    return fs.optimize(JOBS, fs.Federation.example(), checkpoint=path, **given)


# ---- killed anywhere ------------------------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("islands", [1, 2])
@pytest.mark.parametrize(
    ("method", "package"),
    [
        (method, package)
        for method in (*sorted(METHODS), BOUND)
        for package in (None, 10)
        if not (package and method in OF_SEVERAL)
    ],
)
def test_a_search_killed_anywhere_ends_as_an_undisturbed_one(
    method: str, islands: int, package: int | None, tmp_path: Path
) -> None:
    """Tests that every method, alone or on islands, whole or in packages, killed at random steps ends bit for bit."""
    objectives = ("makespan", "energy") if package is None else "makespan"
    options: dict[str, Any] = {"method": method, "islands": islands, "package": package, "objectives": objectives}
    if method == BOUND:
        options |= {"method": "ga", "encoding": "assignment"}
    steps = 0

    def count(run: Run) -> None:
        nonlocal steps
        steps += 1

    whole = search(callback=count, **options)
    rng = np.random.default_rng([len(method), islands, package or 0])
    kills = 0
    for step in rng.integers(1, max(2, steps // 2), size=3).tolist():
        left = step

        def strike(run: Run) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed

        try:
            search(tmp_path / "c", callback=strike, **options)
        except Killed:
            kills += 1
    again = search(tmp_path / "c", **options)
    assert kills or steps < 3
    assert again.evaluations == whole.evaluations
    assert np.array_equal(again.front.values, whole.front.values)
    for one, other in zip(again.front.plans, whole.front.plans, strict=True):
        assert one.policy == other.policy
        assert np.array_equal(one.order, other.order)
        assert np.array_equal(one.caps, other.caps)
    assert again.best() == whole.best()
    assert [(m.evaluations, m.best) for m in again.history] == [(m.evaluations, m.best) for m in whole.history]


@pytest.mark.parametrize("evaluations", [600, 637])
@pytest.mark.parametrize("method", ["moga", "ga", "pso-ea", "random"])
def test_a_finished_search_goes_on_with_a_larger_budget(
    method: str, evaluations: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a short search saves its end, or what was before its last, cut step, and goes on as one long search.

    With the same budget it gives the same again.
    """
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 1e9)
    short = search(tmp_path / "c", method=method, evaluations=evaluations)
    again = search(tmp_path / "c", method=method, evaluations=evaluations)
    longer, whole = search(tmp_path / "c", method=method), search(method=method)
    for one, other in ((again, short), (longer, whole)):
        assert one.evaluations == other.evaluations
        assert np.array_equal(one.front.values, other.front.values)
        assert [(m.evaluations, m.best) for m in one.history] == [(m.evaluations, m.best) for m in other.history]


@pytest.mark.parametrize("options", [{}, {"method": "hc"}, {"islands": 2}])
def test_methods_that_look_at_the_budget_save_their_end(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that the search goes on from the end with a larger budget, and does not begin anew."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 1e9)
    search(tmp_path / "c", evaluations=900, **options)
    seen: list[int] = []
    search(tmp_path / "c", evaluations=1500, callback=lambda run: seen.append(run.evaluations), **options)
    assert seen[0] > 900


def test_a_search_that_ends_in_its_first_step_leaves_a_file(tmp_path: Path) -> None:
    """Tests that the file is there after every search, and that the next call begins anew if it must."""
    first = search(tmp_path / "c", method="moga", evaluations=3)
    assert tree_of(tmp_path / "c")["run"] is None
    assert np.array_equal(search(tmp_path / "c", method="moga", evaluations=3).front.values, first.front.values)


def test_a_save_that_fails_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a disk that is full in the middle or at the end does not lose the result."""

    def full(*_: object) -> None:
        raise OutputError("Cannot write c: no space left.")

    monkeypatch.setattr(checkpoints.SealedFile, "write", full)
    with pytest.warns(RuntimeWarning, match="The search goes on, but it is not saved: Cannot write c"):
        assert search(tmp_path / "c", method="random").evaluations == 900


def test_the_record_of_a_genetic_algorithm_goes_on(tmp_path: Path) -> None:
    """Tests that DEAP's logbook of a resumed search holds every generation once."""
    from fedsched.search.methods.genetic import Genetic

    books: list[Any] = []
    step = Genetic.step

    def noted(self: Genetic, run: Run) -> bool:
        books[:] = [self.logbook]
        return step(self, run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Genetic, "step", noted)
        search(tmp_path / "c", method="ga", objectives="makespan", evaluations=500)
        search(tmp_path / "c", method="ga", objectives="makespan", evaluations=900)
        resumed = list(books[0])
        search(method="ga", objectives="makespan", evaluations=900)
    assert [line["generation"] for line in resumed] == list(range(len(resumed)))
    assert len(resumed) >= 7


# ---- nothing else is taken up ---------------------------------------------------------------------------------------


def sealed(path: Path, content: bytes, mark: bytes = checkpoints.MARK) -> None:
    """Write what a forger would, with a digest that holds."""
    path.write_bytes(mark + hashlib.sha256(content).digest() + content)


def tree_of(path: Path) -> Any:
    """Return what a checkpoint holds."""
    return unpack(path.read_bytes()[len(checkpoints.MARK) + DIGEST :])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return checkpoints of several kinds of search."""
    folder, found = tmp_path_factory.mktemp("saved"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
        for kind, options in KINDS.items():
            search(folder / kind, **options)
            found[kind] = (folder / kind).read_bytes()
    return found


KINDS: dict[str, dict[str, Any]] = {
    "memetic": {},
    "islands": {"islands": 2},
    "packages": {"package": 10, "objectives": "makespan"},
    "mpso-fga": {"method": "mpso-fga"},
    "pso-ea": {"method": "pso-ea"},
    "ga": {"method": "ga"},
    "sa": {"method": "sa"},
    "random": {"method": "random"},
}


class Payload:
    """What would make a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_no_checkpoint_runs_anything(tmp_path: Path) -> None:
    """Tests that a pickle in a checkpoint's place, of whatever version, is refused and makes no file."""
    path, made = tmp_path / "c", tmp_path / "made"
    payload = pickle.dumps({"key": "k", "packages": Payload(made), "run": Payload(made), "method": Payload(made)})
    table = io.BytesIO()
    np.savez(table, key=np.array([Payload(made)], dtype=object))
    for mark in (checkpoints.MARK, b"fedsched checkpoint 4\n", b"fedsched checkpoint 3\n", b""):
        for content in (payload, zlib.compress(payload), table.getvalue(), zlib.compress(table.getvalue())):
            sealed(path, content, mark)
            with pytest.raises(FedschedError, match=r"c: .*; delete it to begin anew") as caught:
                search(path)
            assert "\n" not in str(caught.value)
            assert not made.exists()


def test_an_older_checkpoint_is_refused_by_name(tmp_path: Path) -> None:
    """Tests that the error says which version the file is of."""
    sealed(tmp_path / "c", b"anything", b"fedsched checkpoint 4\n")
    with pytest.raises(FedschedError, match="its version is 'fedsched checkpoint 4'"):
        search(tmp_path / "c")


def put(*names: str | int, to: object) -> Callable[[Any], None]:
    """Return an edit that sets a field, deep inside, to a value or to what a function makes of it."""

    def edit(tree: Any) -> None:
        for name in names[:-1]:
            tree = tree[name]
        tree[names[-1]] = to(tree[names[-1]]) if callable(to) else to

    return edit


def without(*names: str | int) -> Callable[[Any], None]:
    """Return an edit that takes a field away."""

    def edit(tree: Any) -> None:
        for name in names[:-1]:
            tree = tree[name]
        del tree[names[-1]]

    return edit


def at(place: tuple[int, ...], value: float) -> Callable[[Any], Any]:
    """Return what sets one number of an array."""

    def change(array: Any) -> Any:
        array = array.copy()
        array[place] = value
        return array

    return change


ARCHIVE, POPULATION, WALKERS = ("run", "archive"), ("method", "population"), ("method", "walkers")
ISLAND = ("method", "islands", 1)
FORGED = [
    ("memetic", without("run", "archive")),
    ("memetic", without("method", "walkers")),
    ("memetic", without("packages")),
    ("memetic", put("packages", to=[5])),
    ("memetic", put("run", to=7)),
    ("memetic", put("method", to=[])),
    ("memetic", put("run", "evaluations", to=-1)),
    ("memetic", put("run", "evaluations", to=10**30)),
    ("memetic", put("run", "evaluations", to="many")),
    ("memetic", put("run", "evaluations", to=True)),
    ("memetic", put("run", "improved_at", to=10**9)),
    ("memetic", put("run", "seconds", to=float("nan"))),
    ("memetic", put("run", "seconds", to=float("inf"))),
    ("memetic", put("run", "history", "best", to=lambda a: a[:-1])),
    ("memetic", put("run", "history", "seconds", to=at((0,), np.nan))),
    ("memetic", put(*ARCHIVE, "values", to=at((0, 0), np.nan))),
    ("memetic", put(*ARCHIVE, "values", to=lambda a: a[:, :1])),
    ("memetic", put(*ARCHIVE, "values", to=lambda a: a[:-1])),
    ("memetic", put(*ARCHIVE, "values", to=lambda a: a.astype(np.int64))),
    ("memetic", put(*ARCHIVE, "rows", to=lambda a: a.astype(np.float64))),
    ("memetic", put(*ARCHIVE, "rows", to=lambda a: a[:, :-1])),
    ("memetic", put(*ARCHIVE, "rows", to=at((0, 0), 10**9))),
    ("memetic", put(*ARCHIVE, "rows", to=at((0, 0), -1))),
    ("memetic", put(*ARCHIVE, "rows", to=lambda a: at((0, 0), a[0, 1])(a))),
    ("memetic", put(*ARCHIVE, "rows", to=at((0, 30), 10**6))),
    ("memetic", put(*ARCHIVE, "rows", to=lambda a: np.where(np.arange(a.shape[1]) >= 24, 0, a))),
    ("memetic", put(*ARCHIVE, "rows", to=at((0, -2), 99))),
    ("memetic", put(*ARCHIVE, "rows", to=at((0, -1), 99))),
    ("memetic", put(*ARCHIVE, "policies", to=lambda names: ["no such policy", *names[1:]])),
    ("memetic", put(*ARCHIVE, "policies", to=lambda names: [*names, ""])),
    ("memetic", put(*POPULATION, "rows", to=at((3, 0), 10**9))),
    ("memetic", put(*POPULATION, "rows", to=lambda a: a[:5])),
    ("memetic", put(*POPULATION, "values", to=at((3, 0), np.nan))),
    ("memetic", put(*POPULATION, "standing", to=at((3,), 10**9))),
    ("memetic", put(*WALKERS, "current", to=at((0, 0), 10**9))),
    ("memetic", put(*WALKERS, "best", to=at((0, 0), -5))),
    ("memetic", put(*WALKERS, "late", to=lambda a: a[:, :0])),
    ("memetic", put(*WALKERS, "late", to=lambda a: np.tile(a, (1, 101)))),
    ("memetic", put(*WALKERS, "steps", to=at((0, 0), -5))),
    ("memetic", put(*WALKERS, "ends", to=lambda a: a[:, :-1])),
    ("memetic", put(*WALKERS, "stream", to=lambda a: a.astype(np.int64))),
    ("memetic", put(*WALKERS, "weights", to=lambda a: np.tile(a, (50, 1)))),
    ("memetic", put("method", "stretch", to=10**9)),
    ("islands", put(*ISLAND, "rows", to=at((0, 0), 10**9))),
    ("islands", put(*ISLAND, "values", to=lambda a: a[:-1])),
    ("islands", put(*ISLAND, "done", to=-3)),
    ("islands", put(*ISLAND, "ended", to=1)),
    ("islands", put(*ISLAND, "state", "run", "archive", "rows", to=at((0, 0), 10**9))),
    ("islands", put(*ISLAND, "state", "method", "population", "rows", to=at((0, 0), 10**9))),
    ("islands", put(*ISLAND, "state", to="words")),
    ("islands", put("method", "islands", to=lambda islands: islands[:1])),
    ("packages", put("packages", 0, "row", to=at((0, 0), 10**9))),
    ("packages", put("packages", 0, "row", to=lambda a: a[:0])),
    ("packages", put("packages", 1, "history", "best", to=lambda a: a[:, :0])),
    ("packages", put("packages", 1, "evaluations", to=None)),
    ("packages", put("packages", 1, "value", to=at((0, 0), np.nan))),
    ("mpso-fga", put("method", "particles", "positions", to=at((0, 0), np.nan))),
    ("mpso-fga", put("method", "particles", "positions", to=at((0, 40), 1e300))),
    ("mpso-fga", put("method", "particles", "velocities", to=at((0, 0), np.inf))),
    ("mpso-fga", put("method", "particles", "own_values", to=lambda a: a[:3])),
    ("mpso-fga", put("method", "archive", to=lambda a: a[:0])),
    ("mpso-fga", put("method", "values", to=lambda a: a[:3])),
    ("pso-ea", put("method", "particles", "own", to=at((0, 0), -0.1))),
    ("pso-ea", put("method", "steps", to=-1)),
    ("ga", put("method", "rows", to=at((0, 0), 10**9))),
    ("ga", put("method", "values", to=lambda a: a[:3])),
    ("ga", put("method", "record", "best", to=lambda a: a[:3])),
    ("ga", put("method", "generation", to=10**12)),
    ("sa", put(*WALKERS, "heat", to=at((0, 0), -1.0))),
    ("sa", put("method", "restarts", to=-1)),
    ("random", put("method", "batch", to=2.5)),
]


@pytest.mark.parametrize(("kind", "edit"), some(FORGED, 3))
def test_a_forged_state_is_refused(kind: str, edit: Any, saved: dict[str, bytes], tmp_path: Path) -> None:
    """Tests that what no search leaves is refused by an error of one line that names the file and its cure."""
    path = tmp_path / "c"
    path.write_bytes(saved[kind])
    tree = tree_of(path)
    edit(tree)
    sealed(path, pack(tree))
    with pytest.raises(FedschedError, match=r"c: not a checkpoint as a search leaves it \(.*delete it") as caught:
        search(path, **KINDS[kind] | {"evaluations": 1200})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("memetic", put(*ARCHIVE, "values", to=lambda a: a * 0.999)),
        ("packages", put("packages", 0, "value", to=lambda a: a * 0.999)),
    ],
)
def test_falsified_values_are_noticed(kind: str, edit: Any, saved: dict[str, bytes], tmp_path: Path) -> None:
    """Tests that plans whose values are not theirs are those of another search."""
    path = tmp_path / "c"
    path.write_bytes(saved[kind])
    tree = tree_of(path)
    edit(tree)
    sealed(path, pack(tree))
    with pytest.raises(FedschedError, match="its plans have other values now"):
        search(path, **KINDS[kind])


def test_an_unchanged_state_goes_on(saved: dict[str, bytes], tmp_path: Path) -> None:
    """Tests that it is the edits that are refused: taken apart and written again, every kind goes on."""
    for kind, options in KINDS.items():
        path = tmp_path / kind
        path.write_bytes(saved[kind])
        sealed(path, pack(tree_of(path)))
        assert search(path, **options | {"evaluations": 1000}).evaluations >= 1000


def test_a_damaged_file_is_refused(saved: dict[str, bytes], tmp_path: Path) -> None:
    """Tests that cut and flipped files, bombs and files that are far too large are errors that name the file."""
    path, content = tmp_path / "c", saved["memetic"]
    cases = [content[:place] for place in (0, 10, 30, 60, len(content) // 2, len(content) - 1)]
    for place in np.random.default_rng(0).integers(len(content), size=20).tolist():
        cases.append(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
    for damaged in cases:
        path.write_bytes(damaged)
        with pytest.raises(FedschedError, match=r"c: .*; delete it to begin anew"):
            search(path)
    sealed(path, zlib.compress(bytes(300 << 20)))
    with pytest.raises(FedschedError, match="grows to more than"):
        search(path)
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # a hole: it takes no room
    with pytest.raises(FedschedError, match=r"it has more than .* bytes, more than any checkpoint"):
        search(path)


def test_the_size_that_is_believed_follows_the_problem(saved: dict[str, bytes], tmp_path: Path) -> None:
    """Tests that a state of plans by the ten thousand is refused where a search keeps some hundreds."""
    path = tmp_path / "c"
    path.write_bytes(saved["memetic"])
    tree = tree_of(path)
    tree["run"]["archive"]["rows"] = np.tile(tree["run"]["archive"]["rows"], (50_000, 1))
    sealed(path, pack(tree))
    with pytest.raises(FedschedError, match="too many or more than there are"):
        search(path)


# ---- where it cannot be written -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["none/c", "file/c", "x" * 300])
def test_a_path_that_cannot_be_written_is_known_before_the_search(name: str, tmp_path: Path) -> None:
    """Tests that no plan is evaluated for a checkpoint that could not be saved."""
    (tmp_path / "file").write_text("a file")
    steps: list[int] = []
    with pytest.raises((OutputError, FedschedError), match=r"Cannot write|cannot be read"):
        search(tmp_path / name, callback=lambda run: steps.append(run.steps))
    assert steps == []


def test_no_save_begins_that_would_end_beyond_the_budget(tmp_path: Path) -> None:
    """Tests that a save waits for as much time as the last took, or as its plans let expect, and is never late."""
    from fedsched.search.problem.objectives import Objectives
    from fedsched.search.problem.problem import SearchProblem
    from fedsched.search.run.checkpoint import Checkpoint
    from fedsched.search.run.run import Run

    path = tmp_path / "c"
    problem = SearchProblem(JOBS, fs.Federation.example(), Objectives(("makespan",)))
    run = Run(problem, 1, (), np.ones(1), problem.random_rows(3, np.random.default_rng(0)), np.zeros(1))
    method = METHODS["ga"].make(run)
    saved = Checkpoint(path, problem, "ga", 1)
    run.cut_at = run.seconds  # over
    saved.save_sometimes(run, method)
    assert not path.exists()
    run.cut_at = run.seconds + 1e6
    saved.save_sometimes(run, method)
    assert path.exists()
    path.unlink()
    saved._takes = 2e6
    saved.save_sometimes(run, method)
    assert not path.exists()
    run.cut_at = float("inf")
    saved.save_sometimes(run, method)
    assert path.exists()
