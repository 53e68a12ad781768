"""Each public name that the reference lists has an example in its docstring, and the examples print what they show."""

from __future__ import annotations

import doctest
import inspect
import re
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
LISTED = re.compile(r"^\.\. auto(class|function|exception|data):: (\S+)$", flags=re.MULTILINE)
PACKAGES = (
    "bench", "bounds", "compare", "gang", "generate", "gym", "io", "market", "report", "search", "site.outlook",
    "site.steer", "site.tuning",
)  # fmt: skip
NO_EXAMPLE = {  # why a name has none, besides exceptions and tables
    "fedsched.io.fetch.fetch": "it downloads",
    "fedsched.io.fetch.Fetched": "only `fetch` returns it",
    "fedsched.site.twin.dump": "it asks a Slurm cluster",
}
CONSTANTS = {"fedsched.bench.DATA", "fedsched.gym.ID"}  # in `__all__`, and not in the reference
NEEDS = {name: "ortools" for name in ("exact", "exact_front", "ExactAnswer", "ExactFront")}
# Examples that start processes, or that need kernels which no other example needs.
DEEP = {
    "fedsched.executors.Processes", "fedsched.optimize.Shift", "fedsched.optimize.Shifts",
    "fedsched.shifts", "fedsched.site.outlook.Score", "fedsched.site.outlook.score",
    "fedsched.site.tuning.Tuned", "fedsched.site.tuning.Tuning", "fedsched.site.twin.Explained",
    "fedsched.site.twin.Replayed", "fedsched.site.twin.explain", "fedsched.site.twin.made_dump",
    "fedsched.policies.Slurm", "fedsched.site.twin.read_site", "fedsched.site.twin.replay", "fedsched.tune",
}  # fmt: skip
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def listed() -> dict[str, str]:
    """Return the names in the reference, each with its kind."""
    pages = [page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md"))]
    return {name: kind for page in pages for kind, name in LISTED.findall(page)}


def with_marks() -> list[Any]:
    """Return the names that must have an example, with the marks of their tests."""
    params = []
    for name, kind in listed().items():
        if kind in ("class", "function") and name not in NO_EXAMPLE:
            needed = NEEDS.get(name.rpartition(".")[2])
            marks = [pytest.mark.deep] * (name in DEEP) + [pytest.mark.needs(needed)] * (needed is not None)
            params.append(pytest.param(name, id=name.removeprefix("fedsched."), marks=marks))
    return params


@cache
def found(name: str) -> Any:
    """Return what has a dotted name: a class or function, where a module bears the same name too."""
    *parts, last = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: Any = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in (*parts[length:], last):
            thing = getattr(thing, part)
        return thing
    raise LookupError(name)


def docstrings(name: str) -> Iterator[tuple[str, str]]:
    """Return the docstrings of a class and its public members, or of a function, by dotted name."""
    thing = found(name)
    yield name, inspect.getdoc(thing) or ""
    for member in dir(thing) if inspect.isclass(thing) else ():
        static = inspect.getattr_static(thing, member)
        function = getattr(static, "__func__", static)
        if inspect.isfunction(function) and not member.startswith("_"):
            yield f"{name}.{member}", inspect.getdoc(function) or ""


@pytest.mark.compiled
@pytest.mark.parametrize("name", with_marks())
def test_an_example_prints_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a name's docstring has an example, and that all examples there run as typed in an empty folder."""
    texts = dict(docstrings(name))
    assert re.search(r"^Examples\n-{8}\n>>> ", texts[name], flags=re.MULTILINE), f"{name} has no example"
    said: list[str] = []
    for place, text in texts.items():
        if ">>> " not in text:
            continue
        folder = tmp_path / place
        folder.mkdir()
        monkeypatch.chdir(folder)
        test = doctest.DocTestParser().get_doctest(text, {"fs": fs}, place, None, None)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert not said, "".join(said)


def test_examples_and_pages_import_from_where_the_reference_says() -> None:
    """Tests that a name has one public path: that of the reference, in docstrings and on all pages."""
    public = {_place(found(name)): name for name in listed()}
    texts = {name: text for one in listed() for name, text in docstrings(one)}
    texts |= {str(page): page.read_text(encoding="utf-8") for page in REFERENCE.parent.rglob("*.md")}
    imports = re.compile(r"^\s*(?:>>> )?from (fedsched[\w.]*) import ([\w, ]+)$", flags=re.MULTILINE)
    used = {
        (text_of, f"{home}.{name.strip()}")
        for text_of, text in texts.items()
        for home, names in imports.findall(text)
        for name in names.split(",")
    }
    used |= {(text_of, path) for text_of, text in texts.items() for path in re.findall(r"`(fedsched[\w.]+\.\w+)", text)}
    assert ("fedsched.io.read_swf", "fedsched.io.read_swf") in used
    for text_of, path in used:
        with suppress(LookupError, AttributeError):  # a file's name, a module
            assert public.get(_place(found(path)), path) == path, text_of


def _place(thing: Any) -> tuple[object, object]:
    return getattr(thing, "__module__", None), getattr(thing, "__qualname__", id(thing))


def test_the_reference_lists_what_packages_export() -> None:
    """Tests that each name in a package's `__all__` is in the reference."""
    known = {id(found(name)) for name in listed()}
    for package in PACKAGES:
        for name in import_module(f"fedsched.{package}").__all__:
            full = f"fedsched.{package}.{name}"
            assert full in CONSTANTS or inspect.ismodule(found(full)) or id(found(full)) in known, full


def test_names_without_an_example_are_in_the_reference() -> None:
    """Tests that the exceptions above are exceptions from something."""
    assert {*NO_EXAMPLE, *DEEP} <= set(listed())
