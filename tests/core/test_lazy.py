"""Lazy packages: names are there, and listed, before they are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fedsched as fs


def test_names_are_listed_before_they_are_imported() -> None:
    """Tests that `dir` has every name, that looking loads nothing heavy, and that a name is then had."""
    code = (
        "import sys, fedsched.search as s, fedsched.plot as p; names = dir(s); early = 'numba' in sys.modules; "
        "print('MethodInfo' in names, 'gantt' in dir(p), 'TYPE_CHECKING' in names, early, s.MethodInfo.__name__, "
        "p.gantt.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "False", "False", "MethodInfo", "fedsched.plot.gantt"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Tests that a name that a package does not have fails as in any module."""
    with pytest.raises(AttributeError, match=r"module 'fedsched\.search' has no attribute 'Methud'"):
        _ = fs.search.Methud
