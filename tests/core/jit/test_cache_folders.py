"""Compiled code is cached in the user's own folder: whatever is written there runs as the user."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from fedsched.core import ownership
from fedsched.core.jit import cache
from fedsched.core.jit.cache import cache_folder

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no owners to ask for")


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder that NUMBA_CACHE_DIR names; the user's own cache cannot be had."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "base"))
    monkeypatch.delenv("FEDSCHED_CACHE", raising=False)
    return tmp_path / "base"


def test_a_new_folder_is_the_users_alone(base: Path) -> None:
    """Tests that the new folder is not readable or writable by others, whatever the umask."""
    before = os.umask(0)
    try:
        folder = cache_folder("0123")
    finally:
        os.umask(before)
    assert folder == base / "fedsched" / "0123"
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder, folder.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_folder_that_others_may_write_to_is_not_used(base: Path, mode: int) -> None:
    """Tests that pickles are read from no folder into which others can put theirs."""
    folder = base / "fedsched" / "0123"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert cache_folder("0123") is None


def test_a_folder_that_others_may_exchange_is_not_used(base: Path) -> None:
    """Tests that the folders above count: all may write to /tmp, where users cannot move others' files, to no other."""
    base.mkdir()
    base.chmod(0o777)
    assert cache_folder("0123") is None
    base.chmod(0o1777)
    assert cache_folder("0123") == base / "fedsched" / "0123"


@pytest.mark.parametrize("whose", ["base", "fedsched", "0123"])
def test_a_folder_of_anothers_is_not_used(base: Path, whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a folder which somebody else made, under the name that ours would have, is not used."""
    (base / "fedsched" / "0123").mkdir(parents=True)
    owner = ownership.owner_of
    monkeypatch.setattr(ownership, "owner_of", lambda folder: 4711 if folder.name == whose else owner(folder))
    assert cache_folder("0123") is None
    monkeypatch.setattr(ownership, "owner_of", owner)
    assert cache_folder("0123") is not None


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o770, 0o707, 0o1777])
def test_a_shared_folder_is_read_where_nobody_else_may_write(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that no pickles are read from a folder into which a group or everybody can put theirs, sticky or not."""
    folder = tmp_path / "fedsched" / cache.version()
    folder.mkdir(parents=True)
    folder.chmod(mode)
    monkeypatch.setenv("FEDSCHED_CACHE", str(tmp_path))
    assert cache._shared_folder() == (folder if mode in (0o700, 0o755) else None)


def test_a_named_folder_that_is_not_used_says_why(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nothing is made in a folder to which others may write, and that the reason names it."""
    monkeypatch.setattr(cache, "REFUSED", {})
    monkeypatch.setattr(cache, "READ_ONLY", [])
    named = base.with_name("named")
    named.mkdir()
    named.chmod(0o777)
    monkeypatch.setenv("FEDSCHED_CACHE", str(named))
    assert cache_folder("0123") == base / "fedsched" / "0123"
    assert list(named.iterdir()) == []
    assert cache.unused() == f"FEDSCHED_CACHE is not used: {named} belongs to another user, or others may write to it"
    monkeypatch.setattr(cache, "READ_ONLY", [named])
    assert cache.unused() == ""


def test_a_user_may_have_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that, where nothing says in which folder a user keeps things, nothing is kept."""
    for name in ("FEDSCHED_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", str)
    assert cache_folder("0123") is None


def test_each_python_and_compiler_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that pickles are read only by the Python, numba and llvmlite that made them."""
    names = [cache.version()]
    for changed in ("numba.__version__", "llvmlite.__version__"):
        monkeypatch.setattr(changed, "0.99.0")
        names.append(cache.version())
    monkeypatch.setattr("sys.implementation", SimpleNamespace(cache_tag="cpython-399"))
    names.append(cache.version())
    assert len({*names}) == 4


def test_a_cache_of_anothers_is_read_and_the_users_own_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tests that what FEDSCHED_CACHE holds is read where it cannot be written, and what is missing goes elsewhere."""
    target = ("triple", "processor", "")
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    own.mkdir()
    monkeypatch.setattr(cache, "FOLDER", shared)
    cache.write("first", target, 1)
    shared.chmod(0o555)
    before = sorted(shared.iterdir())
    monkeypatch.setattr(cache, "READ_ONLY", [shared])
    monkeypatch.setattr(cache, "FOLDER", own)
    cache.write("second", target, 2)
    assert (cache.read("first", target), cache.read("second", target)) == (1, 2)
    assert sorted(shared.iterdir()) == before
    assert [path.name.partition(".")[0] for path in own.iterdir()] == ["second"]


def test_the_job_scripts_name_no_folder_that_others_can_guess() -> None:
    """Tests that every script of the documentation takes its cache's folder from mktemp."""
    said = [
        line
        for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
        for line in re.findall(r"^.*NUMBA_CACHE_DIR=.*$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    ]
    assert said
    assert all("$(mktemp " in line and "XXXXXXXXXX" in line for line in said)
