"""Files that grow when unpacked: read whole where they are logs, refused in bounded memory where they are traps."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from fedsched.core.errors import FedschedError
from fedsched.io import read, read_federation
from fedsched.io.files import ALLOWANCE, GROWTH
from fedsched.io.swf.swf_table import MAX_LINE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow  # nothing here depends on the compiler
BLOCK = 1 << 20


def bomb(opener: Callable[..., io.BufferedIOBase], block: bytes, blocks: int) -> bytes:
    """Return blocks of the same bytes, packed without holding them all."""
    packed = io.BytesIO()
    with opener(packed, "wb") as stream:
        for _ in range(blocks):
            stream.write(block)
    return packed.getvalue()


@pytest.mark.parametrize("name", ["a.swf", "a.csv", "a.sacct", "a.json", "a.toml", "a.xml"])
def test_a_bomb_is_refused_in_bounded_memory(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a few kilobytes that unpack to many megabytes are an error, and take no such memory."""
    allowance = 4 * BLOCK  # 64 MiB take seconds to pack
    monkeypatch.setattr("fedsched.io.files.ALLOWANCE", allowance)
    block = b"# \n" * (BLOCK // 3) if name.endswith(("toml", "csv")) else b" \n" * (BLOCK // 2)
    packed = bomb(gzip.open, block, 40)  # type: ignore[arg-type]
    assert len(packed) * GROWTH < 40 * BLOCK
    path = tmp_path / f"{name}.gz"
    path.write_bytes(packed)
    tracemalloc.start()
    try:
        with pytest.raises(FedschedError, match=f"grow to more than {GROWTH} times their size"):
            (read_federation if name.endswith(("toml", "xml")) else read)(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < len(packed) * GROWTH + 2 * allowance


def test_the_bound_is_small_beside_a_machines_memory() -> None:
    """Tests that what any small file may take is what it says in the documentation."""
    assert (ALLOWANCE, GROWTH) == (64 << 20, 200)


@pytest.mark.parametrize("opener", [gzip.open, bz2.open, lzma.open])
def test_well_packed_logs_are_no_bombs(tmp_path: Path, opener: Callable[..., io.BufferedIOBase]) -> None:
    """Tests that a small log that shrinks a thousandfold is read whole."""
    row = b" 0 5 100 4 -1 -1 4 200 -1 1 7 1 1 1 -1 -1 -1\n"
    lines = b"".join(b"%d" % k + row for k in range(1, 50)) + b"; nothing to say\n" * 100_000
    path = tmp_path / "a.swf.gz"
    path.write_bytes(bomb(opener, lines, 1))
    assert path.stat().st_size * GROWTH < len(lines)
    assert len(read(path)) == 49


def test_a_line_without_end_is_no_log(tmp_path: Path) -> None:
    """Tests that a log of one endless line is refused before it is held whole."""
    path = tmp_path / "a.swf.gz"
    path.write_bytes(bomb(gzip.open, b"1 " * (BLOCK // 2), 3 * MAX_LINE // BLOCK))  # type: ignore[arg-type]
    with pytest.raises(FedschedError, match="a line of more than 4 MiB, more than any log; check the file"):
        read(path)
