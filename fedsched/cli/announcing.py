"""Says on stderr what a command compiles, so that nobody takes the first use of a part of fedsched for hung."""

from __future__ import annotations

import contextlib
import shutil
import sys
from typing import TYPE_CHECKING

from fedsched.compilation import Compilation, compiling

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def announced() -> Iterator[None]:
    """Say when something begins to be compiled, count on a terminal, and say in the end how much it was."""
    said = False

    def say(watch: Compilation) -> None:
        nonlocal said
        if sys.stderr is None:
            return
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            line = f"fedsched: {watch.status}"[:width] if watch.active else ""
            print(f"\r{' ' * width}\r{line}", end="", file=sys.stderr, flush=True)
        elif not said:
            print("fedsched: compiling, once for this version …", file=sys.stderr, flush=True)
        said = True

    with compiling(say) as watch:
        try:
            yield
        finally:
            if watch and sys.stderr is not None:
                print(f"fedsched: compiled {watch}; {_kept()}.", file=sys.stderr)


def _kept() -> str:
    from fedsched.jit import folder_in_use

    return "kept for the next time" if folder_in_use() else "not kept, as no folder is writable: see fedsched doctor"
