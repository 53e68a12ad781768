"""What the compiled code of a module is made of: its own text, and that of all it imports inside its package.

The compiler writes whatever a kernel finds in its module into the machine code: kernels, constants and enums from
other files. Only what a module imports can be found there; so its imports, and theirs, tell what can change it.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# An import by a module, or one within an `if TYPE_CHECKING:` or a function, which is indented.
_IMPORT = re.compile(
    r"^(?P<inner> *)(?:from (?P<home>[\w.]+) import (?P<names>\([^)]*\)|[^\n#]*)|import (?P<module>[\w.]+))",
    re.MULTILINE,
)
_TUPLE = re.compile(r"^class \w+\(NamedTuple\):$", re.MULTILINE)


def sources(file: Path, package: Path, *, leaf: Path) -> list[Path]:
    """Return the files that the compiled code of this one depends on, itself included, in a fixed order.

    What is imported for its types counts where it defines tuples: kernels find a field by its place. The `leaf` counts
    by its own text only: what the decorators import is nothing that a kernel could find.
    """
    found, ahead = {file, leaf}, [file]
    while ahead:
        more = _imported(ahead.pop(), package) - found
        found |= more
        ahead += more
    return sorted(found)


def fingerprint(files: list[Path]) -> str:
    """Return a name for the exact text of these files."""
    digest = hashlib.sha256()
    for path in files:
        text = path.read_bytes()
        digest.update(f"{path.name} {len(text)} ".encode())
        digest.update(text)
    return digest.hexdigest()[:16]


@functools.cache
def _imported(file: Path, package: Path) -> frozenset[Path]:
    found = set()
    for match in _IMPORT.finditer(_text(file)):
        home = match["home"] or match["module"]
        names = re.findall(r"(\w+)(?: as \w+)?", match["names"] or "")
        if home.partition(".")[0] == package.name:
            modules = {_module(home, name, package) for name in names} or {_module(home, "", package)}
            found |= {path for path in modules if path and (not match["inner"] or _TUPLE.search(_text(path)))}
    return frozenset(found)


def _module(home: str, name: str, package: Path) -> Path | None:
    # `name` may itself be a module of the package `home`.
    place = package.parent.joinpath(*home.split("."))
    ways = (place / f"{name}.py", place / name / "__init__.py", place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in ways if path.is_file()), None)


@functools.cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
