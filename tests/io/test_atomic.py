"""Writing so that nothing is half-written, and reading whatever is compressed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from fedsched.core.errors import OutputError, TraceError
from fedsched.io.atomic import atomic_bytes, atomic_text, check_writable
from fedsched.io.files import read_text


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2"])
def test_what_is_written_is_read(tmp_path: Path, suffix: str) -> None:
    """Tests that text survives each compression, and that nothing else is left in the folder."""
    path = tmp_path / f"a.txt{suffix}"
    with atomic_text(path) as out:
        out.write("Å\nb\n")
    assert read_text(path) == "Å\nb\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_an_error_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    """Tests that an error, or Ctrl-C, in the middle leaves what was there, and no temporary file."""
    path = tmp_path / "a.csv.gz"
    with atomic_text(path) as out:
        out.write("old")

    def write_half() -> None:
        with atomic_text(path) as out:
            out.write("new" * 100_000)
            raise error

    with pytest.raises(error):
        write_half()
    assert read_text(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_our_error(tmp_path: Path) -> None:
    """Tests that a system error while writing becomes an OutputError that names the file and a cure."""
    with (
        pytest.raises(OutputError, match=r"a\.bin.*No space left.*space left on the disk"),
        atomic_bytes(tmp_path / "a.bin"),
    ):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """Tests that a missing folder, a folder, and a file as folder are errors that say what to do."""
    (tmp_path / "file").touch()
    for path, said in (
        (tmp_path / "absent" / "a.csv", "make it first"),
        (tmp_path, "it is a folder"),
        (tmp_path / "file" / "a.csv", "a part of the path is a file"),
        (tmp_path / "file" / "b" / "a.csv", "a part of the path is a file"),
        (tmp_path / ("x" * 300), "check the path"),
    ):
        with pytest.raises(OutputError, match=said), atomic_text(path):
            pass
        with pytest.raises(OutputError, match=said):
            check_writable(path)


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES])
def test_what_the_system_would_refuse_is_known_before(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a read-only or full disk, a quota and a forbidden folder are found by trying, with nothing left."""

    def refuse(path: Path, *given: object, **options: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(OutputError, match=f"Cannot write .*a.csv: {os.strerror(number)}"):
        check_writable(tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_trying_leaves_no_trace(tmp_path: Path) -> None:
    """Tests that a path that can be written is as it was, there or not."""
    (tmp_path / "old").write_text("old")
    for name in ("old", "new"):
        check_writable(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "old"


def test_a_write_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a file that its owner protects stays, and that this is known before any work."""
    path = tmp_path / "kept.csv"
    path.write_text("kept")
    usual = os.access
    monkeypatch.setattr(os, "access", lambda at, mode: Path(at) != path and usual(at, mode))  # as for all but root
    with pytest.raises(OutputError, match="it is write-protected"):
        check_writable(path)
    with pytest.raises(OutputError, match="it is write-protected"), atomic_text(path):
        pass
    assert path.read_text() == "kept"


@pytest.mark.skipif(os.name != "posix", reason="permissions and links as on POSIX systems")
def test_permissions_and_links_stay(tmp_path: Path) -> None:
    """Tests that a replaced file keeps its mode, and that a link keeps pointing to the file that it names."""
    real = tmp_path / "real.txt"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    with atomic_text(link) as out:
        out.write("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no device to write to")
def test_a_device_is_written_in_place() -> None:
    """Tests that a device stays a device."""
    with atomic_text("/dev/null") as out:
        out.write("gone")
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no names for open files")
def test_a_pipe_is_written_as_it_was_given() -> None:
    """Tests that a pipe's name, which leads to no folder, is written to: /dev/stdout, or >(...) of a shell."""
    end, begin = os.pipe()
    with os.fdopen(end) as read_end, os.fdopen(begin, "w"):
        with atomic_text(f"/dev/fd/{begin}") as out:
            out.write("to the next\n")
        assert read_end.readline() == "to the next\n"


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no names for open files")
def test_a_pipe_that_nobody_reads_is_said_as_it_is() -> None:
    """Tests that a reader who has gone is no fault of the path: the caller ends quietly, as at its own output."""
    end, begin = os.pipe()
    with os.fdopen(begin, "w"):
        os.close(end)
        with pytest.raises(BrokenPipeError), atomic_text(f"/dev/fd/{begin}") as out:
            out.write("to nobody\n")


def test_marks_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Tests that a byte-order mark is seen through, and that zero bytes are an error."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfhello")
    assert read_text(path) == "hello"
    path.write_bytes(b"a\0b")
    with pytest.raises(TraceError, match="not a text file"):
        read_text(path)
