"""Build the wheel, and beside it one for this Python and numba that holds compiled kernels; --check tries the latter.

The second wheel has no extension modules. It holds `fedsched/_kernels/VERSION/`: object code that the compiler made for
x86-64-v3 processors, which fedsched loads where Python, numba and llvmlite are those that it was made with, and the
processor knows these instructions. Everywhere else the wheel compiles as the first one does.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import itertools
import os
import platform
import resource
import subprocess
import sys
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = "fedsched/_kernels"
FOR = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
V3 = ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")  # as /proc/cpuinfo calls them
NOT_READ = ("fedsched.core.jit.probe.",)  # of the first kernel, whose mark alone is read
COMPILERS = ("numba", "llvmlite")
INLINED = """
import importlib, sys
from fedsched.core.jit.cache import KernelCache
for name in sys.stdin.read().split():
    module, _, function = name.rpartition(".")
    kept = getattr(getattr(importlib.import_module(module), function, None), "_cache", None)
    if isinstance(kept, KernelCache) and kept.kind == "inlined":
        print(name)
"""
# What --check runs, each in a process of its own: it prints what came out, and how many functions were compiled.
CALLS = """
import sys
import numpy as np
import fedsched as fs
from fedsched.core.compilation import compiling

def jobs(**more):
    sample = fs.Workload.example().head(300)
    columns = {name: getattr(sample, name) for name in ("submit", "tasks", "runtime", "estimate")}
    return fs.Workload(**columns | more)

def easy():
    return fs.simulate(jobs(), fs.Federation.example(), "easy").start_hash()

def optimize():
    result = fs.optimize(jobs().head(60), fs.Federation.example(), evaluations=2000, seed=1)
    return result.knee().start_hash()

def calendar():
    days = [fs.Downtime("north", 20_000, 60_000), fs.Downtime("west", 90_000, 120_000, kind="outage")]
    machine = fs.Federation(fs.Federation.example().clusters, calendar=days)
    return fs.simulate(jobs(), machine, "easy").start_hash()

def pools():
    machine = fs.Federation(fs.Federation.example().clusters, pools=[fs.Pool("licences", 3)])
    after = {k: f"afterok:{k - 4}" for k in range(10, 300, 9)}
    work = jobs(id=np.arange(1, 301), pools={"licences": np.arange(300) % 3}, after=after)
    best = fs.optimize(work.head(60), machine, evaluations=500, seed=1).knee()
    return fs.simulate(work, machine, "conservative").start_hash() + best.start_hash()

def shared():
    node = fs.NodeGroup(32, resources={"cpu": 8, "memory": 64_000})
    machine = fs.Federation((fs.Cluster("shared", (node,)),), name="shared")
    k = np.arange(300)
    work = jobs(tasks=1 + k % 9, demand={"cpu": 1 + k % 4, "memory": 2000 * (1 + k % 5)})
    return fs.simulate(work, machine, "easy", sharing="best").start_hash()

def slurm():
    with open("slurm.conf", "w") as conf:
        conf.write("PriorityType=priority/multifactor\\nPriorityWeightAge=1000\\nPriorityWeightJobSize=500\\n")
        conf.write("NodeName=n[1-160]\\nPartitionName=batch Nodes=ALL Default=YES\\n")
    policy = fs.policies.Slurm("slurm.conf", completing=4)
    return fs.simulate(jobs(), fs.read_federation("slurm.conf"), policy).start_hash()

def demo():
    from fedsched import cli
    assert cli.run(["demo", "--json"]) == 0
    return "demo"

with compiling() as watch:
    found = globals()[sys.argv[1]]()
print(found, watch.functions)
"""
NAMES = ("demo", "easy", "optimize", "calendar", "pools", "shared", "slurm")


def main() -> int:
    """Return 0 where wheels were built, and did what they are to do."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="install the second wheel elsewhere, and use it")
    parser.add_argument("--other-python", action="append", default=[], help="with --check: use it with this Python too")
    parser.add_argument("--other-numba", action="append", default=[], help="with --check: use it with this numba too")
    parser.add_argument("--plain", action="store_true", help="with --check: compile by numba's own way too (minutes)")
    options = parser.parse_args()
    pure = build_pure(ROOT / "dist")
    print(f"{pure.name}: {pure.stat().st_size / 2**20:.1f} MiB")
    if why := cannot_compile_ahead():
        print(f"No wheel with compiled kernels: {why}.")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        kernels = compiled(pure, Path(scratch))
        wheel = with_kernels(pure, kernels, tag())
        held = sum(1 for _ in kernels.iterdir())
        print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB, with {held:,} files of compiled code")
    if options.check:
        check(wheel, pure, options.other_python, options.other_numba, plain=options.plain)
    return 0


# ---- building -------------------------------------------------------------------------------------------------------


def build_pure(folder: Path) -> Path:
    """Return the wheel that every Python takes."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def cannot_compile_ahead() -> str:
    """Return why this machine cannot make kernels for others; nothing if it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "they are made on x86-64 Linux"
    known = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    missing = [feature for feature in V3 if feature not in known]
    return f"this processor has no {missing[0]}, so it is no x86-64-v3" if missing else ""


def tag() -> str:
    """Return for which Python and which systems a wheel with kernels is: those of the numba that compiled them.

    Their object code calls nothing but what numba and the C library's mathematics have, which numba's own wheel needs
    as well; so whoever can install that can load it.
    """
    lines = (metadata.distribution("numba").read_text("WHEEL") or "").splitlines()
    platforms = sorted({line.rpartition("-")[2] for line in lines if line.startswith("Tag: ")})
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{'.'.join(one for one in platforms if 'linux' in one) or 'linux_x86_64'}"


def compiled(pure: Path, scratch: Path) -> Path:
    """Return a folder of what the wheel's code compiles for x86-64-v3, less what is only needed to compile more."""
    package = scratch / "package"
    with zipfile.ZipFile(pure) as archive:
        archive.extractall(package)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "FEDSCHED_"))}
    where = {"PYTHONPATH": str(package), "FEDSCHED_CACHE": str(scratch / "cache")}
    environment = inherited | where | FOR
    run(sys.executable, "-m", "fedsched.cli", "warmup", cwd=scratch, env=environment)
    (folder,) = (scratch / "cache" / "fedsched").iterdir()
    names = [path.name.rsplit(".", 2)[0] for path in folder.iterdir()]
    asked = "\n".join(name for name in {*names} if name.startswith("fedsched.") and not name.startswith(NOT_READ))
    inlined = {*run(sys.executable, "-c", INLINED, cwd=scratch, env=environment, given=asked).split()}
    for path in folder.iterdir():
        if not is_shipped(path.name, inlined):
            path.unlink()
    return folder


def is_shipped(name: str, inlined: set[str]) -> bool:
    """Return whether a file of the cache goes into the wheel: not what its callers have in them, and nothing half."""
    function = name.rsplit(".", 2)[0]
    return not name.startswith((".", "plain-", *NOT_READ)) and function not in inlined


def with_kernels(pure: Path, kernels: Path, tag: str) -> Path:
    """Return a wheel beside this one that holds a folder of compiled kernels too."""
    name, version, _ = pure.name.split("-", 2)
    wheel = pure.with_name(f"{name}-{version}-{tag}.whl")
    recorded = []
    with zipfile.ZipFile(pure) as archive, zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as made:

        def write(path: str, content: bytes) -> None:
            made.writestr(zipfile.ZipInfo(path, (2020, 2, 2, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            recorded.append(f"{path},sha256={digest},{len(content)}")

        infos = [info for info in archive.infolist() if not info.is_dir()]
        (record,) = (info.filename for info in infos if info.filename.endswith(".dist-info/RECORD"))
        (about,) = (info.filename for info in infos if info.filename.endswith(".dist-info/WHEEL"))
        for info in infos:
            if info.filename not in (record, about):
                write(info.filename, archive.read(info))
        for path in sorted(kernels.iterdir()):
            write(f"{KERNELS}/{kernels.name}/{path.name}", path.read_bytes())
        write(about, described(archive.read(about).decode(), tag).encode())
        made.writestr(zipfile.ZipInfo(record, (2020, 2, 2, 0, 0, 0)), "\n".join([*recorded, f"{record},,", ""]))
    return wheel


def described(text: str, tag: str) -> str:
    """Return what a wheel says of itself, for another tag: a line for each Python and system that it names."""
    kept = [line for line in text.splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    python, abi, platforms = tag.split("-")
    tags = [f"Tag: {python}-{abi}-{one}" for one in platforms.split(".")]
    return "\n".join([*kept, "Root-Is-Purelib: false", *tags, ""])


# ---- trying ---------------------------------------------------------------------------------------------------------


def check(wheel: Path, pure: Path, pythons: list[str], numbas: list[str], *, plain: bool) -> None:
    """Use the wheel where nothing is compiled, and where everything has to be; all results must be equal."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = (Path(scratch, str(k)) for k in itertools.count())
        here = {name: metadata.version(name) for name in COMPILERS}
        print(f"in a new environment, {', '.join(f'{name} {version}' for name, version in here.items())}:")
        same = installed(next(folders), wheel, sys.executable, here)
        expected = used(*same, next(folders), most=0)

        def compare(words: str, site: Path, python: Path, names: tuple[str, ...] = NAMES, **more: str) -> None:
            print(f"{words}:")
            found = used(site, python, next(folders), names, more)
            if found != {name: expected[name] for name in names}:
                raise SystemExit(f"FAILED: {words}, results differ: {found}, not {expected}")

        compare("for a processor of another name", *same, ("easy",), NUMBA_CPU_NAME="x86-64-v2")
        for python in pythons:
            compare(f"with {python}", *installed(next(folders), pure, python, here))
        for version in numbas:
            compare(f"with numba {version}", *installed(next(folders), wheel, sys.executable, {"numba": version}))
        if plain:
            compare("compiled by numba's own way", *same, ("easy", "slurm"), FEDSCHED_JIT="plain")


def installed(folder: Path, wheel: Path, python: str, versions: dict[str, str]) -> tuple[Path, Path]:
    """Return site-packages, which nobody may write to, and the Python of a new environment with a wheel in it."""
    run(python, "-m", "venv", folder / "venv")
    binary = folder / "venv" / "bin" / "python"
    pins = [f"{name}=={version}" for name, version in versions.items()]
    run(binary, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, *pins)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    for path in [*site.rglob("*"), site]:
        path.chmod(path.stat().st_mode & ~0o222)
    return site, binary


def used(
    site: Path,
    python: Path,
    folder: Path,
    names: tuple[str, ...] = NAMES,
    more: dict[str, str] | None = None,
    *,
    most: int | None = None,
) -> dict[str, str]:
    """Return what each call comes to, in another folder with another home; say its CPU seconds and what it compiled."""
    (folder / "elsewhere").mkdir(parents=True)
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    answers = {}
    for name in names:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = run(python, "-c", CALLS, name, cwd=folder / "elsewhere", env=environment | (more or {}))
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = ended.ru_utime - begun.ru_utime + ended.ru_stime - begun.ru_stime
        answers[name], count = said.split()[-2:]
        print(f"  {name:9} {int(count):4} functions compiled, {seconds:6.1f} CPU seconds, {answers[name]}", flush=True)
        if most is not None and int(count) > most:
            raise SystemExit(f"FAILED: {name} compiled {count} functions, though all are shipped.")
    if {path: path.stat().st_mtime_ns for path in site.rglob("*")} != before:
        raise SystemExit("FAILED: something was written where the wheel is installed.")
    return answers


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None, given: str = "") -> str:
    """Return what a command prints; the first failure ends everything."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {' '.join(words[:4])}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
