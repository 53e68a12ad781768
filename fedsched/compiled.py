"""The `@kernel` decorator: how every compiled function of the package is compiled and cached."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import binding  # type: ignore[import-untyped]
from numba.core import codegen, compiler, compiler_machinery, config, event, typed_passes

from fedsched import __version__, compilation
from fedsched.sources import fingerprint, sources

F = TypeVar("F", bound=Callable[..., Any])
_SETTINGS: Any = config  # numba sets its attributes at import, where no checker sees them
_THIS = Path(__file__)


def cache_folder(name: str) -> Path | None:
    """Return a writable folder for compiled code that only this user may write to, or None where there is none.

    What numba keeps there are pickles: whoever can put one there runs code as whoever reads it.
    """
    user_cache = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    for base in (os.environ.get("NUMBA_CACHE_DIR"), user_cache):
        if not base:
            continue
        parents = (Path(base), Path(base) / "fedsched")
        folder = parents[-1] / name
        with contextlib.suppress(OSError):
            Path(base).mkdir(mode=0o700, parents=True, exist_ok=True)
            for made in (parents[-1], folder):
                made.mkdir(mode=0o700, exist_ok=True)
            if not all(map(_keeps_entries, parents)) or not _only_ours(folder):
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
    return None


def _only_ours(folder: Path) -> bool:
    """Return whether a folder is this user's, and nobody else may write to it."""
    return _owner_of(folder) == _user() and not folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _keeps_entries(folder: Path) -> bool:
    """Return whether nobody else may put another folder in the place of ours in this one; as /tmp, it may be shared."""
    mode = folder.stat().st_mode
    shared = stat.S_IWOTH if _owner_of(folder) == _user() else stat.S_IWGRP | stat.S_IWOTH
    return _owner_of(folder) in (0, _user()) and (not mode & shared or bool(mode & stat.S_ISVTX))


def _owner_of(folder: Path) -> int:
    """Return whose a folder is; -1 where the link to it is another's than the folder."""
    owners = {folder.lstat().st_uid, folder.stat().st_uid}
    return owners.pop() if len(owners) == 1 else -1


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0  # Windows: all are 0, and rights the user's folder's


def _version() -> str:
    """Return what all compiled code depends on beside its source: releases, and the compiler's settings."""
    return f"{__version__}-numba-{numba.__version__}{'-boundscheck' if _SETTINGS.BOUNDSCHECK else ''}"


_FOLDER = cache_folder(_version())


@functools.cache
def _folder_of(within: Path, file: Path) -> Path:
    """Return the folder for the compiled code of one module, named after all that can change what its kernels answer.

    Numba looks only at the file that a function stands in: a change in a helper, a constant or an enum of another
    file would leave a stale cache. What a module does not import leaves its code as it is.
    """
    return within / fingerprint(sources(file, _THIS.parent, leaf=_THIS))


@contextlib.contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    # Numba chooses the cache's place while it decorates, and by nothing but this setting.
    before = _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _SETTINGS.CACHE_DIR = before


class _PartLibrary(codegen.JITCodeLibrary):
    """The code of a part: linked into the kernels that call it, which are optimised as one, and never run by itself.

    Optimised and translated by itself, it would be so once more at each level above it.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        whole = self._final_module
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        # Numba writes to these as soon as a function is compiled or loaded: all that there is of machine code.
        names = [one.name for one in whole.global_variables if one.name.startswith("_ZN08NumbaEnv")]
        empty = str(self._codegen._create_empty_module(self.name))  # type: ignore[no-untyped-call]
        lines = [empty, *(f'@"{name}" = common global ptr null' for name in names)]
        self._final_module = binding.parse_assembly("\n".join(lines))
        super()._finalize_final_module()  # type: ignore[no-untyped-call]
        self._final_module = whole


class _ApartLibrary(_PartLibrary):
    """The code of a part that stays a function of its own: hot loops around it keep their registers."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == binding.Linkage.external and not function.is_declaration:
                function.add_function_attribute("noinline")


class _KernelLibrary(codegen.JITCodeLibrary):
    """The code of a kernel: its parts are its own, so that nothing is handed to them that they do not look at."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == binding.Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = "internal"
        super()._optimize_final_module()  # type: ignore[no-untyped-call]


class _IntoLibrary(compiler_machinery.FunctionPass):
    kind: type[codegen.JITCodeLibrary]

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def run_pass(self, state: Any) -> bool:
        library = self.kind(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()  # type: ignore[no-untyped-call]
        state.library = library
        return False


def _compiler_into(library: type[codegen.JITCodeLibrary]) -> type[compiler.CompilerBase]:
    """Return a compiler whose code goes into a library of this kind."""

    @compiler_machinery.register_pass(mutates_CFG=False, analysis_only=True)  # type: ignore[no-untyped-call]
    class Into(_IntoLibrary):
        _name = f"fedsched_into{library.__name__}"
        kind = library

    class Compiler(compiler.CompilerBase):
        def define_pipelines(self) -> list[Any]:
            passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
            passes.add_pass_after(Into, typed_passes.NopythonTypeInference)
            passes.finalize()
            return [passes]

    return Compiler


_FOR_KERNELS, _FOR_PARTS, _FOR_PARTS_APART = map(_compiler_into, (_KernelLibrary, _PartLibrary, _ApartLibrary))


def _compiled(function: F, into: type[compiler.CompilerBase], *, inlined: bool = False) -> F:
    def compiled(cache: bool) -> F:
        return numba.njit(  # type: ignore[call-overload, no-any-return]
            function,
            cache=cache,
            nogil=True,
            error_model="numpy",
            # No kernel allocates, so none needs reference counts; counting made each call twenty times dearer.
            _nrt=False,
            no_cfunc_wrapper=True,
            no_cpython_wrapper=into is not _FOR_KERNELS,
            forceinline=inlined,
            pipeline_class=into,
        )

    if _FOLDER is None:
        return compiled(cache=False)
    with _caching_in(_folder_of(_FOLDER, Path(function.__code__.co_filename))):
        return compiled(cache=True)


def kernel(function: F) -> F:
    """Return the function compiled, callable from Python: no GIL, numpy's division, cached where possible."""
    return _compiled(function, _FOR_KERNELS)


def part(function: F) -> F:
    """Return the function compiled as a part of kernels, called by them only: one function in each of them."""
    return _compiled(function, _FOR_PARTS_APART)


def step(function: F) -> F:
    """Return the function compiled as a part of kernels, and into its callers where that seems to be worth it."""
    return _compiled(function, _FOR_PARTS)


def inlined(function: F) -> F:
    """Return the function compiled into each of its callers: for the small steps of hot loops."""
    return _compiled(function, _FOR_PARTS, inlined=True)


def constant(value: int) -> int:
    """Return a whole number that kernels may hand to kernels: numba compiles once more for each Python literal."""
    return cast("int", np.int64(value))


def flag(value: bool) -> bool:
    """Return a truth value that kernels may hand to kernels, for the same reason."""
    return cast("bool", np.bool_(value))


def folder_in_use() -> Path | None:
    """Return where compiled code is kept, or None where every process compiles for itself."""
    return _FOLDER


class _Counted(event.Listener):
    # Numba tells of what it compiles, not of what it finds in the cache. Others' functions are none of ours.
    def on_start(self, event: Any) -> None:
        if _is_ours(event):
            compilation.begun()

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            compilation.ended()


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("fedsched.")


event.register("numba:compile", _Counted())  # type: ignore[no-untyped-call]
