"""Where undo files are kept: in a folder of their own, never in the current folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from fedsched.core.errors import SteerError
from fedsched.core.ownership import user
from fedsched.site.steer.private import make_folder

OF_ROOT = Path("/var/lib/fedsched")
NAME = "fedsched"


def state_folder(named: Path | None = None) -> Path:
    """Return the folder: the one that is named, systemd's for a service, root's own, or a user's own.

    That is `--state`, `$STATE_DIRECTORY`, `/var/lib/fedsched` for root, and else `$XDG_STATE_HOME/fedsched` or
    `~/.local/state/fedsched`.
    """
    if named is not None:
        return named
    if given := os.environ.get("STATE_DIRECTORY", "").partition(":")[0]:
        if not Path(given).is_absolute():
            raise SteerError(f"STATE_DIRECTORY={given!r} must begin with /; name the folder with --state.")
        return Path(given)
    if user() == 0:
        return OF_ROOT
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if base.is_absolute():
        return base / NAME
    try:
        return Path("~/.local/state").expanduser() / NAME
    except RuntimeError:
        raise SteerError("HOME is not set, and there is no home for this user; name a folder with --state.") from None


def state_file(
    what: str, cluster: str, *, file: Path | None = None, folder: Path | None = None, make: bool = True
) -> Path:
    """Return the undo file of a cluster: the one that is named, or one in the state folder.

    Parameters
    ----------
    what
        What is to be undone, as the file's name begins: `undo` or `placed`.
    make
        Whether the state folder is made if it is missing.
    """
    if file is not None:
        if folder is not None:
            raise SteerError(f"--undo-file {file} and --state {folder} name two places; leave one of them out.")
        return file
    there = state_folder(folder)
    if make:
        make_folder(there)
    return there / f"{what}-{re.sub(r'[^A-Za-z0-9_.-]', '_', cluster)}.json"
