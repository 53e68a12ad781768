"""Resources of nodes by name, in whole numbers, and what each node of a job must have: cores, memory, GPUs [50]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FederationError
from fedsched.core.text import counted, one_line
from fedsched.core.values import is_number
from fedsched.model.jobs.amounts import JobAmounts
from fedsched.model.jobs.validation import check_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation, NodeGroup

MOST = 2**53  # of one resource of one node


class NodeDemands(JobAmounts):
    """How much of each resource every node of a job must have."""

    __slots__ = ()
    PREFIX = "demand."
    FIELD, OF, WHAT = "demand", "resource", "what each node must have"

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return, in words, which demands have no effect because no node states how much it has."""
        known = counted_on(federation)
        return [
            f"{counted(jobs, 'job')} with a demand of {one_line(name)!r} (the machine's nodes do not say)"
            for name, jobs in self.jobs_with().items()
            if name not in known and jobs
        ]


def checked_resources(given: Mapping[str, int] | Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return a node's resources as pairs of name and amount; raise if they are invalid."""
    pairs = tuple(given.items()) if isinstance(given, Mapping) else _pairs(given)
    try:
        check_labels("NodeGroup: resource", (name for name, _ in pairs))
    except ValueError as error:
        raise FederationError(str(error)) from None
    for name, amount in pairs:
        if not is_number(amount) or int(amount) != amount or not 0 <= amount <= MOST:
            raise FederationError(
                f"NodeGroup: resources[{name!r}]={amount!r} must be a whole number of at least 0 (memory in MiB)."
            )
    return tuple((name, int(amount)) for name, amount in pairs)


def _pairs(given: Any) -> tuple[tuple[str, int], ...]:
    try:
        return tuple((name, amount) for name, amount in given)
    except (TypeError, ValueError):
        raise FederationError(
            f"NodeGroup: resources={given!r} must give numbers by name: {{'cpu': 40, 'memory': 187000, 'gpu': 2}}."
        ) from None


def counted_on(federation: Federation) -> frozenset[str]:
    """Return the resources that at least one node states."""
    return frozenset(name for group in federation.groups for name, _ in group.resources)


def demands_on(workload: Workload, federation: Federation) -> dict[str, NDArray[np.int64]]:
    """Return, by resource, what each node of a job must have; only resources that this federation's nodes state."""
    if workload.demand is None:
        return {}
    known = counted_on(federation)
    return {name: column for name, column in workload.demand.columns().items() if name in known}


def have_resources(demands: Mapping[str, NDArray[np.int64]], groups: Sequence[NodeGroup]) -> NDArray[np.bool_]:
    """Return jobs × groups: whether a group's nodes have what every node of the job must have."""
    enough = [
        column[:, None] <= np.array([dict(group.resources).get(name, 0) for group in groups])
        for name, column in demands.items()
    ]
    return np.asarray(np.logical_and.reduce(enough), dtype=np.bool_)


def in_words(demands: Mapping[str, NDArray[np.int64]], row: int) -> str:
    """Return the demand on each node of a job in words: memory 250000, gpu 2."""
    return ", ".join(f"{one_line(name)} {column[row]}" for name, column in demands.items() if column[row])
