"""Which way kernels are compiled: the lean one where it is known to work, numba's plain one elsewhere, as asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from fedsched.core.jit import backend, cache

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.compiled
WINDOW = """
from fedsched import market

environment = market.Domain(nodes=8).environment(1)
batch = market.Jobs(jobs=4, criteria=("min_cpu", "min_energy", "min_start", "min_finish")).batch(1)
print(market.find_window(environment, batch[0], method="alp", criterion="min_cost"))
"""
SCHEDULE = """
import fedsched

workload = fedsched.Workload(submit=[0, 0, 5, 6], tasks=[2, 4, 1, 3], runtime=[5, 3, 2, 4])
print(fedsched.simulate(workload, fedsched.Federation.of(3, 2), "easy").start_hash())
"""


@pytest.fixture
def untested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set up a machine without FEDSCHED_JIT, on which no first kernel has been tried."""
    monkeypatch.delenv("FEDSCHED_JIT", raising=False)
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(cache, "READ_ONLY", [])
    monkeypatch.setattr(backend, "self_test", lambda: "")


@pytest.mark.usefixtures("untested")
def test_a_compiler_that_nobody_has_tried_is_used_plainly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that another release of numba or llvmlite is named in one line, and gets the plain way."""
    assert backend.chosen() == ("lean", "")
    for name in ("numba", "llvmlite"):
        monkeypatch.setattr(backend, "TRIED", {**backend.TRIED, name: ("0.6", "7.1")})
        assert backend.chosen().name == "plain"
        said = capsys.readouterr().err
        assert said.startswith(f"fedsched: {name} 0.")
        assert "has not been tried with fedsched (tried: 0.6, 7.1); numba's plain compiler is used" in said
        assert said.count("\n") == 1
        monkeypatch.undo()


@pytest.mark.usefixtures("untested")
def test_a_first_kernel_that_fails_chooses_the_plain_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that a wrong result and an error are said, and tried again by the next process; success is remembered."""

    def broken() -> str:
        raise RuntimeError("no such thing")

    for test, why in ((lambda: "1 is not 2", "1 is not 2"), (broken, "failed (RuntimeError: no such thing)")):
        monkeypatch.setattr(backend, "self_test", test)
        choice = backend.chosen()
        assert choice.name == "plain"
        assert why in choice.why
        assert choice.why in capsys.readouterr().err
    monkeypatch.setattr(backend, "self_test", lambda: "")
    assert backend.chosen() == ("lean", "")
    monkeypatch.setattr(backend, "self_test", broken)
    assert backend.chosen() == ("lean", "")
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("untested")
@pytest.mark.parametrize("way", backend.CHOICES)
def test_a_way_that_is_asked_for_is_taken_in_silence(
    way: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that FEDSCHED_JIT chooses, whatever the versions are."""
    monkeypatch.setenv("FEDSCHED_JIT", way)
    monkeypatch.setattr(backend, "TRIED", {"numba": (), "llvmlite": ()})
    assert backend.chosen().name == way
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("untested")
def test_a_way_that_there_is_not_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that a mistyped FEDSCHED_JIT changes nothing, and is said."""
    monkeypatch.setenv("FEDSCHED_JIT", "plian")
    assert backend.chosen() == ("lean", "")
    assert capsys.readouterr().err == "fedsched: FEDSCHED_JIT=plian is unknown and ignored; known: lean, plain.\n"


def test_the_first_kernel_passes_here() -> None:
    """Tests the test itself: both ways give the same, as often as they are asked."""
    assert [backend.self_test(), backend.self_test()] == ["", ""]


def said_by(way: str, script: str) -> str:
    """Return what a program prints whose kernels are compiled one way."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "FEDSCHED_JIT": way}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


@pytest.mark.deep
def test_both_ways_find_the_same_window() -> None:
    """Tests that a kernel with tuples, parts and what is compiled into them gives the same either way."""
    assert said_by("plain", WINDOW) == said_by("lean", WINDOW) != ""


@pytest.mark.deep
@pytest.mark.slow
def test_both_ways_make_the_same_schedule() -> None:
    """Tests that the engine under EASY starts every job at the same time either way."""
    assert said_by("plain", SCHEDULE) == said_by("lean", SCHEDULE) != ""


def test_bounds_are_checked_in_parts(small: Any) -> None:
    """Tests that an index that is none is an error of the kernel where numba is told to look, and keeps code apart."""
    small.write("called", "@part\ndef called(numbers: object, k: int) -> int:\n    return numbers[k]\n")
    small.change("entry", "(k: int)", "(n, k: int)")
    small.change("entry", "called(k)", "called(n, k)")
    script = "import numpy as np\nfrom fedsched.entry import answer\ntry:\n    print(answer(np.arange(5), 4))\n"
    script += "    answer(np.arange(5), 5)\nexcept IndexError:\n    print('refused')"
    assert small.run(script, NUMBA_BOUNDSCHECK="1") == "40\nrefused"


def test_nothing_is_compiled_where_numba_is_off(small: Any) -> None:
    """Tests that functions are what they were written as, and may then be called one by one."""
    called = "from fedsched.called import called\nprint(called(1))"
    assert small.run(small.ask + called, NUMBA_DISABLE_JIT="1") == "20 0\n2"
    assert small.kept() == []


def test_a_forked_process_goes_on(small: Any) -> None:
    """Tests that a child uses what its parent has compiled, and compiles what it has not."""
    small.write("other", "@part\ndef other(k: int) -> int:\n    return k + 5\n")
    small.write(
        "entry",
        "from fedsched.called import called\nfrom fedsched.other import other\n"
        "@kernel\ndef answer(k: int) -> int:\n    return called(k) if k < 3 else other(k)\n",
    )
    script = "import os\nfrom fedsched.entry import answer\nanswer(1)\nchild = os.fork()\n"
    script += "if not child:\n    os._exit(100 + 10 * answer(1) + answer(4))\n"
    script += "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), answer(5))"
    assert small.run(script) == "129 10"
