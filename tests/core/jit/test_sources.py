"""Sources of compiled code: stale code is never used, and unchanged code is never compiled anew."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fedsched
from fedsched.core.jit.sources import fingerprint, sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = Path(fedsched.__file__).parent
JIT = set((PACKAGE / "core/jit").glob("*.py"))
KERNELS = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if re.search(r"^@(kernel|part|inlined)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
]


def made_of(path: Path) -> set[str]:
    """Return the names, within the package, of the files that the kernels of a file are made of."""
    return {file.relative_to(PACKAGE).as_posix() for file in sources(path, PACKAGE)}


def imported(path: Path) -> Iterator[Path]:
    """Return what of the package a file imports, as the language's own parser reads it; types only for their tuples."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "fedsched":
            assert node.level == 0
            place = PACKAGE.parent.joinpath(*str(node.module).split("."))
            for alias in node.names:
                ways = (place / f"{alias.name}.py", place / alias.name / "__init__.py", place.with_suffix(".py"))
                found = next((way for way in ways if way.is_file()), place / "__init__.py")
                if node in tree.body or "(NamedTuple):\n" in found.read_text(encoding="utf-8"):
                    yield found
        assert not (isinstance(node, ast.Import) and any(a.name.startswith("fedsched") for a in node.names)), path


@pytest.mark.deep
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_code_is_made_of_what_its_module_imports(path: Path) -> None:
    """Tests that a kernel's sources are its own file and all that this imports, as Python's parser sees it."""
    found, ahead = {path, *JIT}, [path]
    while ahead:
        for other in imported(ahead.pop()):
            if other not in found:
                found.add(other)
                ahead.append(other)
    assert sources(path, PACKAGE) == sorted(found)


# What measures schedules, too.
SHARED = {
    f"model/{name}.py"
    for name in ("schedule/metrics", "schedule/integrals", "schedule/node_stack", "power/switch_rates")
}


def test_families_share_nothing_but_what_they_import() -> None:
    """Tests that engine with search or environments, gang, and market are made of no file of each other's.

    Slurm's scheduler is of its own, but for nodes that jobs share.
    """
    beside = {"search": "engine", "gym": "engine", "slurm": "engine"}
    for path in KERNELS:
        home = path.relative_to(PACKAGE).parts[0]
        rooms = {home, beside.get(home, home)}
        others = {name for name in made_of(path) if "/" in name} - SHARED
        others = {name for name in others if not name.startswith("core/")}
        assert {name.partition("/")[0] for name in others} <= rooms
    of_engine = made_of(PACKAGE / "engine/run/evaluate.py")
    assert {"engine/codes.py", "engine/arrays/structs.py", "model/schedule/metrics.py", "core/jit/lean.py"} <= of_engine
    assert {"market/codes.py", "market/arrays.py"} <= made_of(PACKAGE / "market/scan.py")
    assert "model/machine/federation.py" not in of_engine


def test_the_name_is_that_of_the_text(tmp_path: Path) -> None:
    """Tests that the same text has the same name wherever it lies, and that each change of a file gives another."""
    for copy, y in (("one", 2), ("other", 2), ("third", 3)):
        (tmp_path / copy).mkdir()
        (tmp_path / copy / "a.py").write_text("x = 1\n")
        (tmp_path / copy / "b.py").write_text(f"y = {y}\n")
    files = [[tmp_path / copy / name for name in ("a.py", "b.py")] for copy in ("one", "other", "third")]
    assert fingerprint(None, files[0]) == fingerprint(None, files[1]) != fingerprint(None, files[0][:1])
    assert fingerprint(None, files[0]) != fingerprint(None, files[2])


CALLED = """@part
def answer(
    x: int, y: int
) -> int:
    return {body}


LIMIT = {limit}
"""


def test_a_caller_sees_no_body_of_what_it_calls(tmp_path: Path) -> None:
    """Tests that a part's body changes its own name alone, and a constant beside it, or its head, its caller's, too."""
    caller = tmp_path / "caller.py"
    caller.write_text("from fedsched.engine.queue.queue_tree import answer")

    def names(number: int, text: str) -> tuple[str, str]:
        called = tmp_path / f"{number}" / "called.py"
        called.parent.mkdir()
        called.write_text(text)
        files = [caller, called]
        return fingerprint(caller, files), fingerprint(called, files)

    first = names(1, CALLED.format(body="x", limit=3))
    body = names(2, CALLED.format(body="x + 1\n\n    # and more", limit=3))
    limit = names(3, CALLED.format(body="x", limit=4))
    head = names(4, CALLED.format(body="x", limit=3).replace("y: int", "z: int"))
    assert body[0] == first[0]
    assert body[1] != first[1]
    assert len({first, limit, head}) == 3
    assert len({one[0] for one in (first, limit, head)}) == 3


ENGINE_PROBE = """
from __future__ import annotations
from typing import TYPE_CHECKING
from fedsched.core.jit import kernel
from fedsched.engine.queue.queue_tree import ANY
from fedsched.engine.codes import LOOKAHEAD, Dispatch

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ends

@kernel
def answer(ends: Ends) -> int:
    return (1000 * LOOKAHEAD + 10 * Dispatch.EASY + ends.job[0]) % ANY
"""
MARKET_PROBE = """
from fedsched.core.jit import kernel
from fedsched.market.codes import Criterion

@kernel
def answer(x):
    return x + 0 * Criterion.MIN_COST
"""
SCRIPT = """
import numpy as np
from fedsched.core.compilation import compiling
from fedsched.engine import probe
from fedsched.engine.arrays.structs import Ends
from fedsched.market import probe as other

with compiling() as watch:
    ours = probe.answer(Ends(time=np.zeros(1), job=np.array([1]), released=np.array([2])))
    theirs = watch.functions
    print(ours, other.answer(7) == 7, theirs, watch.functions - theirs)
"""


@pytest.fixture
def answers(tmp_path: Path) -> Callable[[], list[str]]:
    """Return what asks a copy of the package: the engine's answer, the market's, how many functions each compiled."""
    shutil.copytree(PACKAGE, tmp_path / "fedsched", ignore=shutil.ignore_patterns("__pycache__", "data"))
    (tmp_path / "fedsched/engine/probe.py").write_text(ENGINE_PROBE)
    (tmp_path / "fedsched/market/probe.py").write_text(MARKET_PROBE)
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {
        **os.environ,
        "FEDSCHED_JIT": "lean",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *(entry for entry in sys.path if entry)]),
    }

    def ask() -> list[str]:
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    return ask


def change(path: Path, *pieces: tuple[str, str]) -> None:
    """Change pieces of a file: not its length, nor what its clock says, which is all that the compiler looks at."""
    text, before = path.read_text(encoding="utf-8"), path.stat()
    for old, new in pieces:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.deep
@pytest.mark.compiled
def test_a_change_of_what_is_frozen_into_code_is_seen_by_its_family_alone(
    tmp_path: Path, answers: Callable[[], list[str]]
) -> None:
    """Tests that a constant, an enum or a tuple's fields, once changed, give the new answer, and the market no work.

    The engine's kernel is compiled as a part, and as an entry from Python.
    """
    package = tmp_path / "fedsched"
    assert answers() == ["50031", "True", "2", "1"]
    assert answers() == ["50031", "True", "0", "0"]
    change(package / "engine/codes.py", ("LOOKAHEAD = 50", "LOOKAHEAD = 60"))
    assert answers() == ["60031", "True", "2", "0"]
    change(package / "engine/codes.py", ("    EASY = 3\n", "    EASY = 4\n"), ("CONSERVATIVE = 4", "CONSERVATIVE = 3"))
    assert answers() == ["60041", "True", "2", "0"]
    swapped = ("    job: Ints  # per place\n    released: Ints", "    released: Ints\n    job: Ints")
    change(package / "engine/arrays/structs.py", swapped)
    assert answers() == ["60041", "True", "2", "0"]
    with (package / "market/codes.py").open("a", encoding="utf-8") as file:
        file.write("\n# another line\n")
    assert answers() == ["60041", "True", "0", "1"]
