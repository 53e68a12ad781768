"""The source text that a module's compiled code depends on: its own, and what it sees of its imports.

The compiler writes the names that a kernel uses into its machine code: inlined functions, constants and enums from
other files. These come from imports, so a module's direct and indirect imports tell what can change its code. Of a
`@part` or `@kernel` in another file it sees only the head, as it calls that through a slot. If such a function returns
more than a number, it is linked into its callers, and its whole text counts.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# An import of a module, or an indented one within `if TYPE_CHECKING:` or a function.
_IMPORT = re.compile(
    r"^(?P<inner> *)(?:from (?P<home>[\w.]+) import (?P<names>\([^)]*\)|[^\n#]*)|import (?P<module>[\w.]+))",
    re.MULTILINE,
)
_TUPLE = re.compile(r"^class \w+\(NamedTuple\):$", re.MULTILINE)
# A function that is called through a slot, as its head names a simple return type: decorator and head, then the body.
_CALLED = re.compile(
    r"^(@(?:kernel|part)\ndef (?:[^\n]*|[^\n]*\(\n(?:    [^\n]*\n)*?\)) -> (?:None|int|float|bool):\n)"
    r"(?:(?:[ \t][^\n]*)?\n)*",
    re.MULTILINE,
)


def sources(file: Path, package: Path) -> list[Path]:
    """Return the package's files on which the compiled code of `file` depends, itself included, sorted.

    These are its direct and indirect imports and all of `core/jit`. A module imported only for its types, or within a
    function, counts if it defines named tuples: kernels find a field by its position.
    """
    found, ahead = {file, *(package / "core" / "jit").glob("*.py")}, [file]
    while ahead:
        more = _imported(ahead.pop(), package) - found
        found |= more
        ahead += more
    return sorted(found)


def fingerprint(own: Path | None, files: list[Path]) -> str:
    """Return a digest of the text of `own` and of what its compiled code sees of the other `files`.

    If `own` is None, the digest is that of the whole text of all files.
    """
    digest = hashlib.sha256()
    for path in files:
        seen = seen_of(path) if own and path != own else text(path)
        digest.update(f"{path.name} {len(seen)} {seen}".encode())
    return digest.hexdigest()[:16]


@functools.cache
def seen_of(path: Path) -> str:
    """Return a file's text without the bodies of functions that other files call through slots.

    That is all that compiled code of other files sees of it.
    """
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
