"""Former names of modules and methods: they warn, and are the same."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from fedsched.core.moved import NOW, Renamed


@pytest.mark.parametrize("old", NOW)
def test_a_former_name_warns_and_is_the_same_module(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what README or docs have named is found by its former name."""
    monkeypatch.delitem(sys.modules, f"fedsched.{old}", raising=False)
    with pytest.warns(DeprecationWarning, match=f"fedsched.{old} is now fedsched.{NOW[old]};"):
        module = import_module(f"fedsched.{old}")
    assert module is import_module(f"fedsched.{NOW[old]}")


def test_modules_within_a_package_that_moved_are_not_loaded_twice() -> None:
    """Tests that classes from a former name are those of the new one."""
    text = "from fedsched.instances.plans import Plan as old; from fedsched.bench.plans import Plan; print(old is Plan)"
    command = [sys.executable, "-W", "ignore", "-c", text]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"


class Clock:
    """A class with a renamed method."""

    def tick(self) -> int:
        """Return one."""
        return 1

    tock = Renamed("tick")


def test_a_former_method_warns_and_is_the_same() -> None:
    """A method or property that was renamed is found by its former name, of an instance and of the class."""
    clock = Clock()
    with pytest.warns(DeprecationWarning, match=r"Clock\.tock is now tick; use that\."):
        assert clock.tock() == 1
    with pytest.warns(DeprecationWarning, match="tick"):
        assert Clock.tock is Clock.tick


@pytest.mark.parametrize(
    ("package", "old", "new"),
    [
        ("site.steer", "Hand", "JobChanger"),
        ("site.steer", "written", "shell_line"),
        ("site.twin", "GIVENS", "REPLAY_FACTS"),
    ],
)
def test_a_former_name_in_a_package_warns_and_is_the_same(package: str, old: str, new: str) -> None:
    """Tests that what a package offered is found by its former name, and an unknown name is an AttributeError."""
    module = import_module(f"fedsched.{package}")
    with pytest.warns(DeprecationWarning, match=f"fedsched.{package}.{old} is now fedsched.{package}.{new}"):
        found = getattr(module, old)
    assert found is getattr(module, new)
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        _ = module.nothing_like_it
