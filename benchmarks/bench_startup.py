"""Start-up: import and --help; what compiling costs the first call of each kind; a first call with kept kernels.

Compiling is measured in seconds of the processor, those of a whole process and of all that it starts, each in a cache
of its own: an empty one ("from nothing"), or a copy of the cache that another row has left ("after demo"). A row with
a goal says MISSED until it is reached. `--tree PATH` runs another checkout's rows in the same run, each before this
one's, and shows the ratios; `--only ROW` (several times, if several) runs some rows. Searches make 200 evaluations.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from measuring import ROOT, Report, record

SIDE = Path(__file__).with_name("startup_rows.py")
JOBS, FEW = 1000, 6
PLAIN = {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore::RuntimeWarning"}  # numpy tells of numbers that wrap
FIRST_CALLS = """
import time
import fedsched as fs
workload, federation = fs.Workload.example(), fs.Federation.example()
for _ in range(2):
    begun = time.perf_counter()
    fs.simulate(workload, federation, "easy")
    print(time.perf_counter() - begun)
"""


class Row(NamedTuple):
    """A call in a new process, and whose kernels are kept before it."""

    what: str
    call: str
    after: str = ""  # the row whose cache it finds; none: an empty one
    goal: float | None = None  # seconds of the processor


ROWS = {
    "demo": Row("the first EASY, as of `fedsched demo`, from nothing", "demo", goal=20.0),
    "optimize": Row("optimize, in all, from nothing", "optimize", goal=40.0),
    "calendar": Row("EASY with maintenance, from nothing", "calendar"),
    "calendar-after": Row("EASY with maintenance, after demo", "calendar", "demo", 20.0),
    "pools": Row("optimize with pools and dependencies, from nothing", "pools"),
    "pools-after": Row("optimize with pools and dependencies, after optimize", "pools", "optimize", 25.0),
    "shared": Row("EASY on shared nodes, from nothing", "shared"),
    "shared-after": Row("EASY on shared nodes, after demo", "shared", "demo", 10.0),
    "slurm": Row("Slurm's own scheduler, from nothing", "slurm"),
    "slurm-after": Row("Slurm's own scheduler, after demo", "slurm", "demo", 10.0),
}
USUAL = ("import", "help", "cached")


class Cost(NamedTuple):
    """What a row costs a process."""

    processor: float  # seconds, children counted
    seconds: float  # of the call, as they pass
    functions: int  # compiled
    result: str


class Side:
    """A tree, and the caches that its rows leave."""

    def __init__(self, tree: Path, folder: Path, *, smoke: bool) -> None:
        self.tree, self.folder, self.smoke = tree.resolve(), folder, smoke
        self.left: dict[str, Path] = {}

    def run(self, name: str) -> Cost:
        """Return what a row costs."""
        row = ROWS[name]
        cache = self.folder / name
        cache.mkdir(parents=True, mode=0o700)
        if row.after and not self.smoke:
            if row.after not in self.left:
                self.run(row.after)
            shutil.copytree(self.left[row.after], cache, dirs_exist_ok=True)
        given = {"NUMBA_CACHE_DIR": str(cache)}
        if self.smoke:
            return self._called(row.call, FEW, given | PLAIN)
        self._called(row.call, FEW, given | PLAIN)  # then Python has its bytecode, and the disk's pages are at hand
        self.left[name] = cache
        return self._called(row.call, JOBS, given)

    def _called(self, call: str, jobs: int, given: dict[str, str]) -> Cost:
        command = [sys.executable, str(SIDE), str(self.tree), call, str(jobs)]
        before = processor_seconds()
        environment = {**os.environ, "PYTHONPATH": str(self.tree), **given}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}:\n{done.stderr}")
        seconds, functions, result = json.loads(done.stdout.splitlines()[-1])
        return Cost(processor_seconds() - before, seconds, functions, result)


def processor_seconds() -> float:
    """Return what all processes that this one has waited for have taken of processors, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="few jobs, nothing compiled; the figures mean nothing")
    parser.add_argument("--tree", type=Path, help="another checkout, to be measured beside this one")
    parser.add_argument("--only", action="append", choices=(*USUAL, *ROWS), help="run this row; may be given again")
    return parser.parse_args()


def seconds(command: list[str], rounds: int) -> float:
    """Return the least seconds of a whole process."""
    least = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        least = min(least, time.perf_counter() - begun)
    return least


def first_calls() -> list[float]:
    """Return the seconds of the first and the second simulation of a new process."""
    done = subprocess.run([sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def usual(report: Report, names: list[str], *, smoke: bool) -> dict[str, float]:
    """Show what a process costs that compiles nothing; return the figures."""
    found: dict[str, float] = {}
    rounds = 2 if smoke else 9
    bare = seconds([sys.executable, "-c", "pass"], rounds) if {"import", "help"} & set(names) else 0.0
    if "import" in names:
        found["imported"] = seconds([sys.executable, "-c", "import fedsched"], rounds) - bare
        report.row("import fedsched, over Python's own start", found["imported"], "s", 0.2, at_most=True)
    if "help" in names:
        command = str(Path(sys.executable).parent / "fedsched")
        found["help"] = seconds([command, "--help"], rounds) - bare
        report.row("fedsched --help, over Python's own start", found["help"], "s", 0.3, at_most=True)
    if "cached" in names:
        if not smoke:
            first_calls()  # which compiles what is not kept yet
        found["cached"], second = first_calls()
        found["loaded_ms"] = 1000 * second
        report.row("first simulation of a process, kernels cached", found["cached"], "s")
        report.row("second simulation of a process (1,000 jobs)", second, "s")
    return found


def compiled(report: Report, names: list[str], *, smoke: bool, tree: Path | None) -> dict[str, float]:
    """Show what compiling costs the calls of these rows, beside another tree if there is one; return the figures."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        ours = Side(ROOT, Path(folder) / "ours", smoke=smoke)
        theirs = None if tree is None else Side(tree, Path(folder) / "theirs", smoke=smoke)
        for name in names:
            old = None if theirs is None else theirs.run(name)
            new = ours.run(name)
            report.row(ROWS[name].what, new.processor, "s", None if smoke else ROWS[name].goal, at_most=True)
            report.row("  functions compiled", new.functions, "")
            key = name.replace("-", "_")
            found |= {f"processor_{key}": new.processor, f"functions_{key}": new.functions}
            if name == "demo":
                found["cold"] = new.seconds
                report.row("  first simulation, nothing compiled yet, as time passes", new.seconds, "s")
            if old is not None:
                report.row(f"  the same in {tree}", old.processor, "s")
                report.row("  functions compiled there", old.functions, "")
                report.row("  new beside old", new.processor / old.processor, "x")
                report.row("  results that are the same", int(new.result == old.result), "", 1)
    return found


def main() -> None:
    """Print the table."""
    options = arguments()
    # Without the compiler two rows show that all is well: one that simulates and one that searches.
    names = options.only or [*USUAL, *(("demo", "pools") if options.smoke else ROWS)]
    report = Report("start-up")
    found = usual(report, [name for name in names if name in USUAL], smoke=options.smoke)
    rows = [name for name in names if name in ROWS]
    found |= compiled(report, rows, smoke=options.smoke, tree=options.tree)
    if not options.smoke:
        record("bench_startup", found)


if __name__ == "__main__":
    main()
