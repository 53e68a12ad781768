"""Support for former names of modules, methods and attributes: they still work, with a DeprecationWarning."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

NOW = {
    "compilation": "core.compilation",
    "instances": "bench",
    "io.calendar": "io.tables.downtimes",
    "io.node_use": "io.tables.node_use",
    "io.slurm_conf": "io.slurm_files.slurm_conf",
    "model.machine.notes": "model.jobs.assumed",
    "io.slurm_files.sacct_machine": "io.slurm_files.sacct",
    "io.slurm_files.sshare": "io.slurm_files.accounts",
    "io.sshare": "io.slurm_files.accounts",
    "outlook": "site.outlook",
    "plot.saving": "plot.style",
    "scenario": "study.scenario",
    "search.fuzzy": "search.methods.mpso_fga",
    "search.methods.fuzzy": "search.methods.mpso_fga",
    "slurm.associations": "slurm.priority.associations",
    "slurm.priority_parameters": "slurm.priority.priority_parameters",
    "slurm.queue_dump": "slurm.result.queue_dump",
    "slurm.sprio": "slurm.priority.sprio",
    "twin": "site.twin",
}


class _Moved:
    # A finder and a loader; the base classes for these would make `import fedsched` load more modules.
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Every import of the process comes here, so most are answered at once.
        if not fullname.startswith("fedsched.") or not _new_name(fullname):
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(fullname, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that the import system makes the module."""

    def exec_module(self, module: ModuleType) -> None:
        import warnings

        name = module.__name__
        new = _new_name(name)
        sys.modules[name] = import_module(new)
        warnings.warn(f"{name} is now {new}; import it from there.", DeprecationWarning, stacklevel=2)


class Renamed:
    """A class attribute for a renamed method or property: `old = Renamed("new")`.

    Reading `old` gives a DeprecationWarning and returns the attribute `new`.
    """

    def __init__(self, new: str) -> None:
        self.new, self.old = new, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, one: object, owner: type) -> Any:
        import warnings

        warnings.warn(f"{owner.__name__}.{self.old} is now {self.new}; use that.", DeprecationWarning, stacklevel=2)
        return getattr(owner if one is None else one, self.new)


def _new_name(name: str) -> str:
    """Return the full new name of a moved module, or of a module within a moved package; "" if it has not moved."""
    for old, new in NOW.items():
        if name == f"fedsched.{old}" or name.startswith(f"fedsched.{old}."):
            return f"fedsched.{new}{name.removeprefix(f'fedsched.{old}')}"
    return ""


def install() -> None:
    """Register an import finder, once, by which imports find modules by their former names."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Moved())


def former_names(package: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for a package, which gives its renamed attributes with a DeprecationWarning.

    `names` maps each former name to the new one; any other name raises an AttributeError.
    """

    def get(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import warnings

        warnings.warn(f"{package}.{name} is now {package}.{names[name]}.", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[package], names[name])

    return get
