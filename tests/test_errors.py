"""The public modules of errors and executors: files that type checkers find, with all that there is."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import fedsched as fs
from fedsched.core import errors

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "errors.md"


@pytest.mark.parametrize("name", ["errors", "executors"])
def test_a_type_checker_finds_the_module(name: str) -> None:
    """Tests that what users import from is a file of its own, not an alias made at run time, and one of `fedsched`."""
    found = find_spec(f"fedsched.{name}")
    assert found is not None
    assert str(found.origin).endswith(f"{name}.py")
    assert name in fs.__all__


def test_every_error_is_public_and_in_the_reference() -> None:
    """Tests that a new class of errors can be imported, is the same class, and has its place in the reference."""
    classes = {name: one for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}
    assert sorted(classes) == fs.errors.__all__
    page = PAGE.read_text(encoding="utf-8")
    for name, one in classes.items():
        assert getattr(fs.errors, name) is one
        assert f".. autoexception:: fedsched.errors.{name}\n   :show-inheritance:\n" in page
