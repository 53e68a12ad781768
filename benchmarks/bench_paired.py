"""What a change costs plain problems: this tree beside a commit before, in two processes that are asked in turn.

The commit's files go into a folder of their own, as do its compiled kernels. Both sides run the same jobs
(`paired_cases.py`) and show what came out: all starts of the simulations and of the search, what all plans of a batch
are worth. Times are the processor's; the first run of each case, which compiles it, is not timed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from measuring import ROOT, Report, optional_log

import fedsched as fs
from fedsched.generate import lublin

if TYPE_CHECKING:
    from collections.abc import Iterator

SIDE = Path(__file__).with_name("paired_cases.py")
NODES = 240  # of HPC2N
MOST = 1.03  # times as long as before, in the median: no measurable time
PLAIN = {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore::RuntimeWarning"}  # numpy tells of numbers that wrap


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few jobs, nothing compiled; the figures mean nothing")
    parser.add_argument("--with", dest="commit", default="HEAD~1", help="the commit before (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=30, help="timed runs of each case (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="a folder for that commit and its kernels, to be found there again")
    return parser.parse_args()


def hash_of(commit: str) -> str | None:
    """Return the full hash of a commit, or None and a line that says why this is skipped."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        print("skipped: git is not installed")
        return None
    if not found:
        print(f"skipped: no commit {commit} is at hand here")
    return found or None


def laid_out(commit: str, folder: Path) -> Path:
    """Return the folder in which the files of a commit are."""
    tree = folder / commit
    if not tree.exists():
        packed = folder / f"{commit}.tar"
        subprocess.run(["git", "-C", str(ROOT), "archive", "-o", str(packed), commit, "fedsched"], check=True)
        with tarfile.open(packed) as files:
            files.extractall(tree, filter="data")
        packed.unlink()
    return tree


def save_jobs(path: Path, *, smoke: bool) -> int:
    """Write the jobs that both sides run; return for how many nodes."""
    log = None if smoke else optional_log("HPC2N-2002-2.2-cln.swf.gz")
    jobs, nodes = lublin(20 if smoke else 50_000, 256, load=0.7, seed=1), 256
    if log is not None:
        jobs, nodes = fs.read(log, nodes=NODES), NODES
    np.savez(path, submit=jobs.submit, tasks=jobs.tasks, runtime=jobs.runtime, estimate=jobs.estimate)
    return nodes


class Side:
    """A process that runs cases of one tree."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.cases: list[str] = self._answer()

    def _answer(self) -> list[str]:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(self.process.args)} has ended: see above.")
        return json.loads(line)

    def run(self, case: str) -> tuple[float, str]:
        """Return the processor seconds of a case, and the hash of its results."""
        print(case, file=self.process.stdin, flush=True)
        seconds, result = self._answer()
        return float(seconds), result


@contextlib.contextmanager
def side(tree: Path, cache: Path | None, path: Path, nodes: int, *, compiled: bool) -> Iterator[Side]:
    """Give the process of a tree while it is used; its kernels are in `cache` or, without one, where all are."""
    given = {"PYTHONPATH": str(tree)} | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    process = subprocess.Popen(
        [sys.executable, str(SIDE), str(tree), str(path), str(nodes)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **given, **({} if compiled else PLAIN)},
    )  # fmt: skip
    with process:  # which closes what it reads from, whereupon it ends
        yield Side(process)


def compared(report: Report, old: Side, new: Side, rounds: int) -> None:
    """Show of each case how long it takes in the new tree beside the old one, and whether the same comes out."""
    for case in new.cases:
        if case not in old.cases:
            continue
        same = old.run(case)[1] == new.run(case)[1]
        pairs = np.array([(old.run(case)[0], new.run(case)[0]) for _ in range(rounds)])
        least, median = pairs.min(axis=0), statistics.median(pairs[:, 1] / pairs[:, 0])
        report.row(f"{case}: least of {rounds}, new beside old", least[1] / least[0], "x")
        report.row(f"{case}: median of the rounds' ratios", median, "x", MOST, at_most=True)
        report.row(f"{case}: results that are the same", int(same), "", 1)


def main() -> None:
    """Print the table."""
    options = arguments()
    commit = hash_of(options.commit)
    if commit is None:
        return
    compiled, rounds = not options.smoke, 1 if options.smoke else options.rounds
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as sides:
        kept = options.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        tree, path = laid_out(commit, kept.resolve()), Path(folder) / "jobs.npz"
        nodes = save_jobs(path, smoke=options.smoke)
        old = sides.enter_context(side(tree, kept.resolve() / "kernels", path, nodes, compiled=compiled))
        new = sides.enter_context(side(ROOT, None, path, nodes, compiled=compiled))
        compared(Report(f"this tree beside {commit[:8]}, processor time"), old, new, rounds)


if __name__ == "__main__":
    main()
