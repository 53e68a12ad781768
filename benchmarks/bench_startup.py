"""Start-up: import, --help, and the first simulation with cold, with cached, and with loaded kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import Report, arguments, record

FIRST_CALLS = """
import time
import fedsched as fs
workload, federation = fs.Workload.example(), fs.Federation.example()
for _ in range(2):
    begun = time.perf_counter()
    fs.simulate(workload, federation, "easy")
    print(time.perf_counter() - begun)
"""


def seconds(command: list[str], rounds: int) -> float:
    """Return the least seconds of a whole process."""
    least = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        least = min(least, time.perf_counter() - begun)
    return least


def first_calls(cache: str | None) -> list[float]:
    """Return the seconds of the first and the second simulation of a new process."""
    environment = os.environ if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", FIRST_CALLS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    rounds = 2 if smoke else 9
    report = Report("start-up")
    bare = seconds([sys.executable, "-c", "pass"], rounds)
    command = str(Path(sys.executable).parent / "fedsched")
    imported = seconds([sys.executable, "-c", "import fedsched"], rounds)
    report.row("import fedsched, over Python's own start", imported - bare, "s", 0.2, at_most=True)
    helped = seconds([command, "--help"], rounds) - bare
    report.row("fedsched --help, over Python's own start", helped, "s", 0.3, at_most=True)
    if not smoke:
        with tempfile.TemporaryDirectory() as cache:
            cold = first_calls(cache)[0]
        report.row("first simulation, nothing compiled yet", cold, "s")
        record("bench_startup", {"imported": imported - bare, "help": helped, "cold": cold})
    first, second = first_calls(None)
    report.row("first simulation of a process, kernels cached", first, "s")
    report.row("second simulation of a process (1,000 jobs)", second, "s")
    if not smoke:
        record("bench_startup", {"cached": first, "loaded_ms": 1000 * second})


if __name__ == "__main__":
    main()
