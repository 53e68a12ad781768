"""Where compiled code is kept, and found again: one file for each function and each set of types.

A file's name is that of all that its code depends on, so files are never changed, two processes that write the same one
write the same, and a file that is cut short or damaged is as good as none. They are pickles: whoever may write them
runs code as whoever reads them, so only folders are read in which nobody else may write.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
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
# What shipped code was compiled for, and the features of a processor that may run it.
SHIPPED_FOR = ("x86_64-unknown-linux-gnu", "x86-64-v3", "")
_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
Target = tuple[str, str, str]  # triple, processor, features
_DIGEST = 16  # bytes of a file's own digest, before the rest
_ABANDONED = 3600  # seconds after which a file that is not yet complete never will be
_DAY = 86400
_UNUSED = 30 * _DAY  # after which what was made of other text is removed


def version() -> str:
    """Return what all compiled code depends on beside its source: releases, and the compiler's settings."""
    python = sys.implementation.cache_tag or sys.version.partition(" ")[0]  # whose objects the pickles hold
    compilers = f"numba-{numba.__version__}-llvmlite-{llvmlite.__version__}"
    return f"{__version__}-{python}-{compilers}{'-boundscheck' if _SETTINGS.BOUNDSCHECK else ''}"


def cache_folder(name: str) -> Path | None:
    """Return a writable folder for compiled code that only this user may write to, or None if there is none."""
    user_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if user_cache.startswith("~"):  # a user without a home, as in some containers
        user_cache = ""
    for base in (os.environ.get("FEDSCHED_CACHE"), os.environ.get("NUMBA_CACHE_DIR"), user_cache):
        if not base:
            continue
        parents = (Path(base), Path(base) / "fedsched")
        folder = parents[-1] / name
        with contextlib.suppress(OSError):
            Path(base).mkdir(mode=0o700, parents=True, exist_ok=True)
            for made in (parents[-1], folder):
                made.mkdir(mode=0o700, exist_ok=True)
            if not all(map(keeps_entries, parents)) or not only_ours(folder):
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
    return None


def _shared_folder() -> Path | None:
    """Return the folder that FEDSCHED_CACHE names, if nobody but root and this user may write to it."""
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


@functools.cache
def text_of(file: Path) -> str:
    """Return a name for all text that can change the compiled code of a module's functions."""
    file = file.resolve()
    return fingerprint(file, sources(file, PACKAGE))


@functools.cache
def whole_text_of(file: Path) -> str:
    """Return a name for all text of a module and of what it imports: for code that is compiled into its callers."""
    return fingerprint(None, sources(file.resolve(), PACKAGE))


def changed(file: Path) -> bool:
    """Return whether text that the code of a module depends on is another than when this process read it."""
    return any(one.read_text(encoding="utf-8") != text(one) for one in sources(file.resolve(), PACKAGE))


def this_machine() -> Target:
    """Return for what code is compiled in this process."""
    return cpu_target.target_context.codegen().magic_tuple()  # type: ignore[no-any-return]


class KernelCache(caching._Cache):
    """What is kept of one function: read from all folders, written to the user's own."""

    def __init__(self, function: Any, kind: str) -> None:
        self.kind = kind
        self._file = Path(function.__code__.co_filename).resolve()
        text(self._file)  # as it is now, when the module is imported: it may be changed before its code is compiled
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")

    @property
    def cache_path(self) -> str:
        """Return the folder that is written to."""
        return str(FOLDER)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature; None if it is nowhere kept whole."""
        target_context.refresh()
        payload = read(self._named(sig), target_context.codegen().magic_tuple())
        if payload is None:
            return None
        return compiler.CompileResult._rebuild(target_context, *payload)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function."""
        write(self._named(sig), data.codegen.magic_tuple(), data._reduce())

    def _named(self, signature: Any) -> str:
        return f"{self._name} {text_of(self._file)} {self.kind} {signature}"

    def enable(self) -> None:
        """Do nothing: it is always in use."""

    def disable(self) -> None:
        """Do nothing: it is always in use."""

    def flush(self) -> None:
        """Do nothing: files never become wrong."""


def read(what: str, target: Target) -> Any:
    """Return what is kept under a name for a machine; None if it is nowhere kept whole.

    The name's second word, if it has one, stands for the text that it was made of.
    """
    for folder, made_for in _folders(target):
        file = folder / _file(what, made_for)
        try:
            kept = file.read_bytes()
        except OSError:
            continue
        if _digest(kept[_DIGEST:]) == kept[:_DIGEST]:
            with contextlib.suppress(OSError):  # as in a folder that may only be read
                if _age(file) > _DAY:
                    os.utime(file)  # a file's date is the day of its last use
            return pickle.loads(kept[_DIGEST:])
    return None


def write(what: str, target: Target, payload: Any) -> None:
    """Keep something under a name for a machine; if that fails, say so once and go on without."""
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
    """Say why nothing can be kept from here on; what is there is still read."""
    global FOLDER
    assert FOLDER is not None
    compilation.say(f"{FOLDER}: {error.strerror}; what is compiled is not kept")
    READ_ONLY.append(FOLDER)
    FOLDER = None


def _tidy(folder: Path, name: str, text: str = "") -> None:
    """Remove what was made of other text under a name, and has not been used for long."""
    for file in _unused(folder).pop(name, ()):
        if file.name.split(".")[-2] != text:
            _remove(file, _UNUSED)


@functools.cache
def _unused(folder: Path) -> dict[str, list[Path]]:
    """Return the files that have not been used for long, by name, and remove those that nobody can need.

    Nobody can need the unfinished files of killed processes. Nor can anybody need files of other versions, unless the
    folder is shared: readers who may not write there leave no date of use.
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
