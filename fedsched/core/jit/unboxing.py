"""Conversion of Python's tuples to structs: one function for each type, compiled once and not into each kernel."""

from __future__ import annotations

import functools
import pickle
from pathlib import Path
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.pythonapi import NativeValue
from numba.core.registry import cpu_target
from numba.np.numpy_support import as_dtype

from fedsched.core.jit import cache, slots

_INT, _OBJECT = ir.IntType(32), ir.IntType(8).as_pointer()
_ITEMSIZE = 3  # position of a field in an array's struct
_LIBRARIES: list[Any] = []


def unbox(reference: Any, tuple_: Any, c: Any) -> NativeValue:
    """Generate code that copies a Python tuple's items to a struct on the stack.

    Return the pointer to the struct, with a flag that is true if an item has a wrong type.
    """
    kept = cgutils.alloca_once(c.builder, c.context.data_model_manager[reference].fields)
    return NativeValue(kept, is_error=cgutils.is_not_null(c.builder, _filled(c.builder, reference, tuple_, kept)))


def _filled(builder: Any, reference: Any, tuple_: Any, into: Any) -> Any:
    slot = slots.slot(
        f"{slots.PREFIX}unbox.{reference.name}",
        lambda: functools.partial(_address_of, pickle.dumps(reference)),
        at_once=True,
    )
    kind = ir.FunctionType(_INT, [_OBJECT, _OBJECT])
    return builder.call(slots.address(builder, slot, kind), [tuple_, builder.bitcast(into, _OBJECT)])


def _address_of(pickled: bytes) -> int:
    reference = pickle.loads(pickled)
    context = cpu_target.target_context
    context.refresh()
    codegen = context.codegen()
    name = f"fedsched_unbox_{reference.name}"
    kept = f"unbox.{reference.name} {cache.text_of(Path(__file__))}"
    found = cache.read(kept, codegen.magic_tuple())
    if found is None:
        library = codegen.create_library(name)
        library.enable_object_caching()
        module = library.create_ir_module(name)
        _generate(context, module, name, reference)
        library.add_ir_module(module)
        library.finalize()
        needed = slots.needed_by(library._final_module)
        cache.write(kept, codegen.magic_tuple(), (needed, library.serialize_using_object_code()))
    else:
        needed, kept_library = found
        for one in needed:
            one()
        library = codegen.unserialize_library(kept_library)
    _LIBRARIES.append(library)
    return int(library.get_pointer_to_function(name))


def _generate(context: Any, module: Any, name: str, reference: Any) -> None:
    """Generate a function that fills a struct with a tuple's items, in an LLVM module.

    It returns 0 if all items have the right type; otherwise another number, and it sets a TypeError.
    """
    model = context.data_model_manager[reference]
    function = ir.Function(module, ir.FunctionType(_INT, [_OBJECT, _OBJECT]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    tuple_, into = function.args[0], builder.bitcast(function.args[1], model.fields.as_pointer())
    api = context.get_python_api(builder)
    wrong = _INT(0)
    for k, (member, field) in enumerate(zip(reference.members, model.of_fields, strict=True)):
        item, place = api.tuple_getitem(tuple_, k), cgutils.gep_inbounds(builder, into, 0, k)
        if isinstance(member, type(reference)):
            wrong = builder.or_(wrong, _filled(builder, member, item, place))
        elif isinstance(member, types.Array):
            failed = api.numba_array_adaptor(item, builder.bitcast(place, _OBJECT))
            itemsize = builder.load(cgutils.gep_inbounds(builder, place, 0, _ITEMSIZE))
            other = builder.icmp_unsigned("!=", itemsize, itemsize.type(as_dtype(member.dtype).itemsize))
            wrong = builder.or_(wrong, builder.zext(builder.or_(cgutils.is_not_null(builder, failed), other), _INT))
        else:
            native = api.to_native_value(member, item)
            builder.store(field.as_data(builder, native.value), place)
            wrong = builder.or_(wrong, builder.zext(native.is_error, _INT))
    with builder.if_then(cgutils.is_not_null(builder, wrong), likely=False):
        api.err_set_string("PyExc_TypeError", f"{reference.of.__name__}: an item of another type")
    builder.ret(wrong)
