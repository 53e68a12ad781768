"""Shortcuts through numba's front end: they return what numba's own functions do, and end with our own compiling."""

from __future__ import annotations

import gc
import operator
from typing import Any

import pytest
from llvmlite import ir as llvm
from numba.core import ir
from numba.core.compiler import Flags, run_frontend
from numba.core.registry import cpu_target
from numba.core.targetconfig import TargetConfig
from numba.core.types import float64, int64

from fedsched.core.jit import shortcuts

pytestmark = pytest.mark.compiled


def in_force() -> list[Any]:
    """Return what numba has in the places of all shortcuts."""
    return [getattr(owner, name) for owner, name, _ in shortcuts._INSTEAD]


def test_numba_is_as_before_after_an_error() -> None:
    """Numba's functions and the collection of garbage come back, and only at the end of the outermost block."""
    before = in_force()

    def failing() -> None:
        with shortcuts.taken():
            with shortcuts.taken():
                assert not gc.isenabled()
            assert in_force() == [shortcut for _, _, shortcut in shortcuts._INSTEAD]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert in_force() == before
    assert gc.isenabled()


def sample(a: Any, b: int) -> Any:
    for k in range(b):
        if a[k] > b or (k, b) in ((1, 2), a):
            a[k, 1] = {"x": max(a[k], b)}
    return a[-1].real


def test_variables_of_statements_are_numbas() -> None:
    """Each statement and expression names the variables that numba finds in it."""
    statements = [one for block in run_frontend(sample).blocks.values() for one in block.body]
    values = [one.value for one in statements if isinstance(one, ir.Assign) and isinstance(one.value, ir.Expr)]
    assert len(statements) > 40
    for one in (*statements, *values):
        assert shortcuts._variables(one) == one.list_vars()


def test_settings_are_the_same_when_their_values_are() -> None:
    """Two sets of options are equal, and hash alike, where numba says so."""

    def made(**values: bool) -> Flags:
        flags = Flags()
        for name, value in values.items():
            setattr(flags, name, value)
        return flags

    several = [made(), made(nrt=False), made(nrt=True), made(nrt=True, no_compile=True), made(no_compile=False)]
    for one in several:
        assert shortcuts._settings_hash(one) == hash(one)
        for other in several:
            assert shortcuts._same_settings(one, other) == TargetConfig.__eq__(one, other)


@pytest.mark.parametrize("args", [(int64, int64), (int64, float64), (float64, float64)])
def test_types_of_calls_are_numbas_the_second_time_too(args: Any) -> None:
    """A sum has the type that numba gives it, whether it was asked before or not."""
    context = cpu_target.typing_context
    context.refresh()
    add = context.resolve_value_type(operator.add)
    asked = [shortcuts._known_call_type(add, context, args, {}) for _ in range(2)]
    assert asked == [add.get_call_type(context, args, {})] * 2


def test_sizes_of_types_are_llvms() -> None:
    """A type has one size, and another type another."""
    target = cpu_target.target_context.codegen().target_data
    types = [llvm.IntType(8), llvm.LiteralStructType([llvm.IntType(8), llvm.DoubleType()]), llvm.DoubleType()]
    asked = shortcuts._once(llvm.Type.get_abi_size)
    assert [asked(one, target) for one in (*types, *types)] == [1, 16, 8] * 2
