"""What is kept of compiled code: it is found again, never stale, and whatever befalls the cache, results are right."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest

from fedsched.core.jit import cache

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.compiled
FUNCTIONS = 3  # of the small package: the kernel's entry, the kernel, the part that it calls
TARGET = ("triple", "processor", "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that this process keeps its code in."""
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(cache, "READ_ONLY", [])
    return tmp_path


@pytest.mark.deep
def test_a_change_compiles_what_it_changes_and_nothing_else(small: Any) -> None:
    """Tests that a part's new body compiles that part alone, and what is compiled into callers, these too."""
    small.write("inner", "@inlined\ndef step(k: int) -> int:\n    return 2 * k\n")
    small.write("pair", "@part\ndef pair(k: int) -> tuple[int, int]:\n    return k, k + 1\n")
    small.write(
        "entry",
        "from fedsched.called import called\nfrom fedsched.inner import step\nfrom fedsched.pair import pair\n"
        "@kernel\ndef answer(k: int) -> int:\n"
        "    low, high = pair(k)\n    return 1000 * called(k) + 100 * step(k) + 10 * low + high\n",
    )
    assert small.run() == "2212 5"
    small.change("called", "k + 1", "k + 2")
    assert small.run() == "3212 1"
    small.change("inner", "2 * k", "3 * k")
    assert small.run() == "3312 3"
    small.change("pair", "k + 1", "k + 5")  # which is more than a number: it is linked into its caller
    assert small.run() == "3316 3"


@pytest.mark.deep
def test_a_change_after_the_import_is_for_the_next_process(small: Any) -> None:
    """Tests that a process goes on with the text that it imported, and keeps nothing under the name of the new one."""
    late = "from pathlib import Path\nfrom fedsched.entry import answer\npath = Path('fedsched/called.py')\n"
    late += "path.write_text(path.read_text().replace('k + 1', 'k + 7'))\nprint(answer(1))"
    assert small.run(late) == "20"
    assert small.run() == "80 1"


@pytest.mark.deep
def test_two_processes_fill_an_empty_cache_at_once(small: Any) -> None:
    """Tests that both have the same result, and that nothing is left to compile; but all, where the files are cut."""
    both = [small.begin(), small.begin()]
    for out, error in [process.communicate() for process in both]:  # who comes late finds some of it there
        assert (out.split()[0], error) == ("20", "")
    assert small.run() == "20 0"
    for file in small.kept():
        file.write_bytes(file.read_bytes()[:-1])
    assert small.run() == f"20 {FUNCTIONS}"


@pytest.mark.deep
def test_a_killed_process_leaves_a_cache_that_works(small: Any) -> None:
    """Tests that what was being written is not read, and goes away when it is old."""
    killed = "import os, signal\nfrom pathlib import Path\nfrom fedsched.entry import answer\n"
    killed += "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nanswer(1)"
    process = small.begin(killed)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    [left] = small.kept()
    assert left.name.startswith(".")
    os.utime(left, (time.time() - cache._ABANDONED - 1,) * 2)
    assert small.run() == f"20 {FUNCTIONS}"
    assert len(small.kept()) == FUNCTIONS
    assert not left.exists()


@pytest.mark.parametrize("way", ["lean", "plain"])
def test_a_full_disk_costs_the_cache_and_not_the_result(small: Any, way: str) -> None:
    """Tests that it is said once, in one line, and that nothing incomplete stays, whichever way compiles."""
    full = f"import os, resource\nos.environ['FEDSCHED_JIT'] = '{way}'"
    full += "\nresource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    process = small.begin(full + "from fedsched.entry import answer\nprint(answer(1))")
    out, said = process.communicate()
    assert out == "20\n"
    assert said.endswith("File too large; compiled code is not cached.\n")
    assert said.count("\n") == 1
    assert small.kept() == []


def test_what_is_kept_is_read_where_no_more_can_be(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Tests that a disk that becomes full takes nothing away."""

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache.write("one", TARGET, 1)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    cache.write("two", TARGET, 2)
    cache.write("three", TARGET, 3)
    assert [cache.read(name, TARGET) for name in ("one", "two", "three")] == [1, None, None]
    assert capsys.readouterr().err == f"fedsched: {folder}: No space left on device; compiled code is not cached.\n"
    assert cache.FOLDER is None


@pytest.mark.parametrize("shared", [False, True])
def test_what_nothing_can_need_any_more_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    """Tests that files made of former text, or by other versions, go if they have not been used for a month.

    What is current or was read stays; in a folder that others may read too, so does all of other versions.
    """
    folder, other = tmp_path / "0.1-numba-1-llvmlite-1", tmp_path / "0.1-numba-2-llvmlite-1"
    monkeypatch.setattr(cache, "READ_ONLY", [folder] * shared)
    month_ago = time.time() - cache._UNUSED - 1
    for there in (other, tmp_path / "src", folder):
        there.mkdir()
        monkeypatch.setattr(cache, "FOLDER", there)
        for what in ("one former int", "one now int", "one read int", "two former int"):
            cache.write(what, TARGET, what)
    for file in tmp_path.glob("*/*"):
        os.utime(file, (month_ago, month_ago))
    assert cache.read("one read int", TARGET) == "one read int"
    cache._unused.cache_clear()  # as in another process
    cache.write("one now float", TARGET, 1)
    left = {there: sorted(file.name.rpartition(".")[0] for file in there.iterdir()) for there in tmp_path.iterdir()}
    all_four = ["one.former", "one.now", "one.read", "two.former"]
    assert left == {
        folder: ["one.now", "one.now", "one.read", "two.former"],
        other: all_four if shared else [],
        tmp_path / "src": all_four,
    }


NOTHING_WRITABLE = """
import tempfile

def refused(**_):
    raise PermissionError

tempfile.TemporaryFile = refused
"""


@pytest.mark.deep
def test_code_comes_from_a_folder_that_may_only_be_read(small: Any) -> None:
    """Tests that a process without a folder of its own compiles all, and nothing where FEDSCHED_CACHE has it."""
    assert small.run(NOTHING_WRITABLE + small.ask) == f"20 {FUNCTIONS}"
    assert small.kept() == []
    small.run()
    assert small.run(NOTHING_WRITABLE + small.ask, FEDSCHED_CACHE=str(small.base)) == "20 0"


@pytest.mark.parametrize("damage", [b"", b"cut", b"flipped"])
def test_a_damaged_file_is_none(folder: Path, damage: bytes) -> None:
    """Tests that an empty file, one that was cut short, and one of which a bit is another are not read but replaced."""
    cache.write("one", TARGET, list(range(100)))
    [file] = folder.iterdir()
    whole = file.read_bytes()
    last = bytes([whole[-1] ^ 1])
    file.write_bytes({b"": b"", b"cut": whole[: len(whole) // 2], b"flipped": whole[:-1] + last}[damage])
    assert cache.read("one", TARGET) is None
    cache.write("one", TARGET, list(range(100)))
    assert file.read_bytes() == whole
