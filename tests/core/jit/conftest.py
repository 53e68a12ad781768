"""A small package by the name of fedsched, with the decorators and whatever functions a test writes into it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fedsched

PACKAGE = Path(fedsched.__file__).parent
HEAD = "from __future__ import annotations\nimport numpy as np\nfrom fedsched.core.jit import inlined, kernel, part\n"
# What most tests ask: the answer, and how many functions were compiled for it.
ASK = """
from fedsched.core.compilation import compiling
from fedsched.entry import answer

with compiling() as watch:
    print(answer(1), watch.functions)
"""


class Small:
    """A package, its cache, and the processes that use them."""

    ask = ASK

    def __init__(self, folder: Path) -> None:
        self.package, self.base = folder / "fedsched", folder / "cache"
        self.package.mkdir()
        shutil.copytree(PACKAGE / "core", self.package / "core", ignore=shutil.ignore_patterns("__pycache__"))
        (self.package / "__init__.py").write_text(f"__version__ = '{fedsched.__version__}'\n")
        self.environment = {
            **os.environ,
            "FEDSCHED_JIT": "lean",
            "NUMBA_CACHE_DIR": str(self.base),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([str(folder), *(entry for entry in sys.path if entry)]),
        }

    def write(self, name: str, text: str) -> None:
        """Write a module of compiled functions."""
        (self.package / f"{name}.py").write_text(HEAD + text)

    def change(self, name: str, old: str, new: str) -> None:
        """Change a module, which stays as old as it was: some caches look at nothing else."""
        path = self.package / f"{name}.py"
        text, before = path.read_text(), path.stat()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def begin(self, script: str = ASK, **environment: str) -> subprocess.Popen[str]:
        """Begin a process."""
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script],
            env={**self.environment, **environment}, cwd=self.package.parent, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, script: str = ASK, *, errors: int = 0, **environment: str) -> str:
        """Return what a process prints; fail unless it prints exactly this number of error lines."""
        process = self.begin(script, **environment)
        out, error = process.communicate()
        assert process.returncode == 0, error
        assert error.count("\n") == errors, error
        return out.strip()

    def kept(self) -> list[Path]:
        """Return the files of the cache, those that are not complete included."""
        return sorted(path for path in self.base.rglob("*") if path.is_file())


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """Return a small package that has a kernel `answer`, which calls the part of another module."""
    made = Small(tmp_path)
    made.write("entry", ENTRY)
    made.write("called", CALLED)
    return made


ENTRY = """
from fedsched.called import called

@kernel
def answer(k: int) -> int:
    return 10 * called(k)
"""
CALLED = """
@part
def called(k: int) -> int:
    return k + 1
"""
