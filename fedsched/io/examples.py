"""The example files that the package carries."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Literal

from fedsched.errors import unknown_name

_SUFFIXES = {"federation": (".toml",), "workload": (".swf.gz", ".csv")}
_FOLDERS = {"federation": "federations", "workload": "workloads"}


def example_names(kind: Literal["federation", "workload"]) -> dict[str, Path]:
    """Return the examples of that kind: name to file."""
    folder = Path(str(files("fedsched"))) / "data" / _FOLDERS[kind]
    return {
        path.name.removesuffix(suffix): path
        for path in sorted(folder.iterdir())
        for suffix in _SUFFIXES[kind]
        if path.name.endswith(suffix)
    }


def example_file(kind: Literal["federation", "workload"], name: str) -> Path:
    """Return the file of the example with that name."""
    known = example_names(kind)
    if name not in known:
        raise unknown_name(f"example {kind}", name, known)
    return known[name]
