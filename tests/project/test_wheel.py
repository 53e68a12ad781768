"""The wheel with kernels: what is in it, for whom it is, and that what is shipped is read where nobody can write."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import outside

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
ABOUT = "Wheel-Version: 1.0\nGenerator: hatchling 1.18\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
KERNELS = """
from fedsched.core.jit import inlined, kernel, part

@inlined
def twice(x):
    return 2 * x

@part
def step(x: int) -> int:
    return twice(x) + 1

@kernel
def answer(x: int) -> int:
    return step(x) + 1
"""
ASK = """
from fedsched import kernels
from fedsched.core.compilation import compiling
with compiling() as watch:
    print(kernels.answer(20))
print(watch.functions)
"""


@pytest.fixture
def tool() -> ModuleType:
    """Return the tool that builds the wheels."""
    return outside.program("tools/wheel.py")


@pytest.mark.parametrize(
    ("name", "shipped"),
    [
        ("fedsched.engine.loop.event_loop.run.0123456789abcdef.0123456789abcdef01234567", True),
        ("unbox.State_0123456789abcdef.0123456789abcdef.0123456789abcdef01234567", True),
        ("self-test.0123456789abcdef.0123456789abcdef01234567", True),
        ("fedsched.engine.queue.queue_tree.at.0123456789abcdef.0123456789abcdef01234567", False),  # inlined
        ("fedsched.core.jit.probe.difference.locals.part.0123456789abcdef.0123456789abcdef01234567", False),
        (".tmp1234", False),
        ("plain-0123456789abcdef", False),
    ],
)
def test_what_is_shipped(tool: ModuleType, name: str, shipped: bool) -> None:
    """Tests that only what a call reads is shipped: not what its callers have in them, and no half-written file."""
    assert tool.is_shipped(name, {"fedsched.engine.queue.queue_tree.at"}) is shipped


def test_the_wheel_is_for_this_python_and_numbas_systems(tool: ModuleType) -> None:
    """Tests that the tag names this Python, and a system that numba's own wheel is for."""
    python, abi, platforms = tool.tag().split("-")
    assert python == abi == f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert platforms
    said = tool.described(ABOUT, "cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64")
    assert said.splitlines() == [
        "Wheel-Version: 1.0",
        "Generator: hatchling 1.18",
        "Root-Is-Purelib: false",
        "Tag: cp311-cp311-manylinux_2_27_x86_64",
        "Tag: cp311-cp311-manylinux_2_28_x86_64",
    ]


def test_kernels_are_added_to_the_wheel(tool: ModuleType, tmp_path: Path) -> None:
    """Tests that the second wheel has the files of the first and the kernels, each with its digest in the record."""
    pure, kernels = tmp_path / "fedsched-1.0-py3-none-any.whl", tmp_path / "1.0-cpython-311"
    with zipfile.ZipFile(pure, "w") as archive:
        for name in ("fedsched/__init__.py", "fedsched-1.0.dist-info/RECORD"):
            archive.writestr(name, "text")
        archive.writestr("fedsched-1.0.dist-info/WHEEL", ABOUT)
    kernels.mkdir()
    (kernels / "self-test.0123").write_bytes(b"kept")
    wheel = tool.with_kernels(pure, kernels, "cp311-cp311-linux_x86_64")
    assert wheel.name == "fedsched-1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    added = "fedsched/_kernels/1.0-cpython-311/self-test.0123"
    assert held[added] == b"kept"
    record = [line.split(",") for line in held.pop("fedsched-1.0.dist-info/RECORD").decode().splitlines()]
    assert {path for path, _, _ in record} == {*held, "fedsched-1.0.dist-info/RECORD"}
    for path, digest, size in record[:-1]:
        expected = base64.urlsafe_b64encode(hashlib.sha256(held[path]).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={expected}", len(held[path]))


@pytest.mark.deep
@pytest.mark.compiled
def test_what_is_shipped_is_read(tool: ModuleType, tmp_path: Path) -> None:
    """Tests a package with kernels in it: nothing is compiled or written; with another version's all is, as before."""
    if why := tool.cannot_compile_ahead():
        pytest.skip(why)
    left_out = shutil.ignore_patterns("__pycache__", "data", "_kernels")
    package = tmp_path / "site" / "fedsched"
    shutil.copytree(ROOT / "fedsched", package, ignore=left_out)
    (package / "kernels.py").write_text(KERNELS)
    first = ask(tmp_path, "first", **tool.FOR)
    assert first.splitlines()[0] == "42"
    assert int(first.splitlines()[1]) >= 3
    (made,) = (tmp_path / "first" / "fedsched").iterdir()
    shipped = package / "_kernels" / made.name
    shipped.mkdir(parents=True)
    for path in made.iterdir():
        if tool.is_shipped(path.name, {"fedsched.kernels.twice"}):
            shutil.copy(path, shipped)
    for path in [*shipped.iterdir(), shipped]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert ask(tmp_path, "second").split() == ["42", "0"]
    (kept,) = (tmp_path / "second" / "fedsched").iterdir()
    assert not [*kept.iterdir()]
    shipped.rename(shipped.with_name("of-another-numba"))
    assert ask(tmp_path, "third").split()[0] == "42"
    (kept,) = (tmp_path / "third" / "fedsched").iterdir()
    assert any(path.name.startswith("fedsched.kernels.answer.") for path in kept.iterdir())


def ask(folder: Path, cache: str, **more: str) -> str:
    """Return what a process says that uses the copied package, with a home and a cache of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "FEDSCHED_"))}
    where = {"FEDSCHED_CACHE": str(folder / cache), "HOME": str(folder / "home"), "PYTHONPATH": str(folder / "site")}
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=True, cwd=folder,
        env=environment | where | {"PYTHONDONTWRITEBYTECODE": "1"} | more,
    )  # fmt: skip
    return done.stdout
