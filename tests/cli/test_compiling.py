"""That nobody waits for the compiler without a word, and that there is no word where nothing is compiled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fedsched import cli
from fedsched.cli.commands import module_of
from fedsched.cli.shared.compile_progress import report_compiling
from fedsched.cli.shared.input_output import stopwatch
from fedsched.core import compilation
from fedsched.core.compilation import Count, compiling

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A module of small kernels, in the package for the time being, in place of the large ones that take a minute.
KERNELS = """
from fedsched.core.jit import kernel, part

@part
def step(x):
    return 2 * x

@kernel
def answer(x):
    return step(x) + 1

def task(x):
    return answer(x)
"""
IN_PACKAGE = """
import sys
from pathlib import Path
import fedsched
fedsched.__path__.append(str(Path(__file__).parent))
from fedsched import kernels
"""
COMMAND = """
from fedsched import cli
from fedsched.cli.shared import input_output

load = input_output.load_workload

def compiling(trace, head=None, **options):
    print(kernels.answer(20))
    return load(trace, head, **options)

input_output.load_workload = compiling
sys.exit(cli.run(["info", "sample"]))
"""
WORKERS = """
from fedsched.cli.shared.compile_progress import report_compiling
from fedsched.cli.shared.input_output import stopwatch
from fedsched.core.executors import Processes

if __name__ == "__main__":
    with report_compiling(), Processes(2) as executor:
        print(*executor.map(kernels.task, (20, 21, 22, 23)))
"""


def script(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Return what a script did in a process of its own, with this folder for compiled code."""
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "script.py").write_text(IN_PACKAGE + text)
    path = os.pathsep.join([str(folder), *(entry for entry in sys.path if entry)])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, str(folder / "script.py")], capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.compiled
def test_a_command_says_what_it_compiles_and_nothing_the_second_time(tmp_path: Path) -> None:
    """A command that compiles says so when it begins and how much it was when it ends; the next one is silent."""
    first, second = script(tmp_path, COMMAND), script(tmp_path, COMMAND)
    assert first.stdout == second.stdout
    assert first.stdout.startswith("41\n")
    pattern = r"fedsched: compiling, once for this version …\nfedsched: compiled 2 functions in [\d.]+ s; kept for the "
    assert re.match(pattern, first.stderr), first.stderr
    assert first.stderr.count("\n") == 2
    assert (second.returncode, second.stderr) == (0, "")


@pytest.mark.deep
@pytest.mark.compiled
def test_what_workers_compile_is_said_once_for_all_of_them(tmp_path: Path) -> None:
    """Worker processes that compile make one line at the beginning and one at the end, with functions and seconds."""
    first = script(tmp_path, WORKERS)
    assert (first.returncode, first.stdout) == (0, "41 43 45 47\n"), first.stderr
    begun, ended = first.stderr.splitlines()
    assert begun == "fedsched: compiling, once for this version …"
    assert re.match(r"fedsched: compiled \d functions in [12] worker process", ended)
    assert re.search(r"\d\.\d s( the longest)?; kept for the next time\.$", ended)
    second = script(tmp_path, WORKERS)
    assert (second.stdout, second.stderr) == (first.stdout, "")


@pytest.mark.compiled
def test_the_compiler_of_others_is_none_of_ours(tmp_path: Path) -> None:
    """What a user's own program compiles with numba is not report_compiling as fedsched's."""
    own = "import numba\nfrom fedsched.core.compilation import compiling\nwith compiling() as watch:\n"
    done = script(tmp_path, own + "    print(numba.njit(lambda x: 2 * x)(21))\nprint(watch)")
    assert (done.stdout, done.stderr) == ("42\nnothing\n", "")


def test_help_imports_no_compiler() -> None:
    """Watching for the compiler does not make --help load it."""
    text = "import sys; from fedsched import cli; cli.run(['--help']); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_seconds_are_counted_once_and_in_the_midst(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function within another adds no seconds of its own, whoever begins to look in the midst sees its own share."""
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    with compiling() as outer:
        compilation.begun()
        now[0] += 2
        compilation.begun()
        now[0] += 3
        assert (outer.functions, outer.seconds, outer.active) == (2, 5.0, True)
        with compiling() as inner:
            now[0] += 1
            compilation.ended()
            now[0] += 1
            assert (inner.functions, inner.seconds, inner.active) == (0, 2.0, True)
        compilation.ended()
        now[0] += 50
        assert (outer.functions, outer.seconds, outer.active) == (2, 7.0, False)
    assert (inner.seconds, outer.seconds) == (2.0, 7.0)
    assert str(outer) == "2 functions in 7.0 s"
    assert not compilation.watched()


def test_only_the_innermost_block_draws() -> None:
    """Of two lines of progress within each other one is told of a function, the one inside; both count."""
    told: list[str] = []
    with compiling(lambda _: told.append("outside")) as outside:
        with compiling(lambda _: told.append("inside")) as inside, compiling():
            compilation.begun()
            compilation.ended()
        compilation.add_from_worker(7, Count(3, 1.5, active=False))
    assert told == ["inside", "inside", "outside"]
    assert (inside.functions, outside.functions) == (1, 1)
    assert str(outside).endswith("3 functions in 1 worker process, 1.5 s")


def test_a_terminal_sees_the_count_move(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal one line counts the functions, leaves nothing behind it, and stays within the terminal's width."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(compilation, "_latest", "")
    monkeypatch.setenv("COLUMNS", "60")
    with report_compiling():
        for _ in range(2):
            compilation.begun()
            compilation.ended()
    parts = capsys.readouterr().err.split("\r")
    shown = [part for part in parts if part.strip()]
    assert all(len(part) < 60 for part in parts[:-1])
    assert re.match("fedsched: compiling, once for this version: 1 function in ", shown[0])
    assert re.match("fedsched: compiling, once for this version: 2 functions in", shown[1])
    assert re.match(r"fedsched: compiled 2 functions in 0\.0 s; ", shown[2])
    assert len(shown) == 3


def test_a_line_of_progress_says_how_many_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress says what is compiled, how many of how many, and how long still; more than were expected it counts."""
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    said: list[str] = []
    with compiling(expects=lambda: 20), compiling(lambda watch: said.append(watch.status)):
        for _ in range(21):
            compilation.begun(what="engine.loop")
            now[0] += 0.5
            compilation.ended()
    assert said[0] == "compiling engine.loop: 1 of about 20"
    assert said[19] == "compiling engine.loop: 10 of about 20, about 5.0 s more"
    assert said[-1] == "compiling engine.loop: 21 functions in 10 s"


def test_a_pipe_gets_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where stderr is no terminal a line says how far it is ten seconds after the last one, and not before."""
    now = [100.0]
    monkeypatch.setattr("fedsched.cli.shared.compile_progress.time", SimpleNamespace(monotonic=lambda: now[0]))
    with report_compiling():
        for _ in range(25):
            compilation.begun(what="engine.queue")
            compilation.ended()
            now[0] += 1
    first, *between, last = capsys.readouterr().err.splitlines()
    assert first == "fedsched: compiling, once for this version …"
    counts = [re.match(r"fedsched: compiling engine.queue: (\d+) functions in ", line) for line in between]
    assert [match and match[1] for match in counts] == ["11", "21"]
    assert last.startswith("fedsched: compiled 25 functions in ")


def test_the_bar_of_a_command_says_it_too(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While a bar is on the terminal, its own label says that kernels compile, and then is what it was."""
    from fedsched.cli.shared.input_output import progress_bar

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with report_compiling(), progress_bar("simulating") as progress:
        compilation.begun()
        assert progress is not None
        progress(1, 2)
        compilation.ended()
    assert capsys.readouterr().err.count("fedsched: compil") == 1  # the last word; the rest is the bar's


def test_commands_are_watched(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command runs within the watch, whichever module it is in."""
    seen = []
    name = "fedsched.cli.shared.compile_progress.report_compiling"
    monkeypatch.setattr(name, lambda _: seen.append(1) or nullcontext())
    assert call("info", "sample")[0] == 0
    assert cli.run(["--version"]) == 0
    assert seen == [1, 1]


def test_compiling_is_no_time_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the seconds that a command gives for its work are those without the compiler's."""
    instants = iter([0.0, 1.0, 11.0, 12.5])
    with monkeypatch.context() as patch:
        patch.setattr("fedsched.core.compilation.time", SimpleNamespace(perf_counter=lambda: next(instants)))
        patch.setattr("fedsched.cli.shared.input_output.time", SimpleNamespace(perf_counter=lambda: next(instants)))
        with stopwatch() as taken:
            compilation.begun()
            compilation.ended()
            assert taken() == 2.5


@pytest.mark.parametrize("line", ["simulate sample --head 5 --nodes 128", "bounds sample --head 5 --nodes 128"])
def test_commands_leave_compiling_out(line: str, call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what `simulate` and `bounds` print as their seconds is the stopwatch's."""
    for name in ("simulate", "bounds"):
        monkeypatch.setattr(f"{module_of(name)}.stopwatch", lambda: nullcontext(lambda: 1.25))
    status, out, _ = call(*line.split())
    assert status == 0
    assert "5 jobs in 1.25 s" in out
