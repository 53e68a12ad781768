"""What every test may use: optional archive logs, and the markers that follow from it."""

from __future__ import annotations

import ast
import functools
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.tiers import INTERPRETED

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
# Whoever needs a kernel first compiles it: workers that begin here do not compile the same ones side by side. Searches,
# and evaluations in batches, are compiled around the engine's loop; so they come when that is there, and what needs no
# compiler before them.
FIRST = (
    "engine/test_against_naive", "gang/test_against_ref", "market/test_compiled", "reference/test_naive", "market",
    "search/test_methods", "engine/test_batch", "gang", "io", "gener",
)  # fmt: skip
# Fixtures that run others' programs: tests of these are in `make test-deep`.
SHARED = {"traces_dir", "oracles_dir", "signals_dir", "nodes_dir", "batsim_dir"}  # folders beside the checkout
DAEMONS = {"slurm_is_here", "executable", "referee"}
os.environ.setdefault("MPLBACKEND", "Agg")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files, mark the tests that read archive logs, and skip those that need the compiler where it is off."""
    items.sort(key=_turn)
    for item in items:
        if getattr(item, "originalname", None) in _drawn(item.path):
            item.add_marker(pytest.mark.drawn)
        needed = [name for mark in item.iter_markers("needs") for name in mark.args]
        if needed or DAEMONS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.deep)
        if absent := [name for name in needed if find_spec(name) is None]:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(absent)}: pip install {' '.join(absent)}"))
        if SHARED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.needs_traces)
        if item.get_closest_marker("needs_traces"):
            item.add_marker(pytest.mark.deep)
        if INTERPRETED and item.get_closest_marker("compiled"):
            item.add_marker(pytest.mark.skip(reason="kernels are not compiled under NUMBA_DISABLE_JIT"))


@functools.cache
def _drawn(file: Path) -> set[str]:
    """Return the names in a file of tests that stand for, or use, what is more in a deep run."""
    text = file.read_text(encoding="utf-8")
    body = ast.parse(text).body if file.suffix == ".py" and "from support.tiers import" in text else []
    imports = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "support.tiers"]
    more = {alias.name for node in imports for alias in node.names} & {"tries", "some", "DEEP"}
    uses = {}
    for node in body:
        parts = [*ast.walk(node)]
        named = [part for part in parts if isinstance(part, ast.Name)]
        asked = {part.id for part in named} | {part.arg for part in parts if isinstance(part, ast.arg)}  # fixtures
        made = [node.name] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.Assign | ast.AnnAssign):
            made = [part.id for part in named if isinstance(part.ctx, ast.Store)]
        uses |= dict.fromkeys(made, asked)
    while found := {name for name, names in uses.items() if names & more} - more:
        more |= found
    return more


def _turn(item: pytest.Item) -> int:
    place = item.nodeid.removeprefix("tests/")
    return next((k for k, begin in enumerate(FIRST) if place.startswith(begin)), len(FIRST))


@pytest.fixture(autouse=True, scope="session")
def state_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what steering has to undo in a folder of the tests': never in a home, or in root's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STATE_DIRECTORY", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's folder."""
    return ROOT


def _optional(name: str) -> Path:
    folder = ROOT.parent / "shared" / name
    if not folder.is_dir():
        pytest.skip(f"the optional folder ../shared/{name} with archive logs is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def traces_dir() -> Path:
    """Return the folder of the optional archive logs."""
    return _optional("traces")


@pytest.fixture(scope="session")
def oracles_dir() -> Path:
    """Return the folder of the schedules that other programs computed."""
    return _optional("oracles")


@pytest.fixture(autouse=True, scope="session")
def wrapping_counters() -> Iterator[None]:
    """Let 64-bit counters wrap without a word: compiled code does, and numpy warns where nothing is compiled."""
    with np.errstate(over="ignore"):
        yield


@pytest.fixture(scope="session")
def signals_dir() -> Path:
    """Return the folder of the optional carbon intensities of two countries."""
    return _optional("signals")


@pytest.fixture(scope="session")
def nodes_dir() -> Path:
    """Return the folder of the optional logs of shared nodes and of workflows."""
    return _optional("nodes")


@pytest.fixture(scope="session")
def batsim_dir() -> Path:
    """Return the folder of the optional recorded runs of Batsim."""
    return _optional("batsim")
