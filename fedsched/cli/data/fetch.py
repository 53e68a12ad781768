"""`fedsched fetch`: download a log of the Parallel Workloads Archive, and check it."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import print_json, print_table, say, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


FIRST = ("--out", "--json")  # in the short help


def command(
    name: str = "",
    /,
    *,
    out: Path = Path(),
    url: str | None = None,
    sha256: str | None = None,
    json: options.Json = False,
) -> int:
    """Download a log of the Parallel Workloads Archive, and check it; without a name, list the known logs.

    The archive publishes no checksums: the checksum of the first download is recorded beside the file.

    Parameters
    ----------
    name
        A log of that list; with --url, the name of the local file.
    out
        The folder to write to.
    url
        The address to download from, instead of the archive's.
    sha256
        The checksum that the file must have. Without it the first download is trusted and its checksum recorded.

    Examples
    --------
    fedsched fetch --json
    fedsched fetch KTH-SP2 --out logs
    """
    from fedsched.io.fetch import LOGS, fetch

    if not name and url is None:
        if json:
            print_json([{"name": known, "url": log.url, "about": log.about} for known, log in LOGS.items()])
        else:
            rows = [(known, log.file, log.about) for known, log in LOGS.items()]
            print_table("logs of the Parallel Workloads Archive", ("name", "file", "what"), rows, align="lll")
        return 0
    with _bar() as progress:
        got = fetch(name, folder=out, url=url, sha256=sha256, progress=progress)
    if json:
        print_json(
            {
                "path": str(got.path),
                "url": got.url,
                "sha256": got.sha256,
                "bytes": got.bytes,
                "downloaded": got.downloaded,
                "checked": got.checked,
                "written": written(got.path if got.downloaded else None, got.recorded),
            }
        )
    else:
        say(got)
    return 0


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[int, int], None] | None]:
    """Give a `with` block a callback (bytes, total) that moves a bar on stderr; None if stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("downloading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("downloading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
