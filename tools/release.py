"""Build the wheel and the sdist, and use the wheel as strangers have it: oldest and newest dependencies, read-only."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11")
NOT_SHIPPED = ("tests/", "benchmarks/", "out/", "notebooks/", ".ci/")  # in the wheel
WHOLE = (
    "README.md", "LICENSE", "pyproject.toml", "tests/reference/naive.py", "traces/README.md", "docs/readings/index.md",
)  # fmt: skip
SIMULATE = ("simulate", "sample", "--head", "300", "--federation", "example", "--policy", "easy", "--json")
OPTIMIZE = ("optimize", "sample", "--head", "40", "--federation", "example", "--evaluations", "500", "--json")


def main() -> int:
    """Return 0 where every check holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("lowest", "newest"), help="try one of the two environments")
    only = parser.parse_args().only
    if waiting := [path.name for path in (ROOT / "changes").glob("*.*.md")]:
        raise SystemExit(f"{', '.join(waiting)}: gather them first: make changelog.")
    with tempfile.TemporaryDirectory() as scratch:
        wheel, sdist = build(ROOT / "dist")
        check_contents(wheel, sdist)
        answers = {
            kind: used(kind, wheel, Path(scratch) / kind) for kind in ("lowest", "newest") if only in (None, kind)
        }
    if len(set(answers.values())) > 1:
        raise SystemExit("FAILED: the oldest and the newest dependencies give different schedules.")
    print(f"{wheel.name} and {sdist.name}: built; the wheel works with the {' and the '.join(answers)} dependencies")
    return 0


def build(folder: Path) -> tuple[Path, Path]:
    """Return the wheel and the sdist, the wheel built from the sdist."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """Say what is missing from either, and what should not be there."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    tracked = run("git", "-C", ROOT, "ls-files", "fedsched").split()
    missing = [name for name in tracked if name not in held]
    strange = [name for name in held if name.startswith(NOT_SHIPPED)]
    with tarfile.open(sdist) as archive:
        whole = {name.partition("/")[2] for name in archive.getnames()}
    missing += [name for name in WHOLE if name not in whole]
    if missing or strange:
        raise SystemExit(f"FAILED: missing {missing}, not to be shipped {strange}")


def used(kind: str, wheel: Path, folder: Path) -> str:
    """Return what the installed command answers, having made sure that it writes nothing where it is installed."""
    python = sys.executable if kind == "lowest" else newest_python()
    run(python, "-m", "venv", folder / "venv")
    binary = folder / "venv" / "bin"
    limits = folder / "lowest.txt"
    limits.write_text("\n".join(lowest()) + "\n", encoding="utf-8")
    chosen = ("-c", limits) if kind == "lowest" else ("--upgrade",)
    run(binary / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *chosen, wheel)
    run(binary / "python", "-m", "pip", "check")
    home, elsewhere = folder / "home", folder / "elsewhere"
    elsewhere.mkdir()
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    for path in [*site.rglob("*"), site]:
        path.chmod(path.stat().st_mode & ~0o222)
    before = state_of(site)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    command = binary / "fedsched"
    answers = [
        run(command, *arguments, cwd=elsewhere, env=environment) for arguments in (("--version",), SIMULATE, OPTIMIZE)
    ]
    if any(elsewhere.iterdir()):
        raise SystemExit(f"FAILED: {kind}: the command wrote into the working folder.")
    run(binary / "python", "-c", first_program(), cwd=elsewhere, env=environment)
    if state_of(site) != before:
        raise SystemExit(f"FAILED: {kind}: the command or README's program wrote into its installation.")
    if answers[0].strip() != PROJECT["version"]:
        raise SystemExit(f"FAILED: {kind}: fedsched --version says {answers[0].strip()!r}, not {PROJECT['version']!r}.")
    if not json.loads(answers[2])["front"]:
        raise SystemExit(f"FAILED: {kind}: the search found no plan.")
    print(f"{kind}: works with {run(python, '--version').strip()}")
    return answers[1]


def first_program() -> str:
    """Return README's first block of Python: the program that those who have just installed the wheel type."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit("FAILED: README.md has no block of Python.")
    return found[1]


def lowest() -> list[str]:
    """Return the oldest version of each dependency that pyproject.toml admits."""
    return [requirement.replace(">=", "==") for requirement in PROJECT["dependencies"]]


def newest_python() -> str:
    """Return the newest Python at hand that can make environments."""
    for name in (*PYTHONS, sys.executable):
        path = shutil.which(name)
        works = [path or "", "-c", "import ensurepip, venv"]
        if path and subprocess.run(works, capture_output=True, check=False).returncode == 0:
            return path
    raise SystemExit("FAILED: no Python that can make environments.")


def state_of(folder: Path) -> dict[str, int]:
    """Return when each file below a folder was written."""
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Return what a command prints; the first failure ends everything."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
