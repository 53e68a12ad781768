"""Code generation for reading and writing items of arrays: a few instructions each, instead of numba's about forty.

Results equal numba's, also for negative indices. Numba itself handles all that is not one item of an array of numbers
in C order, and everything if indices are checked.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, compiler_machinery, config, lowering, typed_passes, types
from numba.np import arrayobj

DATA, SHAPE = 4, 5  # positions of fields in an array's struct
_SETTINGS: Any = config


class _Lower(lowering.Lower):
    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        array, kind = self.typeof(value.name), self.typeof(index.name)
        if not _plain(array, kind):
            return super().lower_getitem(resty, expr, value, index, signature)  # type: ignore[no-untyped-call]
        place = self._place(array, value, kind, index)
        item = arrayobj.load_item(self.context, self.builder, array, place)  # type: ignore[no-untyped-call]
        return self.context.cast(self.builder, item, array.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        array, kind = self.typeof(target_var.name), self.typeof(index_var.name)
        stored = self.typeof(value_var.name)
        if not _plain(array, kind) or not isinstance(stored, _NUMBERS):
            return super().lower_setitem(target_var, index_var, value_var, signature)  # type: ignore[no-untyped-call]
        value = self.context.cast(self.builder, self.loadvar(value_var.name), stored, array.dtype)
        place = self._place(array, target_var, kind, index_var)
        return arrayobj.store_item(self.context, self.builder, array, value, place)  # type: ignore[no-untyped-call]

    def _place(self, array: Any, of: Any, kind: Any, index: Any) -> Any:
        """Generate instructions that compute the address of an array's item, and return it; indices may be negative."""
        b, struct, indices = self.builder, self.loadvar(of.name), self.loadvar(index.name)
        kinds = (kind,) if isinstance(kind, types.Integer) else kind.types
        values = [indices] if isinstance(kind, types.Integer) else cgutils.unpack_tuple(b, indices, len(kinds))
        at = None
        for axis, (each, value) in enumerate(zip(kinds, values, strict=True)):
            size = b.extract_value(struct, [SHAPE, axis])
            k = self.context.cast(b, value, each, types.intp)
            if each.signed and not (isinstance(k, ir.Constant) and k.constant >= 0):
                k = b.select(b.icmp_signed("<", k, k.type(0)), b.add(k, size), k)
            at = k if at is None else b.add(b.mul(at, size, flags=["nsw"]), k, flags=["nsw"])
        return b.gep(b.extract_value(struct, DATA), [at], inbounds=True)


_NUMBERS = (types.Integer, types.Float, types.Boolean)


def _plain(array: Any, index: Any) -> bool:
    """Return whether whole numbers index one item of an array of numbers in C order; False if numba checks bounds."""
    kinds: Any = (index,) if isinstance(index, types.Integer) else getattr(index, "types", ())
    return (
        type(array) is types.Array and array.layout == "C" and isinstance(array.dtype, _NUMBERS) and array.aligned
        and len(kinds) == array.ndim and all(isinstance(kind, types.Integer) for kind in kinds)
        and not _SETTINGS.BOUNDSCHECK
    )  # fmt: skip


@compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class Lowering(typed_passes.BaseNativeLowering):
    """Numba's compiler pass that generates LLVM instructions, but with fewer of them for items of arrays."""

    _name = "fedsched_lowering"  # type: ignore[assignment]

    @property
    def lowering_class(self) -> Any:
        """Return the class that generates the instructions."""
        return _Lower
