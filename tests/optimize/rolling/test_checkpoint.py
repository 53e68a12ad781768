"""Checkpoints: a run that is killed at any moment goes on from its file to the same end; other files are refused."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import subprocess
import sys
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.rolling_cases import crowd, unlike

import fedsched as fs
from fedsched.core.errors import FedschedError, OutputError
from fedsched.io.checkpoint_file import DIGEST
from fedsched.io.trees import pack, unpack
from fedsched.optimize.rolling import Rolling, checkpoint, planner
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MACHINE = unlike()
WORKLOAD = crowd(90, 1, spread=450)
POLICY = Rolling(evaluations=40)
FEW = crowd(6, 1, spread=10)

KILLER = """
import os, signal, sys
import numpy as np
from support.rolling_cases import crowd, unlike
import fedsched as fs
from fedsched.optimize.rolling import checkpoint
checkpoint.EVERY_SECONDS = 0.0
policy = fs.Rolling(evaluations=40, checkpoint=sys.argv[1])
workload, machine = crowd(90, 1, spread=450), unlike()
fs.simulate(workload.head(5), machine, fs.Rolling(evaluations=40))  # all is loaded before the first child is born

def run_and_tell(pipe):
    def tell(done, total):
        os.write(pipe, bytes([done]))
    schedule = fs.simulate(workload, machine, policy, progress=tell)
    print(schedule.metrics().as_dict(), schedule.start_hash(), flush=True)

for moment in [*np.random.default_rng(7).integers(1, 13, size=10).tolist(), None]:
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        run_and_tell(tell)
        os._exit(0)
    os.close(tell)
    heard = [os.read(hear, 1) for _ in range(moment or 1)]
    if moment is not None:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    print(heard[0][0], os.WIFSIGNALED(status), flush=True)
    os.close(hear)
"""


@pytest.mark.deep
@pytest.mark.compiled
@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_end(tmp_path: Path) -> None:
    """Tests ten kills at random moments: at each a new process goes on, and the last one ends as if none had been."""
    whole = fs.simulate(WORKLOAD, MACHINE, POLICY)
    command = [sys.executable, "-c", KILLER, str(tmp_path / "run.ckpt")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    *killed, table, _ = done.stdout.splitlines()
    begun_at = [int(line.split()[0]) for line in killed]
    assert [line.split()[1] for line in killed] == ["True"] * 10
    assert begun_at == sorted(begun_at)
    assert begun_at[-1] > 0  # later ones did not begin anew
    assert table == f"{whole.metrics().as_dict()} {whole.start_hash()}"


GAPS = tuple(
    fs.Downtime(MACHINE.clusters[0].name, 40.0 * i, 40.0 * i + 25.0, nodes=f"{1 + i % 2} of all") for i in range(1, 9)
)
CLOSING = replace(MACHINE, calendar=GAPS)
CHAINED = replace(WORKLOAD, after={int(job): f"afterany:{job - 3}" for job in WORKLOAD.id[3::4]})


@pytest.mark.compiled
@pytest.mark.parametrize(("workload", "machine"), [(WORKLOAD, MACHINE), (CHAINED, CLOSING)], ids=["plain", "extras"])
def test_an_interrupted_run_goes_on_to_the_same_end(
    tmp_path: Path, workload: fs.Workload, machine: fs.Federation
) -> None:
    """Tests that after Ctrl-C, wherever it strikes, a second call gives the schedule of an undisturbed run."""
    whole = fs.simulate(workload, machine, POLICY)
    whole.verify()
    for strike in (1, 20, 45):
        path = tmp_path / f"{strike}.ckpt"
        calls = [0]

        def stop(done: int, total: int, calls: list[int] = calls, strike: int = strike) -> None:
            calls[0] += 1
            if calls[0] == strike:
                raise KeyboardInterrupt

        policy = replace(POLICY, checkpoint=path)
        assert not fs.simulate(workload, machine, policy, progress=stop).complete
        assert fs.simulate(workload, machine, policy) == whole


@pytest.mark.parametrize("name", ["closed.number", "waiting.number", "waiting.timer", "waiting.joined"])
def test_a_forged_place_in_the_calendar_or_among_those_who_wait_is_refused(tmp_path: Path, name: str) -> None:
    """Tests that no place beyond the arrays is taken from a file whose digest holds."""
    path = tmp_path / "run.ckpt"
    policy = replace(POLICY, checkpoint=path)
    few = replace(FEW, after={int(FEW.id[-1]): f"afterany:{FEW.id[0]}"})
    fs.simulate(few, CLOSING, policy)
    head = len(checkpoint.MARK) + DIGEST
    tree = unpack(path.read_bytes()[head:])
    tree["arrays"][f"state.extras.{name}"].fill(10**6)
    content = pack(tree)
    path.write_bytes(checkpoint.MARK + hashlib.sha256(content).digest() + content)
    with pytest.raises(FedschedError, match=r"run\.ckpt: not a checkpoint as a rolling run leaves it.*delete it"):
        fs.simulate(few, CLOSING, policy)


def strike_the_twelfth(monkeypatch: pytest.MonkeyPatch, name: str, strike: Callable[[], object]) -> list[int]:
    """Let the planner's twelfth call of a function do something else, and return the count of its calls."""
    usual, calls = getattr(planner, name), [0]

    def struck(*given: object) -> object:
        calls[0] += 1
        return strike() if calls[0] == 12 else usual(*given)

    monkeypatch.setattr(planner, name, struck)
    return calls


@pytest.mark.compiled
def test_a_search_that_is_interrupted_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C within a search saves the instant: the second call begins there, not at the beginning."""
    strike_the_twelfth(monkeypatch, "drive", lambda: planner.INTERRUPTED)
    policy = replace(POLICY, checkpoint=tmp_path / "run.ckpt")
    assert not fs.simulate(WORKLOAD, MACHINE, policy).complete
    begun: list[int] = []
    second = fs.simulate(WORKLOAD, MACHINE, policy, progress=lambda done, total: begun.append(done))
    assert begun[0] > 0
    assert second == fs.simulate(WORKLOAD, MACHINE, POLICY)


@pytest.mark.compiled
def test_a_plan_that_is_found_but_not_followed_was_never_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C between a search and its plan saves the instant before the search, random numbers included."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    found = strike_the_twelfth(monkeypatch, "unpack_row", interrupt)
    policy = replace(POLICY, checkpoint=tmp_path / "run.ckpt")
    run = prepare(WORKLOAD, MACHINE, policy)
    with pytest.raises(KeyboardInterrupt):
        run.advance()
    again = prepare(WORKLOAD, MACHINE, policy)
    assert again.time == run.time
    assert again.planner.replans == found[0] - 1  # type: ignore[union-attr]
    assert fs.simulate(WORKLOAD, MACHINE, policy) == fs.simulate(WORKLOAD, MACHINE, POLICY)


def test_the_file_of_other_running_jobs_is_refused(tmp_path: Path) -> None:
    """Tests that runs which begin with the same jobs running, but elsewhere, are not mixed up."""
    running = prepare(FEW, MACHINE, "fcfs").advance(until=5.0).running()
    policy = replace(POLICY, checkpoint=tmp_path / "run.ckpt")
    prepare(FEW, MACHINE, policy, running=running)
    prepare(FEW, MACHINE, policy, running=running)
    with pytest.raises(FedschedError, match="the checkpoint of another run"):
        prepare(FEW, MACHINE, policy, running=running._replace(work_left=running.work_left + 1.0))


@pytest.mark.parametrize(
    "change",
    [
        {"policy": replace(POLICY, seed=1)},
        {"policy": replace(POLICY, objective="energy")},
        {"workload": crowd(6, 2, spread=10)},
        {"machine": fs.Federation.of(6, 4)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_file_of_another_run_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    """Tests that other jobs, another federation, seed or objective are not mixed up, and that the error says so."""
    path = tmp_path / "run.ckpt"
    fs.simulate(FEW, MACHINE, replace(POLICY, checkpoint=path))
    given = {"workload": FEW, "machine": MACHINE, "policy": POLICY} | change
    other = replace(given["policy"], checkpoint=path)  # type: ignore[type-var]
    with pytest.raises(FedschedError, match=r"the checkpoint of another run.*delete it to begin anew"):
        fs.simulate(given["workload"], given["machine"], other)  # type: ignore[arg-type]


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: b"something else", _cut, _flipped],
    ids=["empty", "foreign", "cut", "flipped"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: object) -> None:
    """Tests that a file that is no checkpoint, or not whole, is an error with its name and the cure."""
    path = tmp_path / "run.ckpt"
    policy = replace(POLICY, checkpoint=path)
    fs.simulate(FEW, MACHINE, policy)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(FedschedError, match=r"run\.ckpt: .*; delete it to begin anew"):
        fs.simulate(FEW, MACHINE, policy)


def test_no_flipped_bit_is_taken_for_a_state(tmp_path: Path) -> None:
    """Tests several hundred flips of one bit, everywhere in the file: each is refused, and the intact file is not."""
    path = tmp_path / "run.ckpt"
    policy = replace(POLICY, checkpoint=path)
    whole = fs.simulate(FEW, MACHINE, policy)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in [*range(100), *rng.integers(len(content), size=200).tolist(), *range(-100, 0)]:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        with pytest.raises(FedschedError, match=r"run\.ckpt: .*; delete it to begin anew"):
            prepare(FEW, MACHINE, policy)
    path.write_bytes(content)
    assert fs.simulate(FEW, MACHINE, policy) == whole


FORGED = {
    "missing": lambda tree: tree["arrays"].pop("caps"),
    "shape": lambda tree: tree["arrays"].update({"state.start": tree["arrays"]["state.start"][:1]}),
    "kind": lambda tree: tree["arrays"].update({"state.free": tree["arrays"]["state.free"] * 1.0}),
    "NaN": lambda tree: tree["arrays"]["state.clock"].fill(np.nan),
    "place beyond": lambda tree: tree["arrays"]["state.heap.job"].fill(10**9),
    "place in the queue": lambda tree: tree["arrays"]["state.queue.position"].fill(6),
    "row of caps": lambda tree: tree["arrays"]["cap_row"].fill(10**6),
    "counter": lambda tree: tree["arrays"]["state.counter"].fill(7),
    "rules": lambda tree: tree.update(rules=np.array([99, 0])),
    "memory": lambda tree: tree["memory"].update(replans=-1.5),
    "due": lambda tree: tree["memory"].update(due=float("nan")),
    "nothing": lambda tree: tree.clear(),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_state_is_refused(tmp_path: Path, forged: str) -> None:
    """Tests that what no run leaves, under a digest that holds, is refused, for kernels look at no limits."""
    path = tmp_path / "run.ckpt"
    policy = replace(POLICY, checkpoint=path)
    fs.simulate(FEW, MACHINE, policy)
    head = len(checkpoint.MARK) + DIGEST
    tree = unpack(path.read_bytes()[head:])
    FORGED[forged](tree)
    content = pack(tree)
    path.write_bytes(checkpoint.MARK + hashlib.sha256(content).digest() + content)
    with pytest.raises(FedschedError, match=r"run\.ckpt: not a checkpoint as a rolling run leaves it.*delete it"):
        fs.simulate(FEW, MACHINE, policy)


@pytest.mark.parametrize("mark", [b"fedsched rolling checkpoint 2\n", checkpoint.MARK])
def test_nothing_is_run_or_blown_up(tmp_path: Path, mark: bytes) -> None:
    """Tests that pickles and bombs are refused."""
    path, made = tmp_path / "run.ckpt", tmp_path / "made"

    class Payload:
        """What would make a file if it were unpickled."""

        def __reduce__(self) -> tuple[object, ...]:
            return type(made).touch, (made,)

    table = io.BytesIO()
    np.savez(table, key=np.array([Payload()], dtype=object))
    for content in (pickle.dumps(Payload()), table.getvalue(), zlib.compress(bytes(50 << 20))):
        path.write_bytes(mark + hashlib.sha256(content).digest() + content)
        with pytest.raises(FedschedError, match=r"run\.ckpt: .*; delete it to begin anew"):
            fs.simulate(FEW, MACHINE, replace(POLICY, checkpoint=path))
        assert not made.exists()


def test_another_table_is_refused(tmp_path: Path) -> None:
    """Tests that arrays in the same kind of file, of another program or version, are refused too."""
    path = tmp_path / "run.ckpt"
    with path.open("wb") as file:  # under this name: savez would add a suffix
        np.savez(file, format=np.array("something 2"), key=np.array(""))
    with pytest.raises(FedschedError, match="not a checkpoint of a rolling run, or of another version"):
        fs.simulate(FEW, MACHINE, replace(POLICY, checkpoint=path))


def test_a_folder_is_no_file_to_delete(tmp_path: Path) -> None:
    """Tests that a path that cannot be read is an error whose cure is not to delete what is there."""
    with pytest.raises(FedschedError, match=r"cannot be read .*; name another file"):
        fs.simulate(FEW, MACHINE, replace(POLICY, checkpoint=tmp_path))


def test_a_path_that_cannot_be_written_is_known_at_once(tmp_path: Path) -> None:
    """Tests that a missing folder is an error before any work, not after ten seconds."""
    with pytest.raises(OutputError, match="does not exist; make it first"):
        fs.simulate(WORKLOAD, MACHINE, replace(POLICY, checkpoint=tmp_path / "none" / "run.ckpt"))


@pytest.mark.compiled
def test_the_file_is_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a run writes its file once at first, and again whenever the time has come."""
    saves: list[float] = []
    save = checkpoint.RunFile.save
    monkeypatch.setattr(
        checkpoint.RunFile, "save", lambda self, run, memory: (saves.append(run.time), save(self, run, memory))
    )
    fs.simulate(WORKLOAD, MACHINE, replace(POLICY, checkpoint=tmp_path / "run.ckpt"))
    assert len(saves) < 5
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    fs.simulate(WORKLOAD, MACHINE, replace(POLICY, checkpoint=tmp_path / "other.npz"))
    assert len(saves) > 30
