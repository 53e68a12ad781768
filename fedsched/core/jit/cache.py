"""The cache of compiled code: one file for each function and each set of argument types.

A file's name is a digest of all that its code depends on. So files never change, and two processes that write the same
file write the same content. A truncated or damaged file counts as absent. Files are pickles: a user with the right to
write them can run code as the reader. So only folders are read to which no other user may write.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import multiprocessing
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
from llvmlite import binding
from numba.core import caching, compiler, config, serialize
from numba.core.registry import cpu_target

from fedsched import __version__
from fedsched.core import compilation
from fedsched.core.jit.sources import fingerprint, sources, text
from fedsched.core.ownership import keeps_entries, only_ours

_SETTINGS: Any = config  # numba sets its attributes at import, where no checker sees them
PACKAGE = Path(__file__).resolve().parents[2]
# The target of the code that is shipped with the package, and the processor features that it needs.
SHIPPED_FOR = ("x86_64-unknown-linux-gnu", "x86-64-v3", "")
_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
REFUSED: dict[str, str] = {}  # places for folders that are not used, and why
Target = tuple[str, str, str]  # triple, processor, features
_DIGEST = 16  # bytes of the digest at the beginning of each file
_ABANDONED = 3600  # seconds after which an incomplete file is given up
_DAY = 86400
_UNUSED = 30 * _DAY  # seconds without use, after which code of other source text is removed


def version() -> str:
    """Return a folder's name that tells the versions of fedsched, Python, numba and LLVM, and if indices are checked.

    All compiled code depends on these besides its source.
    """
    python = sys.implementation.cache_tag or sys.version.partition(" ")[0]  # the pickles hold its objects
    compilers = f"numba-{numba.__version__}-llvmlite-{llvmlite.__version__}"
    return f"{__version__}-{python}-{compilers}{'-boundscheck' if _SETTINGS.BOUNDSCHECK else ''}"


def cache_folder(name: str) -> Path | None:
    """Return the folder `name` for compiled code, made if necessary; None if no place is both writable and safe.

    The places are FEDSCHED_CACHE, NUMBA_CACHE_DIR and the user's cache folder, in this order. A place is safe if only
    this user may write to the folder.
    """
    user_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if user_cache.startswith("~"):  # a user without a home, as in some containers
        user_cache = ""
    for base in (os.environ.get("FEDSCHED_CACHE"), os.environ.get("NUMBA_CACHE_DIR"), user_cache):
        if not base:
            continue
        found = _made(Path(base), name)
        if isinstance(found, Path):
            return found
        REFUSED[base] = found
    return None


def _made(base: Path, name: str) -> Path | str:
    """Return the folder `name` for compiled code below `base`, made if necessary; or why it is not used."""
    parent = base / "fedsched"
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder, safe in ((base, keeps_entries), (parent, keeps_entries), (parent / name, only_ours)):
            folder.mkdir(mode=0o700, exist_ok=True)
            if not safe(folder):  # nothing is made in it
                return f"{folder} belongs to another user, or others may write to it"
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        return f"{base}: {error.strerror}"


def unused() -> str:
    """Return in words that FEDSCHED_CACHE names a folder that is neither written nor read, and why; else ""."""
    base = os.environ.get("FEDSCHED_CACHE", "")
    return f"FEDSCHED_CACHE is not used: {REFUSED[base]}" if base in REFUSED and not READ_ONLY else ""


def _shared_folder() -> Path | None:
    """Return this version's folder in FEDSCHED_CACHE, for reading, if only root and this user may write to it.

    Return None otherwise.
    """
    base = os.environ.get("FEDSCHED_CACHE")
    if not base:
        return None
    parents = (Path(base), Path(base) / "fedsched", Path(base) / "fedsched" / version())
    with contextlib.suppress(OSError):
        if all(map(keeps_entries, parents)) and only_ours(parents[-1], or_roots=True):
            return parents[-1]
    return None


SHIPPED = PACKAGE / "_kernels" / version()
FOLDER = cache_folder(version())
READ_ONLY = [folder for folder in (_shared_folder(),) if folder]
if unused() and multiprocessing.parent_process() is None:  # once, not in each worker
    compilation.say(f"{unused()}; compiled code is {f'kept in {FOLDER}' if FOLDER else 'not kept'}")


@functools.cache
def text_of(file: Path) -> str:
    """Return a digest of all source text that can change the compiled code of a module's functions.

    The text is that of the module, and what its code sees of its imports: not the bodies of functions that it calls.
    """
    file = file.resolve()
    return fingerprint(file, sources(file, PACKAGE))


@functools.cache
def whole_text_of(file: Path) -> str:
    """Return a digest of the whole text of a module and of its imports: for code that is compiled into its callers."""
    return fingerprint(None, sources(file.resolve(), PACKAGE))


def changed(file: Path) -> bool:
    """Return whether source text that a module's code depends on has changed since this process read it."""
    return any(one.read_text(encoding="utf-8") != text(one) for one in sources(file.resolve(), PACKAGE))


def this_machine() -> Target:
    """Return the target (triple, processor, features) of the code that this process compiles."""
    return cpu_target.target_context.codegen().magic_tuple()  # type: ignore[no-any-return]


class KernelCache(caching._Cache):
    """The cache of one function's compiled code: it reads from all cache folders, and writes to the user's own."""

    def __init__(self, function: Any, kind: str) -> None:
        self.kind = kind
        self._file = Path(function.__code__.co_filename).resolve()
        text(self._file)  # read now, at import: the file may change before its code is compiled
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")

    @property
    def cache_path(self) -> str:
        """Return the path of the folder for new files."""
        return str(FOLDER)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature from the cache; None if no folder has an intact copy."""
        target_context.refresh()
        payload = read(self._named(sig), target_context.codegen().magic_tuple())
        if payload is None:
            return None
        return compiler.CompileResult._rebuild(target_context, *payload)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled function to the cache."""
        write(self._named(sig), data.codegen.magic_tuple(), data._reduce())

    def _named(self, signature: Any) -> str:
        return f"{self._name} {text_of(self._file)} {self.kind} {signature}"

    def enable(self) -> None:
        """Do nothing: the cache is always in use."""

    def disable(self) -> None:
        """Do nothing: the cache is always in use."""

    def flush(self) -> None:
        """Do nothing: the cache's files never become wrong."""


def read(what: str, target: Target) -> Any:
    """Return the object that the cache has under the name `what` for a target; None if no folder has an intact copy.

    The name's second word, if there is one, is the digest of the source text. A file's date becomes the day of its
    last use.
    """
    for folder, made_for in _folders(target):
        file = folder / _file(what, made_for)
        try:
            kept = file.read_bytes()
        except OSError:
            continue
        if _digest(kept[_DIGEST:]) == kept[:_DIGEST]:
            with contextlib.suppress(OSError):  # in a read-only folder, for example
                if _age(file) > _DAY:
                    os.utime(file)  # a file's date is the day of its last use
            return pickle.loads(kept[_DIGEST:])
    return None


def write(what: str, target: Target, payload: Any) -> None:
    """Write an object to the cache under the name `what` for a target, and remove the name's outdated, unused files.

    If writing fails, say so once on stderr and write no more. Do nothing if there is no cache folder.
    """
    if FOLDER is None:
        return
    kept = serialize.dumps(payload)  # type: ignore[no-untyped-call]
    try:
        _tidy(FOLDER, *what.split(" ")[:2])
        with tempfile.NamedTemporaryFile(dir=FOLDER, prefix=".", delete=False) as file:
            try:
                file.write(_digest(kept) + kept)
                file.close()
                Path(file.name).replace(FOLDER / _file(what, target))
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        keep_no_more(error)


def keep_no_more(error: OSError) -> None:
    """Stop writing to the cache in this process, and say why on stderr; existing files are still read."""
    global FOLDER
    assert FOLDER is not None
    compilation.say(f"{FOLDER}: {error.strerror}; compiled code is not cached")
    READ_ONLY.append(FOLDER)
    FOLDER = None


def _tidy(folder: Path, name: str, text: str = "") -> None:
    """Remove a function's files, by its name, if they have another digest of the source text and are 30 days unused."""
    for file in _unused(folder).pop(name, ()):
        if file.name.split(".")[-2] != text:
            _remove(file, _UNUSED)


@functools.cache
def _unused(folder: Path) -> dict[str, list[Path]]:
    """Return the folder's files that are 30 days unused, by the function's name; remove files that no process needs.

    Removed are unfinished files after an hour, as their processes were killed, and other versions' files after 30 days
    without use. In a shared folder other versions' files stay: readers without the right to write leave no date of use.
    """
    found: dict[str, list[Path]] = {}
    others = [] if folder in READ_ONLY else folder.parent.glob("*-numba-*-llvmlite-*")
    for file in (file for one in {folder, *others} for file in one.glob("*")):
        if file.name.startswith("."):
            _remove(file, _ABANDONED)
        elif file.parent != folder:
            _remove(file, _UNUSED)
        else:
            with contextlib.suppress(OSError):
                if _age(file) > _UNUSED:
                    found.setdefault(file.name.rsplit(".", 2)[0], []).append(file)
    return found


def _age(file: Path) -> float:
    return time.time() - file.stat().st_mtime


def _remove(file: Path, age: int) -> None:
    with contextlib.suppress(OSError):  # another process may have removed it
        if _age(file) > age:
            file.unlink()


def _file(what: str, target: Target) -> str:
    name, _, rest = what.partition(" ")
    digest = hashlib.sha256("; ".join((what, *target)).encode()).hexdigest()
    return f"{name}.{rest.partition(' ')[0]}.{digest[:24]}"


def _folders(target: Target) -> list[tuple[Path, Target]]:
    found = [(folder, target) for folder in (FOLDER, *READ_ONLY) if folder is not None]
    return [*found, (SHIPPED, SHIPPED_FOR)] if _may_run_shipped() else found


@functools.cache
def _may_run_shipped() -> bool:
    if not SHIPPED.is_dir() or _SETTINGS.CPU_NAME or _SETTINGS.BOUNDSCHECK:
        return False
    features = binding.get_host_cpu_features()
    return binding.get_process_triple() == SHIPPED_FOR[0] and all(features.get(one) for one in _V3)


def _digest(kept: bytes) -> bytes:
    return hashlib.blake2b(kept, digest_size=_DIGEST).digest()
