"""How the package's kernels are compiled, called, kept and found again.

In come functions under `@kernel` (called from Python), `@part` (called by compiled code) and `@inlined` (compiled into
each caller), and classes of tuples under `@by_reference`. Out come compiled functions. Only this folder builds on numba
from inside; on a numba that it does not know, everything is compiled by numba's plain `njit`.
"""

from fedsched.core.jit.decorators import constant, flag, folder_in_use, inlined, kernel, part
from fedsched.core.jit.structs import by_reference, unless_none

__all__ = ["by_reference", "constant", "flag", "folder_in_use", "inlined", "kernel", "part", "unless_none"]
