"""Conversion of users' arguments to workloads and federations, for all public functions.

A path means the content of its file, a table of columns its jobs, a number of nodes one cluster of them. Anything else
is refused in one line that names the argument, its value, and a call that works.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

from fedsched.core.errors import TraceError, shown
from fedsched.core.text import one_line
from fedsched.core.values import digits_of, whole
from fedsched.model.jobs.job import Job
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import MOST_NODES, Cluster, Federation, NodeGroup

if TYPE_CHECKING:
    import pandas as pd

    AnyJobs: TypeAlias = Workload | str | PathLike[str] | pd.DataFrame | Sequence[Job]
    AnyMachine: TypeAlias = Federation | Cluster | NodeGroup | Sequence[Cluster] | int | str | PathLike[str]

Noun = TypeVar("Noun")
_OF_JOBS = "a Workload, a file of one ('log.swf'), or a table with the columns submit, tasks and runtime"
_OF_NODES = "a Federation, as Federation.of(64, 128), a file of one ('site.toml'), or a number of nodes"


def nouns_of(
    call: str, workload: object, federation: object, *, second: str, may_be_left_out: bool = False
) -> tuple[Workload, Federation]:
    """Return a call's first two arguments as a workload and a federation; raise a TypeError if they are swapped.

    A machine that may be left out, and is None, is one cluster of the log's own number of nodes; raise a TraceError if
    the log does not say it. `call` is the function's name, and `second` its name for the argument with the machine;
    both are for errors.
    """
    if isinstance(workload, Workload) and isinstance(federation, Federation):
        return workload, federation
    if _is_machine(workload) and _is_jobs(federation):
        raise TypeError(
            f"{call}: workload={_shown(workload)} is a machine, and {second}={_shown(federation)} are jobs; "
            f"the jobs come first: {call}(workload, {second})."
        )
    jobs = workload_of(call, "workload", workload)
    if federation is None and may_be_left_out:
        if not jobs.nodes:
            why = "does not say how many nodes its machine has"
            raise TraceError(f"{call}: {one_line(jobs.name)}: the log {why}; give it, as {second}=64.")
        federation = jobs.nodes
    return jobs, federation_of(call, second, federation)


def noun_of(call: str, field: str, given: object, kind: type[Noun], give: str) -> Noun:
    """Return an argument unchanged; raise a TypeError if it is not of the class `kind`.

    `call`, `field` and `give` are for the error: the function, the argument's name, and what to give instead.
    """
    if not isinstance(given, kind):
        raise TypeError(f"{call}: {field}={_shown(given)} is no {kind.__name__}; give {give}.")
    return given


def workload_of(call: str, field: str, given: object) -> Workload:
    """Return an argument as a workload; it may be one, the path of its file, a pandas table, or a sequence of `Job`s.

    Raise a TypeError for anything else; `call` and `field` name the function and the argument in it.
    """
    if isinstance(given, Workload):
        return given
    if isinstance(given, str | PathLike):
        from fedsched.io import read

        return read(given)
    if _is_table(given):
        return Workload.from_frame(given)
    if _is_row_of(given, Job):
        return Workload.from_jobs(given)
    raise TypeError(f"{call}: {field}={_shown(given)} is no table of jobs; give {_OF_JOBS}.")


def federation_of(call: str, field: str, given: object) -> Federation:
    """Return an argument as a federation; it may be one, its file's path, clusters, a node group or a number of nodes.

    Raise a TypeError for anything else; `call` and `field` name the function and the argument in it.
    """
    if isinstance(given, Federation):
        return given
    if isinstance(given, NodeGroup):
        given = Cluster("cluster", (given,))
    if isinstance(given, Cluster):
        return Federation((given,), name=given.name)
    if isinstance(given, str | PathLike):
        from fedsched.io import read_federation

        if isinstance(given, str) and digits_of(given) and not Path(given).exists():
            raise TypeError(
                f"{call}: {field}={given!r} is a string; for a machine of {given} nodes, pass the number: "
                f"{field}={given}."
            )
        return read_federation(given)
    if _is_whole(given):
        return Federation.homogeneous(whole(call, field, given, least=1, most=MOST_NODES))
    if _is_row_of(given, Cluster):
        return Federation(tuple(given))
    raise TypeError(f"{call}: {field}={_shown(given)} is no machine; give {_OF_NODES}.")


def _is_jobs(given: object) -> bool:
    from fedsched.io import FORMATS

    return isinstance(given, Workload) or _is_table(given) or _is_row_of(given, Job) or _suffix(given) in FORMATS


def _is_machine(given: object) -> bool:
    nouns = isinstance(given, Federation | Cluster | NodeGroup) or _is_row_of(given, Cluster)
    return nouns or _is_whole(given) or _suffix(given) in (".toml", ".xml", ".conf")


def _is_table(given: Any) -> bool:
    pandas = sys.modules.get("pandas")  # a caller with a pandas table has imported pandas
    return pandas is not None and isinstance(given, pandas.DataFrame)


def _is_row_of(given: object, kind: type[Noun]) -> TypeGuard[Sequence[Noun]]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        return False
    return len(given) > 0 and all(isinstance(one, kind) for one in given)


def _is_whole(given: Any) -> bool:
    try:
        operator.index(given)
    except TypeError:
        return False
    return not isinstance(given, bool)


def _suffix(given: object) -> str:
    from fedsched.io import plain_suffix

    return plain_suffix(fspath(given)) if isinstance(given, str | PathLike) else ""


def _shown(given: object) -> str:
    """Return an argument for a message: machines by class and size, other values as Python writes them."""
    if isinstance(given, Federation | Cluster | NodeGroup):
        return f"<{type(given).__name__} of {given.count if isinstance(given, NodeGroup) else given.nodes} nodes>"
    if _is_table(given):
        return "<DataFrame>"
    return shown(given)
