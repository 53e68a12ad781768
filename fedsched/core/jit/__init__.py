"""The just-in-time compiler of the package's kernels: how they are compiled, called, cached and loaded.

It takes functions under `@kernel` (called from Python), `@part` (called by compiled code) and `@inlined` (compiled into
each caller), and classes of tuples under `@by_reference`. It returns compiled functions. Only this folder uses numba's
internals; if the version of numba is unknown to it, numba's plain `njit` compiles everything.
"""

from fedsched.core.jit.decorators import constant, flag, folder_in_use, inlined, kernel, part, unused_folder
from fedsched.core.jit.structs import by_reference, only_if_none, row, unless_none, with_fields

__all__ = [
    "by_reference", "constant", "flag", "folder_in_use", "inlined", "kernel", "only_if_none", "part", "row",
    "unless_none", "unused_folder", "with_fields",
]  # fmt: skip
