"""Programs beside the package, for tests: those of benchmarks/, tools/ and traces/ as modules."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"


def benchmark(monkeypatch: pytest.MonkeyPatch, name: str, *beside: str) -> ModuleType:
    """Return a module of benchmarks/, imported anew with those beside it, and found as in a run from its folder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for one in (name, *beside):
        monkeypatch.delitem(sys.modules, one, raising=False)
    return importlib.import_module(name)


def program(path: str) -> ModuleType:
    """Return the program of a path within the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
