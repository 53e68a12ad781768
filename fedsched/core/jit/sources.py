"""What the compiled code of a module depends on: its own text, and what it sees of all that it imports.

The compiler writes whatever a kernel finds in its module into the machine code: inlined functions, constants and enums
from other files. Only what a module imports can be found there; so its imports, and theirs, tell what can change it.
Of a `@part` or `@kernel` in another file it sees the head alone, since it calls that through a slot; but all of one
that returns more than a number, which is linked into its callers.
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
# A function that callers call through a slot, as its head says what it returns: its decorator and head, and its body.
_CALLED = re.compile(
    r"^(@(?:kernel|part)\ndef (?:[^\n]*|[^\n]*\(\n(?:    [^\n]*\n)*?\)) -> (?:None|int|float|bool):\n)"
    r"(?:(?:[ \t][^\n]*)?\n)*",
    re.MULTILINE,
)


def sources(file: Path, package: Path) -> list[Path]:
    """Return the files that the compiled code of this one depends on, itself included, in a fixed order.

    What is imported for its types counts where it defines tuples: kernels find a field by its place. All of `core/jit`
    counts.
    """
    found, ahead = {file, *(package / "core" / "jit").glob("*.py")}, [file]
    while ahead:
        more = _imported(ahead.pop(), package) - found
        found |= more
        ahead += more
    return sorted(found)


def fingerprint(own: Path | None, files: list[Path]) -> str:
    """Return a name for the text of a file, and for what it sees of others; with no file, for all text of all."""
    digest = hashlib.sha256()
    for path in files:
        seen = seen_of(path) if own and path != own else text(path)
        digest.update(f"{path.name} {len(seen)} {seen}".encode())
    return digest.hexdigest()[:16]


@functools.cache
def seen_of(path: Path) -> str:
    """Return what compiled code of another file sees of this one: all but the bodies of what it calls."""
    return _CALLED.sub(r"\1", text(path))


@functools.cache
def _imported(file: Path, package: Path) -> frozenset[Path]:
    found = set()
    for match in _IMPORT.finditer(text(file)):
        home = match["home"] or match["module"]
        names = re.findall(r"(\w+)(?: as \w+)?", match["names"] or "")
        if home.partition(".")[0] == package.name:
            modules = {_module(home, name, package) for name in names} or {_module(home, "", package)}
            found |= {path for path in modules if path and (not match["inner"] or _TUPLE.search(text(path)))}
    return frozenset(found)


def _module(home: str, name: str, package: Path) -> Path | None:
    # `name` may itself be a module of the package `home`.
    place = package.parent.joinpath(*home.split("."))
    ways = (place / f"{name}.py", place / name / "__init__.py", place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in ways if path.is_file()), None)


@functools.cache
def text(file: Path) -> str:
    """Return the text of a file as it was when this process first asked for it."""
    return file.read_text(encoding="utf-8")
