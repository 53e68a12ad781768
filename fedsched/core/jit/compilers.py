"""Numba's compiler pipeline as the lean way sets it: which code goes into which library, with which passes of LLVM.

Only this module uses the internals of numba's compiler; `backend` lists the tested versions.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba.core import codegen, compiler, compiler_machinery, errors, typed_passes, types
from numba.core import ir as numba_ir

from fedsched.core.jit import items, shortcuts, slots

# Passes of numba that have no effect on code without closures, with-blocks, generators and parallel loops.
NEEDLESS = {
    "WithLifting", "InlineClosureLikes", "RewriteDynamicRaises", "MakeFunctionToJitFunction", "InlineInlinables",
    "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass", "InlineOverloads",
    "DumpParforDiagnostics", "AnnotateTypes",
}  # fmt: skip


class Library(codegen.JITCodeLibrary):
    """The machine code of one function and of the functions compiled into it."""

    lean = True  # its code may read slots

    def add_ir_module(self, module: Any) -> None:
        """Remove loads of values without use from the code that numba generated, then add the code to the library."""
        _drop_unused_loads(module)
        super().add_ir_module(module)  # type: ignore[no-untyped-call]

    def finalize(self) -> None:
        """Translate the code to machine code; note the slots that it reads, which must exist when the code is reloaded.

        A slot is a pointer through which the code calls another function.
        """
        super().finalize()  # type: ignore[no-untyped-call]
        self._reload_init.update(slots.needed_by(self._final_module))

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == binding.Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = "internal"
        # Vectorised and unrolled loops gain nothing here, and numba's first, cheap round of passes only costs time.
        options = binding.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = False
        options.loop_unrolling = options.loop_interleaving = False
        builder = binding.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class InlinedLibrary(Library):
    """The code of a function that is compiled into its callers: LLVM code for them, and no machine code of its own."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        whole = self._final_module
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        # Numba writes to these symbols when a function is compiled or loaded, so they must exist in machine code.
        names = [one.name for one in whole.global_variables if one.name.startswith("_ZN08NumbaEnv")]
        empty = str(self._codegen._create_empty_module(self.name))  # type: ignore[no-untyped-call]
        lines = [empty, *(f'@"{name}" = common global ptr null' for name in names)]
        self._final_module = binding.parse_assembly("\n".join(lines))
        super()._finalize_final_module()  # type: ignore[no-untyped-call]
        self._final_module = whole


def _drop_unused_loads(module: Any) -> None:
    for function in module.functions:
        used: set[int] = set()
        for block in function.blocks:
            for one in block.instructions:
                used.update(map(id, getattr(one, "operands", ())))
                if isinstance(one, ir.PhiInstr):
                    used.update(id(value) for value, _ in one.incomings)
        for block in function.blocks:
            kept = [one for one in block.instructions if not (isinstance(one, ir.LoadInstr) and id(one) not in used)]
            block.instructions[:] = kept


class _IntoLibrary(compiler_machinery.FunctionPass):
    kind: type[Library]

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def run_pass(self, state: Any) -> bool:
        _check_returned(state)
        state.func_id.unique_id = 0  # part of symbols' names, which must be the same in each process
        library = self.kind(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()  # type: ignore[no-untyped-call]
        state.library = library
        return False


def _check_returned(state: Any) -> None:
    """Raise a TypingError if a function returns a type unlike its annotation: numba would convert it silently."""
    for block in state.func_ir.blocks.values():
        end = block.terminator
        if isinstance(end, numba_ir.Return):
            found = types.unliteral(state.typemap[state.func_ir.get_definition(end.value).value.name])
            if not _holds(state.return_type, found):
                raise errors.TypingError(f"It returns {found}, but its annotation says {state.return_type}.", end.loc)


def _holds(promised: Any, found: Any) -> bool:
    if promised == types.int64:
        return isinstance(found, types.Integer | types.Boolean | types.IntEnumMember) and found != types.uint64
    return promised != types.boolean or isinstance(found, types.Boolean)


def _compiler_into(library: type[Library]) -> type[compiler.CompilerBase]:
    """Return a numba compiler class that puts its code into libraries of this class, and leaves out needless passes."""

    @compiler_machinery.register_pass(mutates_CFG=False, analysis_only=True)  # type: ignore[no-untyped-call]
    class Into(_IntoLibrary):
        _name = f"fedsched_into{library.__name__}"
        kind = library

    class Compiler(compiler.CompilerBase):
        def compile_extra(self, func: Any) -> Any:
            with shortcuts.taken():
                return super().compile_extra(func)  # type: ignore[no-untyped-call]

        def define_pipelines(self) -> list[Any]:
            passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
            passes.add_pass_after(Into, typed_passes.NopythonTypeInference)
            passes.passes[:] = _needed(passes.passes)
            passes.finalize()
            return [passes]

    return Compiler


def _needed(passes: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    kept: list[tuple[Any, str]] = []
    for one, text in passes:
        name = one.__name__ if isinstance(one, type) else type(one).__name__
        pruned_before = name == "DeadBranchPrune" and any(getattr(other, "__name__", "") == name for other, _ in kept)
        if name not in NEEDLESS and not pruned_before:
            kept.append((items.Lowering if one is typed_passes.NativeLowering else one, text))
    return kept


INTO_OWN, INTO_CALLERS = map(_compiler_into, (Library, InlinedLibrary))
