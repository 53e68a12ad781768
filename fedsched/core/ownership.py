"""Functions that tell the owners of files and folders, and whether other users can change or replace them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def user() -> int:
    """Return the number (UID) of this process's effective user; 0 on Windows."""
    return os.geteuid() if hasattr(os, "geteuid") else 0  # Windows: all are 0; the user's folder has the rights


def owner_of(there: Path | int | os.stat_result) -> int:
    """Return the number (UID) of the owner of a file or folder, given by its path, descriptor or status.

    Return -1 for a path to a symbolic link if the link and its target have different owners.
    """
    if isinstance(there, int):
        return os.fstat(there).st_uid
    if isinstance(there, os.stat_result):
        return there.st_uid
    owners = {there.lstat().st_uid, there.stat().st_uid}
    return owners.pop() if len(owners) == 1 else -1


def only_ours(there: Path | int, *, or_roots: bool = False) -> bool:
    """Return whether this user (or root, with `or_roots`) owns a file or folder, and no group or other may write it."""
    owners = (user(), 0) if or_roots else (user(),)
    return owner_of(there) in owners and not os.stat(there).st_mode & WRITABLE_BY_OTHERS


def keeps_entries(folder: Path | int, *, trusting: bool = True) -> bool:
    """Return whether other users cannot replace this user's entries in a folder, even a shared one such as /tmp.

    The folder must belong to this user or root, and be writable by no other user or have the sticky bit.

    Parameters
    ----------
    trusting
        Whether any group may write to a folder that this user owns; if not, only a group without other members.
    """
    found = os.stat(folder)
    ours = owner_of(folder) == user()
    shared = stat.S_IWOTH if ours and (trusting or is_own_group(found.st_gid)) else WRITABLE_BY_OTHERS
    return owner_of(folder) in (0, user()) and (not found.st_mode & shared or bool(found.st_mode & stat.S_ISVTX))


def is_own_group(number: int) -> bool:
    """Return whether a group (by its GID) has this user's name and no other member; many systems give each user one."""
    import grp

    try:
        group = grp.getgrgid(number)
    except KeyError:
        return False
    name = name_of(user())
    return group.gr_name == name and set(group.gr_mem) <= {name}


def name_of(number: int) -> str:
    """Return the name of the user with this number (UID); the number as text if there is no name."""
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
