"""`fedsched doctor`: check this installation; each check has a verdict, and a cure if there is one."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import time
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import CHECK_FAILED, print_json, print_table, say
from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation


FIRST = ("--json",)  # in the short help


def command(*, json: options.Json = False) -> int:
    """Check this installation: versions, machine, kernel cache, a self-test; exit with 1 if a check fails.

    The self-test keeps what it compiles in the cache's folder, which it makes if there is none.

    Examples
    --------
    fedsched doctor
    fedsched doctor --json
    """
    found = list(checks())
    failed = [check for check in found if check.verdict == "fail"]
    if json:
        print_json({"sound": not failed, "checks": [asdict(check) for check in found]})
    else:
        rows = [(check.name, check.verdict, check.found, check.cure) for check in found]
        print_table("fedsched doctor", ("what", "verdict", "found", "cure"), rows, align="llll")
        say(f"{len(found)} checks, {len(failed) or 'none'} failed.")
    return CHECK_FAILED if failed else 0


Verdict = Literal["ok", "note", "fail"]

# The self-test: the first jobs of the shipped log, with communication that saturates the example federation's uplinks.
JOBS = 50
COMPUTE_FRACTION = 0.7
TASK_BANDWIDTH = 20e6
# The results that it must give; the slow reference implementation in the tests gives the same.
MEASURES = ("start hash", "makespan", "saturated seconds", "energy")
KNOWN = {
    "fcfs": ("b70ae2a5faae", 123826.99579480194, 64002.83469263418, 2509767140.1185026),
    "easy": ("204c81633467", 113438.12601702417, 64028.19092374531, 2470505458.848048),
    "conservative": ("bb318848b70b", 113438.12601702417, 64028.19092374531, 2470505458.848048),
}
FOR_DEVELOPERS = ("deep", "dev", "docs", "test")  # extras that only a clone needs
TOLERANCE = 1e-9  # sums may be added in another order
REINSTALL = "remove the kernel cache's folder and ask again; if it stays, install numba and fedsched anew"


@dataclass(frozen=True, slots=True)
class Check:
    """A check in the doctor's report: what was checked, what was found, the verdict, and the cure if it is not ok."""

    name: str
    found: str
    verdict: Verdict = "ok"
    cure: str = ""


def checks() -> Iterator[Check]:
    """Yield the results of all checks: quick ones first, then simulations; a missing library makes a failed check."""
    yield _python()
    yield from requirements()
    yield from extras()
    yield from _machine()
    yield _terminal()
    try:
        yield cache()
        yield from self_test()
    except ImportError as error:
        yield Check("self-test", f"not run: {error}", "fail", "install what is missing above, then ask again")


def _python() -> Check:
    import fedsched

    where = Path(fedsched.__file__).parent
    return Check("fedsched", f"{fedsched.__version__} in {where}, Python {platform.python_version()}, {sys.platform}")


# ---- what is installed --------------------------------------------------------------------------------------------


def requirements() -> Iterator[Check]:
    """Yield a check of each required library: whether it is installed, and new enough."""
    for name, lowest, extra in _declared():
        if not extra:
            version = _version(name)
            well = version is not None and numbers(version) >= numbers(lowest)
            found = f"{version or 'absent'}, needs {lowest}"
            yield Check(name, found, "ok" if well else "fail", "" if well else f"pip install '{name}>={lowest}'")


def extras() -> Iterator[Check]:
    """Yield a check of each optional extra of the package: which of its libraries are installed, and their versions."""
    wanted: dict[str, list[str]] = {}
    for name, _, extra in _declared():
        if extra and extra not in FOR_DEVELOPERS:
            wanted.setdefault(extra, []).append(name)
    for extra, names in sorted(wanted.items()):
        versions = {name: _version(name) for name in names}
        found = ", ".join(f"{name} {version or 'absent'}" for name, version in versions.items())
        cure = "" if all(versions.values()) else f"if you want it: pip install 'fedsched[{extra}]'"
        yield Check(f"extra {extra}", found, "note" if cure else "ok", cure)


def _declared() -> Iterator[tuple[str, str, str]]:
    """Yield name, lowest version and extra ("" if it is not optional) of each library that the package requires."""
    for line in metadata.requires("fedsched") or ():
        found = re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)(?:.*extra == ['\"](\w+)['\"])?", line)
        if found:
            yield found[1], found[2], found[3] or ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def numbers(version: str) -> list[int]:
    """Return the first three numbers of a version, e.g. [1, 26, 4], for comparison."""
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


# ---- the machine --------------------------------------------------------------------------------------------------


def _machine() -> Iterator[Check]:
    there = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    yield Check("cores", f"{usable} of {there} usable: --threads and --workers up to {usable} help")
    total, free = _memory()
    if total:
        low = free < 1 << 30
        cure = "simulate fewer jobs at a time (--head), or close what else runs" if low else ""
        yield Check("memory", f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free", "note" if low else "ok", cure)


def _memory() -> tuple[int, int]:
    """Return the bytes of memory and of free memory; zeros if the system does not say."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        return page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0, 0


def _terminal() -> Check:
    encoding = sys.stdout.encoding or "unknown"
    kind = f"{shutil.get_terminal_size().columns} columns" if sys.stdout.isatty() else "none: output goes elsewhere"
    colours = "no colours (NO_COLOR)" if os.environ.get("NO_COLOR") else "colours"
    found = f"{kind}, {encoding}, {colours}"
    if encoding.lower().replace("-", "").startswith("utf"):
        return Check("terminal", found)
    return Check("terminal", found, "note", "signs such as τ are spelled out; for them: export PYTHONUTF8=1")


# ---- compiled code ------------------------------------------------------------------------------------------------


def cache() -> Check:
    """Return a check of the kernel cache: its folder, its size, and how many functions it holds."""
    from fedsched.core.jit import folder_in_use, unused_folder

    folder, unused = folder_in_use(), unused_folder()
    if folder is None:
        cure = (
            "export FEDSCHED_CACHE=… to a folder that only you may write to (chmod go-w), or every process compiles "
            "for half a minute"
        )
        found = "no folder is writable for you alone"
        return Check("kernel cache", f"{found}; {unused}" if unused else found, "note", cure)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    kept = sum(1 for _ in folder.glob("[!.]*"))  # one file for each function and set of argument types
    state = counted(kept, "function") if kept else "empty"
    found = f"{folder}, writable, {size / 2**20:.1f} MiB, {state}: what is used for the first time compiles first"
    if unused:
        return Check("kernel cache", f"{unused}; instead {found}", "note", "chmod go-w, or name another folder")
    return Check("kernel cache", found)


def self_test() -> Iterator[Check]:
    """Simulate a few jobs with three policies; yield a check of each: known results, and independent verification.

    The first check says how long the first simulation took, with compilation.
    """
    from fedsched.core.errors import FedschedError
    from fedsched.simulate import simulate

    workload, federation = instance()
    begun = time.perf_counter()
    try:
        simulate(workload.head(2), federation, "easy")
        yield Check("first simulation", f"{time.perf_counter() - begun:.1f} s until kernels were compiled or loaded")
        for policy, known in KNOWN.items():
            begun = time.perf_counter()
            schedule = simulate(workload, federation, policy)
            seconds = time.perf_counter() - begun
            schedule.verify()
            metrics = schedule.metrics()
            ours = (schedule.start_hash(), metrics.makespan, metrics.saturated_seconds, metrics.energy)
            wrong = [f"{name} {mine}, known {other}" for name, mine, other in zip(MEASURES, ours, known, strict=True)
                     if mine != other and not _close(mine, other)]  # fmt: skip
            name = f"self-test {policy}"
            if wrong:
                yield Check(name, "; ".join(wrong), "fail", REINSTALL)
            else:
                yield Check(name, f"{JOBS} jobs in {1000 * seconds:.0f} ms: the known answer, and the model is kept")
    except FedschedError as error:
        yield Check("self-test", str(error), "fail", REINSTALL)


def instance() -> tuple[Workload, Federation]:
    """Return the jobs and the federation of the self-test: communication saturates the uplinks of four clusters."""
    import numpy as np

    from fedsched.io import read_example
    from fedsched.model.machine.federation import Federation

    sample = read_example("sample").head(JOBS)
    talking = np.full(JOBS, COMPUTE_FRACTION), np.full(JOBS, TASK_BANDWIDTH)
    return replace(sample, compute_fraction=talking[0], task_bandwidth=talking[1]), Federation.example()


def _close(mine: object, known: object) -> bool:
    return isinstance(mine, float) and isinstance(known, float) and isclose(mine, known, rel_tol=TOLERANCE)
