"""Objects from a user's own Python file, named as FILE.py:NAME."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from fedsched.core.errors import FedschedError


def is_own(word: str) -> bool:
    """Return whether a word names a Python file, or an object in one: FILE.py or FILE.py:NAME."""
    return word.endswith(".py") or word.rpartition(":")[0].endswith(".py")


def own_object(word: str, what: str) -> Any:
    """Return the object of FILE.py:NAME; a class is called without arguments.

    The file is run as a script's neighbour is: it may import what lies beside it. Raise FedschedError if there is no
    such file or name; `what` says in messages what the name should be, such as "a policy".
    """
    file, _, name = word.rpartition(":")
    if word.endswith(".py"):
        raise FedschedError(f"{word}: name {what} in the file: {word}:NAME.")
    if not Path(file).is_file():
        raise FedschedError(f"{file}: there is no such file; {what} of your own is FILE.py:NAME.")
    path = Path(file).resolve()
    module = sys.modules.get(path.stem)
    if module is None or getattr(module, "__file__", None) != str(path):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise FedschedError(f"{file} must be a Python file (.py).")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        if (folder := str(path.parent)) not in sys.path:
            sys.path.append(folder)  # neighbours can be imported, also later when the object runs
        spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise FedschedError(f"{file} has no {name!r}; name {what} in it: {path.name}:NAME.")
    made = getattr(module, name)
    return made() if isinstance(made, type) else made
