"""Report on stderr what a command compiles, so that the first use of a part of fedsched does not look hung."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from typing import TYPE_CHECKING

from fedsched.core.compilation import Compilation, compiling

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EVERY = 10.0  # seconds between two lines, if stderr is no terminal


@contextlib.contextmanager
def announced(arguments: Sequence[str] = ()) -> Iterator[None]:
    """Report on stderr, while a command compiles, what, how much and how long still; at the end, report the total."""
    said: float | None = None  # when the last report was made

    def say(watch: Compilation) -> None:
        nonlocal said
        if sys.stderr is None:
            return
        now = time.monotonic()
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            line = f"fedsched: {watch.status}"[:width] if watch.active else ""
            print(f"\r{' ' * width}\r{line}", end="", file=sys.stderr, flush=True)
        elif said is None:
            print("fedsched: compiling, once for this version …", file=sys.stderr, flush=True)
        elif now - said >= EVERY and watch.active:
            print(f"fedsched: {watch.status}", file=sys.stderr, flush=True)
        else:
            return
        said = now

    def expected() -> int:
        from fedsched.cli.shared.expecting import functions_of

        return functions_of(arguments)

    done = False
    with compiling(say, expects=expected) as watch:
        try:
            yield
            done = True
        finally:
            if watch and sys.stderr is not None:
                print(f"fedsched: compiled {watch}; {_kept()}.", file=sys.stderr)
            if watch.functions:
                from fedsched.cli.shared.expecting import note

                note(arguments, watch.functions, done=done)


def _kept() -> str:
    from fedsched.core.jit import folder_in_use

    return "kept for the next time" if folder_in_use() else "not kept, as no folder is writable: see fedsched doctor"
