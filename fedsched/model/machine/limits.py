"""Limits: how many jobs, nodes and CPUs a user, account, QOS or partition may use at a time [43]."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FederationError, shortened, unknown_name
from fedsched.core.text import one_line
from fedsched.core.values import is_number
from fedsched.model.jobs.labels import distinct
from fedsched.model.jobs.validation import check_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

COUNTED = ("jobs", "nodes", "cpus")
LIMITED_BY = ("user", "account", "qos", "partition")
MOST = 2**31 - 1  # of a limit: sums stay exact


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on what each user (or account, QOS, partition) uses at a time.

    Jobs that would exceed it wait without blocking other jobs.

    Parameters
    ----------
    of
        "user" (by the jobs' label "user", else the number `user`), or "account", "qos", "partition" (by their labels).
        Jobs without that label have no limit.
    jobs, nodes, cpus
        The most jobs that run at a time, and the most nodes and CPUs that they hold together; give at least one. A
        job's CPUs are the CPUs that it demands of each of its nodes, one per node by default.
    names
        The users (by name or number), accounts, ... with this limit; none (default) = each of them has it.

    Examples
    --------
    >>> one_each = fs.Limit("user", jobs=1)
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(4),)),), limits=(one_each,))
    >>> jobs = fs.Workload(submit=[0, 0, 0], tasks=[1, 1, 1], runtime=[60, 60, 60], user=[7, 7, 8])
    >>> fs.simulate(jobs, machine).start
    array([ 0., 60.,  0.])
    """

    of: str
    jobs: int | None = None
    nodes: int | None = None
    names: tuple[str, ...] = ()
    cpus: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.of not in LIMITED_BY:
            raise FederationError(str(unknown_name("Limit: of", self.of, LIMITED_BY)))
        if all(value is None for _, value in self.most):
            raise FederationError(f"{self.where}: it limits nothing; give {'= or '.join(COUNTED)}=.")
        for counted, value in self.most:
            if value is not None and (not is_number(value) or int(value) != value or not 1 <= value <= MOST):
                raise FederationError(
                    f"{self.where}: {counted}={shortened(repr(value))} must be a whole number of at least 1, and at "
                    f"most {MOST}."
                )
        names = self.names if isinstance(self.names, list | tuple) else (self.names,)
        object.__setattr__(self, "names", tuple(str(name) for name in names))
        try:
            check_labels(f"{self.where}: name", self.names)
        except ValueError as error:
            raise FederationError(str(error)) from None

    @property
    def where(self) -> str:
        """Return how errors call the limit: "Limit of 'user'"."""
        return f"Limit of {self.of!r}"

    @property
    def most(self) -> tuple[tuple[str, int | None], ...]:
        """Return pairs of what is counted ("jobs", "nodes", "cpus") and the most of it; None = unlimited."""
        return tuple((field, getattr(self, field)) for field in COUNTED)

    @property
    def by_shape(self) -> str:
        """Return "nodes" if the limit counts nodes, else "CPUs" if it counts CPUs, else "".

        What a job uses of these depends on its shape.
        """
        return "nodes" if self.nodes is not None else "CPUs" if self.cpus is not None else ""

    def __str__(self) -> str:
        most = [f"{value:,} {'CPUs' if what == 'cpus' else what}" for what, value in self.most if value is not None]
        whose = ", ".join(map(one_line, self.names)) if self.names else f"each {self.of}"
        return f"{whose}: at most {' and '.join(most)} at a time"


def without_node_limits(federation: Federation) -> Federation:
    """Return the federation with its limits on nodes removed; limits on jobs and CPUs stay."""
    if all(limit.nodes is None for limit in federation.limits):
        return federation
    others = (limit for limit in federation.limits if limit.jobs is not None or limit.cpus is not None)
    return replace(federation, limits=tuple(dict.fromkeys(replace(limit, nodes=None) for limit in others)))


def check_limits(federation: str, limits: tuple[Limit, ...]) -> None:
    """Raise if an item of a federation's limits is not a `Limit`, or occurs twice."""
    for k, limit in enumerate(limits):
        if not isinstance(limit, Limit):
            raise FederationError(f"Federation {federation!r}: limits={limit!r} must be a Limit.")
        if limit in limits[:k]:
            raise FederationError(f"Federation {federation!r}: the limit of {limit} occurs twice; give it once.")


def users_of(workload: Workload) -> NDArray[np.object_]:
    """Return each job's user: its label "user", else the user's number; "" if unknown."""
    names = workload.label("user")
    return np.where(names == "", _numbers(workload), names)


def _numbers(workload: Workload) -> NDArray[np.object_]:
    return np.where(workload.user < 0, "", workload.user.astype(np.str_)).astype(object)


def names_limited_by(workload: Workload, federation: Federation, of: str) -> NDArray[Any]:
    """Return each job's user, account, QOS or partition, as `of` says; '' if it has none.

    A job that names no partition is in the default partition, if there is one.
    """
    if of == "user":
        return users_of(workload)
    texts = workload.label(of)
    usual = next((one.name for one in federation.partitions if one.default), "") if of == "partition" else ""
    return np.where(texts == "", usual, texts) if usual else texts  # jobs without one are in the default partition [37]


def limited_names(limit: Limit, workload: Workload, federation: Federation) -> NDArray[Any]:
    """Return, for each job, the name of the user, account, QOS or partition by which this limit binds it.

    '' for jobs that the limit does not bind.
    """
    whose = names_limited_by(workload, federation, limit.of)
    if not limit.names:
        return whose
    bound = _among(whose, limit.names)
    if limit.of == "user":
        bound |= _among(_numbers(workload), limit.names)
    return np.where(bound, whose, "")


def _among(texts: NDArray[Any], names: tuple[str, ...]) -> NDArray[np.bool_]:
    found, which = distinct(texts)
    return np.array([one in names for one in found], dtype=np.bool_)[which]


def limits_without_jobs(workload: Workload, federation: Federation) -> list[str]:
    """Return a text for each limit that binds no job here, or has names of users, accounts, … that no job has."""
    said = []
    for limit in federation.limits:
        there = set(distinct(names_limited_by(workload, federation, limit.of))[0]) - {""}
        numbers = set(distinct(_numbers(workload))[0]) if limit.of == "user" else set()
        away = [name for name in limit.names if name not in there | numbers]
        if not there or away:
            reason = ", ".join(map(repr, map(one_line, away[:5]))) if there else f"no job says its {limit.of}"
            said.append(f"a limit of {limit.of} that applies to no job ({reason})")
    return said
