"""Islands: the same plans on every executor, and what an executor may do to them."""

from __future__ import annotations

import multiprocessing
import pickle
import platform
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FedschedError
from fedsched.search.methods import islands
from fedsched.search.methods.islands import (
    EMIGRANTS,
    GRACE,
    GRACE_SHARE,
    SHORTEST,
    Archipelago,
    Epoch,
    EpochResult,
    emigrants,
    run_epoch,
)
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run import checkpoint as checkpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from fedsched.search.run.run import Run

FEW = ("fcfs", "easy")
pytestmark = pytest.mark.compiled


class AtOnce(Executor):
    """An executor that does everything at once, and fails where it is told to."""

    def __init__(self, *failures: int) -> None:
        self.submitted = 0
        self._failures = failures

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return what is done already."""
        future: Future[Any] = Future()
        if self.submitted in self._failures:
            future.set_exception(BrokenExecutor("the worker was terminated"))
        else:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)
        self.submitted += 1
        return future


class Pickling(AtOnce):
    """An executor that sends what it does, and what comes back, as processes do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return what is done already, or a future that says why it could not be sent."""
        try:
            future = super().submit(*pickle.loads(pickle.dumps((fn, *args))), **kwargs)
        except Exception as error:
            future = Future()
            future.set_exception(error)
            return future
        back: Future[Any] = Future()
        back.set_result(pickle.loads(pickle.dumps(future.result())))
        return back


class Unsendable(Exception):
    """An error that pickles, but cannot be made again from that."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


@dataclass(frozen=True)
class Failing:
    """A user's objective that is well with a few plans, as the baselines are, and raises where a search brings many."""

    kind: type[Exception]
    says: tuple[str, ...]

    def __call__(self, metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the makespan, or raise."""
        if len(metrics["makespan"]) > len(FEW):
            raise self.kind(*self.says)
        return metrics["makespan"]


@pytest.fixture(scope="module")
def jobs() -> fs.Workload:
    """Return a small package."""
    return fs.Workload.example().head(50)


def search(jobs: fs.Workload, executor: Executor | None, **more: Any) -> fs.Result:
    """Return what three islands find."""
    options = {"evaluations": 6001, "islands": 3, "seed": 5, "baselines": FEW, **more}
    return fs.optimize(jobs, fs.Federation.example(), executor=executor, **options)


@pytest.fixture(scope="module")
def undisturbed(jobs: fs.Workload) -> fs.Result:
    """Return what three islands find when nothing happens."""
    return search(jobs, AtOnce())


def test_the_same_plans_on_threads(jobs: fs.Workload, undisturbed: fs.Result) -> None:
    """Tests that threads, ours or the user's, give what one after the other gives, and the whole budget is used."""
    with ThreadPoolExecutor(2) as two:
        for result in (search(jobs, two), search(jobs, None, threads=2)):
            assert np.array_equal(result.front.values, undisturbed.front.values)
            assert result.evaluations == 6001
            assert result.islands == 3


@pytest.mark.deep
@pytest.mark.slow
def test_the_same_plans_in_processes(jobs: fs.Workload, undisturbed: fs.Result) -> None:
    """Tests that worker processes give the same plans."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert np.array_equal(search(jobs, processes).front.values, undisturbed.front.values)


@pytest.mark.deep
@pytest.mark.slow
def test_killed_workers_cost_what_they_were_at(jobs: fs.Workload) -> None:
    """Tests that when the workers are killed, the best until then comes back, and the reason names an island."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:

        def kill(run: Run) -> None:
            if run.steps == 2:
                for worker in list(processes._processes.values()):
                    worker.kill()

        with pytest.warns(RuntimeWarning, match="island 1 of 3 was lost"):
            result = search(jobs, processes, callback=kill)
    assert 0 < result.evaluations < 6001
    assert "island 1 of 3" in result.stop_reason
    result.best().verify()


def test_islands_have_draws_of_their_own(jobs: fs.Workload, undisturbed: fs.Result) -> None:
    """Tests that three islands find something else than one, and that two seeds differ."""
    alone = fs.optimize(jobs, fs.Federation.example(), evaluations=6001, seed=5, baselines=FEW)
    assert not np.array_equal(alone.front.values, undisturbed.front.values)
    assert not np.array_equal(search(jobs, AtOnce(), seed=6).front.values, undisturbed.front.values)


def test_an_executor_alone_makes_four_islands(jobs: fs.Workload) -> None:
    """Tests the number of islands where the user says nothing, on an executor."""
    assert search(jobs, AtOnce(), islands=None, evaluations=1000).islands == 4


def test_a_lost_epoch_is_lived_again(jobs: fs.Workload, undisturbed: fs.Result) -> None:
    """Tests that an epoch that fails once changes nothing."""
    executor = AtOnce(4)
    assert np.array_equal(search(jobs, executor).front.values, undisturbed.front.values)


def test_a_lost_island_ends_the_search_with_the_best_so_far(jobs: fs.Workload) -> None:
    """Tests that an epoch that fails twice ends the search, with a warning that names the island, and the rest kept."""
    with pytest.warns(RuntimeWarning, match="island 2 of 3 was lost with its worker .BrokenExecutor"):
        result = search(jobs, AtOnce(4, 6))
    assert "island 2 of 3" in result.stop_reason
    assert 5 * SHORTEST <= result.evaluations < 6001  # two epochs of two islands, one of the lost one
    result.best().verify()


@pytest.mark.parametrize("failures", [range(1, 99), range(6, 99), range(8, 99)])
def test_a_lost_island_ends_the_packages(jobs: fs.Workload, failures: range, tmp_path: Path) -> None:
    """Tests that packages end where an executor has gone, also before a plan was made, and go on from there."""
    options = {"objectives": "makespan", "package": 20, "evaluations": 1300}
    with pytest.warns(RuntimeWarning, match="was lost"):
        first = search(jobs, AtOnce(*failures), checkpoint=tmp_path / "c", **options)
    assert "island" in first.stop_reason
    assert not first.best().complete
    second = search(jobs, AtOnce(), checkpoint=tmp_path / "c", **options)
    assert second.evaluations == 3 * 1300
    assert second.best() == search(jobs, AtOnce(), **options).best()


def test_what_the_search_says_itself_is_no_loss(jobs: fs.Workload) -> None:
    """Tests that an error of the search on an island comes out as it is."""
    with pytest.raises(ValueError, match="mpso-fga needs two objectives"):
        search(jobs, AtOnce(), method="mpso-fga", objectives="makespan")


@pytest.mark.parametrize("kind", [KeyError, ZeroDivisionError, RuntimeError, AttributeError, BrokenExecutor])
@pytest.mark.parametrize("executor", [AtOnce, Pickling])
def test_what_an_objective_raises_is_no_loss(jobs: fs.Workload, executor: type[AtOnce], kind: type[Exception]) -> None:
    """Tests that a user's own error comes out as it does without islands, at once, and with its place in a worker."""
    islands = executor()
    with pytest.raises(kind, match="mine") as caught:
        search(jobs, islands, objectives=Failing(kind, ("mine",)))
    assert islands.submitted == 3  # nothing was tried again
    if executor is Pickling:
        assert "raise self.kind(*self.says)" in "".join(caught.value.__notes__)


def test_a_worker_out_of_memory_is_lost_with_its_island(jobs: fs.Workload) -> None:
    """Tests that what another worker may have room for is tried again, and costs no plan that was found."""
    islands = AtOnce()
    with pytest.warns(RuntimeWarning, match="was lost with its worker"):
        result = search(jobs, islands, objectives=Failing(MemoryError, ("no room",)))
    assert islands.submitted == 2 * 3
    assert len(result.front)


def test_an_error_that_cannot_travel_is_told(jobs: fs.Workload) -> None:
    """Tests that of an error that a worker cannot send its name and words come out."""
    with pytest.raises(RuntimeError, match="Unsendable: plans: too many"):
        search(jobs, Pickling(), objectives=Failing(Unsendable, ("plans", "too many")))
    with pytest.raises(Unsendable, match="plans: too many"):
        search(jobs, AtOnce(), objectives=Failing(Unsendable, ("plans", "too many")))


def test_what_cannot_be_sent_is_no_loss(jobs: fs.Workload) -> None:
    """Tests that an objective that does not pickle is an error of one line with its cure, and is well on threads."""
    with pytest.raises(TypeError, match=r"cannot be sent .*lambda.*at the top of a module") as caught:
        search(jobs, Pickling(), objectives=lambda metrics: metrics["makespan"])
    assert "\n" not in str(caught.value)
    alone = search(jobs, None, objectives=lambda metrics: metrics["makespan"], evaluations=600)
    assert alone.evaluations == 600


@pytest.mark.parametrize("method", ["moga", "ga", "pso-ea", "sa"])
def test_every_kind_of_method_lives_on_islands(jobs: fs.Workload, method: str) -> None:
    """Tests that other methods than the memetic one use the budget on islands, the same again on threads."""
    once, again = (search(jobs, executor, method=method, evaluations=900) for executor in (AtOnce(), None))
    assert once.evaluations == 900
    assert np.array_equal(once.front.values, again.front.values)


def test_islands_stop_by_the_clock(jobs: fs.Workload) -> None:
    """Tests that a budget in seconds ends islands too."""
    result = search(jobs, None, evaluations=None, seconds=2.0)
    assert result.stop_reason == "2 s"
    assert result.evaluations > 0


@dataclass
class Late(AtOnce):
    """An executor whose workers are free only long after they were asked, by a machine's clock."""

    machine: str

    def __post_init__(self) -> None:
        super().__init__()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return what is done with what was asked an hour ago."""
        epoch = replace(args[0], since=(self.machine, time.time() - 3600.0))
        return super().submit(fn, epoch, *args[1:], **kwargs)


@pytest.mark.parametrize(("machine", "least", "most"), [(platform.node(), 1, 1), ("another machine", 5, 10**9)])
def test_what_an_epoch_waited_for_a_worker_counts(jobs: fs.Workload, machine: str, least: int, most: int) -> None:
    """Tests that islands which share a worker share its time; another machine's clock is not believed."""
    result = search(jobs, Late(machine), evaluations=None, seconds=2.0)
    assert least <= result.evaluations <= most


class Listening(AtOnce):
    """An executor that keeps the epochs that it is asked for, and what comes of them."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[Epoch] = []
        self.landings: list[EpochResult] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return what is done already."""
        future = super().submit(fn, *args, **kwargs)
        if args[0].problem.layout.jobs == 50:  # not when warming up
            self.epochs += args
            self.landings.append(future.result())
        return future


def an_epoch(jobs: fs.Workload) -> Epoch:
    """Return the first epoch of an island, which has no end but that of its evaluations."""
    listening = Listening()
    search(jobs, listening, evaluations=900)
    return listening.epochs[0]


def test_no_turn_begins_when_the_time_is_over(jobs: fs.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an island that waited too long, or has no time to be brought home, goes back as it came, at once."""
    epoch = an_epoch(jobs)
    monkeypatch.setattr(type(epoch.problem), "with_own_workspaces", lambda self: pytest.fail("it has begun"))
    now, long_ago = (platform.node(), time.time()), (platform.node(), time.time() - 3600.0)
    for left, since, home in ((3000.0, long_ago, 0.0), (3000.0, now, 3001.0), (0.0, now, 0.0)):
        assert run_epoch(replace(epoch, left=left, since=since, home=home)) == EpochResult(epoch.island)
    with pytest.raises(pytest.fail.Exception, match="it has begun"):
        run_epoch(epoch)


def test_no_state_is_packed_that_nobody_asks_for(jobs: fs.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where the time is over an island brings no state home, but for a checkpoint."""

    class Ticking:
        """A clock that goes on by a second with every look."""

        now = 0.0

        def perf_counter(self) -> float:
            self.now += 1.0
            return self.now

    for left, saves, packed in ((12.5, False, False), (12.5, True, True), (1e6, False, True), (None, False, True)):
        epoch = replace(an_epoch(jobs), left=left, since=("another machine", 0.0), saves=saves)
        with monkeypatch.context() as patch:
            patch.setattr("fedsched.search.run.clock.time", Ticking())
            landing: Any = run_epoch(epoch)
        assert bool(landing.island.state) == packed
        assert landing.island.ended or packed  # else it would begin anew
        assert landing.island.done > 0
        assert len(landing.archive) > 0


def test_an_island_that_is_set_down_too_late_goes_back(jobs: fs.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no search begins where setting the island down took what was left."""
    now = iter(range(100))
    epoch = replace(an_epoch(jobs), left=2.5, since=("another machine", 0.0))
    monkeypatch.setattr("fedsched.search.run.clock.time", SimpleNamespace(perf_counter=lambda: float(next(now))))
    monkeypatch.setattr("fedsched.search.methods.islands.drive", lambda run, method: pytest.fail("it has begun"))
    assert run_epoch(epoch) == EpochResult(epoch.island)
    assert next(now) > 3


def test_what_bringing_home_takes_is_kept_back(jobs: fs.Workload) -> None:
    """Tests that epochs know what the way home takes, from the first one on, and how long a plan takes."""
    listening = Listening()
    search(jobs, listening, evaluations=900, seconds=1e6)
    assert len(listening.epochs) >= 3
    assert all(epoch.home > 0.0 for epoch in listening.epochs)
    assert all(epoch.plan_takes > 0.0 for epoch in listening.epochs)
    assert all(landing.carried >= landing.home > 0.0 for landing in listening.landings)


def test_the_plans_to_begin_with_are_packed_once(jobs: fs.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no epoch packs them anew, also where some islands had no time at first; later none has them."""
    packed = []
    usual = islands.pack

    def counting(fields: dict[str, Any]) -> bytes:
        content = usual(fields)
        if fields.keys() == {"rows"}:
            packed.append(content)
        return content

    class Late(Listening):
        """The first epochs of the second and the third island come home as they went."""

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            """Return what is done already."""
            early = len(self.epochs) in (1, 2)
            return super().submit((lambda epoch: EpochResult(epoch.island)) if early else fn, *args, **kwargs)

    monkeypatch.setattr(islands, "pack", counting)
    late = Late()
    assert search(jobs, late, evaluations=3000).evaluations == 3000
    assert len(packed) == 1
    assert all(epoch.seeds == (islands.NOTHING if epoch.island.state else packed[0]) for epoch in late.epochs)
    assert [bool(epoch.island.state) for epoch in late.epochs[:6]] == [False, False, False, True, False, False]


def test_an_island_believes_itself(jobs: fs.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that plans are checked where a file holds them, not where the search itself sends them."""
    monkeypatch.setattr(SearchProblem, "holds", lambda self, rows: pytest.fail("they are its own"))
    assert search(jobs, AtOnce(), evaluations=900).evaluations == 900


class Silent(AtOnce):
    """An executor that does what it is asked for three times, and then nothing any more."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return what is done already, or will never be."""
        return super().submit(fn, *args, **kwargs) if self.submitted < 3 else Future()


def test_islands_that_are_late_are_given_up(jobs: fs.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that who is late is given up and named; what warmed the executor up was apart."""
    monkeypatch.setattr(Archipelago, "_patience", lambda self, run: 0.0 if run.seconds_given == 5e6 else 1e6)
    result = search(jobs, Silent(), evaluations=None, seconds=5e6)
    assert result.stop_reason == "5e+06 s"
    assert result.evaluations == 1
    assert "the last epoch of 3 islands" in result.left_out


def test_nobody_waits_for_an_island_beyond_the_budget() -> None:
    """Tests that an epoch of an executor that outlives the search is waited for while there is time, and a little."""
    told = Archipelago.__new__(Archipelago)
    run: Any = SimpleNamespace(seconds_given=10.0, seconds=4.0)
    told.may_be_left = True
    assert told._patience(run) == pytest.approx(6.0 + GRACE + 10.0 * GRACE_SHARE)
    assert GRACE + 10.0 * GRACE_SHARE < 0.6  # of what a budget may be exceeded by
    run.seconds = 99.0
    assert told._patience(run) == pytest.approx(GRACE + 10.0 * GRACE_SHARE)
    told.may_be_left = False  # threads of its own end before it does
    assert told._patience(run) == float("inf")
    run.seconds_given, told.may_be_left = None, True
    assert told._patience(run) == float("inf")


@pytest.mark.parametrize("seconds", [None, 1e6])
def test_workers_are_warmed_up_where_seconds_count(jobs: fs.Workload, seconds: float | None) -> None:
    """Tests that an executor's workers load what they need before a budget in seconds begins, and only there."""
    seen: list[int] = []

    class Counting(AtOnce):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            seen.append(args[0].problem.layout.jobs)
            return super().submit(fn, *args, **kwargs)

    search(jobs, Counting(), evaluations=900, seconds=seconds)
    assert [count for count in seen if count < 50] == ([] if seconds is None else [3, 3, 3])
    assert set(seen[-3:]) == {50}


def test_a_resumed_archipelago_ends_as_an_uninterrupted_one(
    jobs: fs.Workload, undisturbed: fs.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that islands stopped in the middle go on from their checkpoint as if nothing had happened."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)

    calls: list[int] = []

    def interrupt(run: Run) -> None:
        calls.append(run.steps)
        if len(calls) == 4:
            raise KeyboardInterrupt

    first = search(jobs, AtOnce(), checkpoint=tmp_path / "c", callback=interrupt)
    assert first.stop_reason == "interrupted"
    second = search(jobs, AtOnce(), checkpoint=tmp_path / "c")
    assert np.array_equal(second.front.values, undisturbed.front.values)


def test_a_finished_archipelago_goes_on_with_a_larger_budget(
    jobs: fs.Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a checkpoint resumed with more evaluations uses them all, on every island and the same ones twice."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    short = search(jobs, AtOnce(), checkpoint=tmp_path / "c", evaluations=1000)
    assert short.evaluations == 1000
    saved = (tmp_path / "c").read_bytes()
    fronts = []
    for _ in range(2):
        (tmp_path / "c").write_bytes(saved)
        longer = search(jobs, AtOnce(), checkpoint=tmp_path / "c", evaluations=4000)
        assert (longer.evaluations, longer.stop_reason) == (4000, "4,000 evaluations")
        assert longer.value("makespan") <= short.value("makespan")
        fronts.append(longer.front.values)
    assert np.array_equal(*fronts)


def test_one_island_on_an_executor_is_another_search_than_one_alone(
    jobs: fs.Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that the checkpoint of the one is refused by the other, which could not go on from it."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    search(jobs, AtOnce(), checkpoint=tmp_path / "c", evaluations=1000, islands=1)
    with pytest.raises(FedschedError, match="another search"):
        search(jobs, None, checkpoint=tmp_path / "c", evaluations=1000, islands=1)


def test_islands_need_an_evaluation_each(jobs: fs.Workload) -> None:
    """Tests that fewer evaluations than islands are refused with both numbers and the cure, also in packages."""
    for options in ({}, {"package": 20, "objectives": "makespan"}):
        with pytest.raises(ValueError, match=r"evaluations=3 .* islands=8.*give 8 evaluations or more, or 3 islands"):
            search(jobs, None, evaluations=3, islands=8, **options)
    assert search(jobs, None, evaluations=8, islands=8).evaluations == 8


def test_emigrants_are_the_extremes_and_the_least_crowded() -> None:
    """Tests which plans leave."""
    values = np.array([[0.0, 9.0], [1.0, 8.0], [1.1, 7.9], [1.2, 7.8], [5.0, 2.0], [9.0, 0.0]])
    rows, chosen = emigrants(list(np.arange(6)[:, None]), values)
    assert len(rows) == EMIGRANTS
    assert {0, 5, 4} <= {int(row[0]) for row in rows}
    assert np.array_equal(chosen, values[np.concatenate(rows)])
