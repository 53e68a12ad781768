"""Undo files: read whole or refused, written before a command runs, removed when nothing is left to undo."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from fedsched.core.errors import SteerError
from fedsched.site.steer import private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Found = TypeVar("Found")


def read_kept(path: Path, kind: str, read: Callable[[Any], Found], *, otherwise: str) -> Found | None:
    """Return what a file of this kind holds; None if there is no file yet.

    Parameters
    ----------
    otherwise
        The error message for a file that cannot be read, with `{}` for the cause.
    """
    try:
        text = private.read_text(path)
        if text is None:
            return None
        said = json.loads(text)
        its_kind = said["kind"]
        found = read(said) if its_kind == kind else None
    except (ValueError, OverflowError, RecursionError, KeyError, TypeError, AttributeError, OSError) as error:
        raise SteerError(f"{path}: {otherwise.format(error)}") from None
    if its_kind != kind:
        raise SteerError(f"{path}: it is {its_kind!r}, not {kind!r}; undo it with the version that wrote it.")
    return found


def write_kept(path: Path | None, said: Mapping[str, object]) -> None:
    """Write a file atomically, or remove it if it has no job; without a path, do nothing."""
    if path is None:
        return
    if not said["jobs"]:
        private.remove(path)
    else:
        private.write_text(path, json.dumps(said, indent=1) + "\n")
