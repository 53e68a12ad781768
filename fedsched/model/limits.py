"""Limits: how much somebody may have at a time, and how many tasks of an array run together [43]."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.errors import FederationError, InfeasibleError, shortened, unknown_name
from fedsched.model.texts import distinct
from fedsched.model.validation import check_labels
from fedsched.text import one_line
from fedsched.values import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload

COUNTED = ("jobs", "nodes", "cpus")
WHOSE = ("user", "account", "qos", "partition")
MOST = 2**31 - 1  # of a limit: sums stay exact
_ARRAY = re.compile(r"(.+)%(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Limit:
    """How much each user, or whoever else, may have at a time; whose limit is full waits without holding up others.

    Parameters
    ----------
    of
        "user" (by the jobs' `user`), or "account", "qos", "partition" (by their labels). Jobs that say none have no
        limit.
    jobs, nodes, cpus
        The most jobs that run at a time, and the most nodes, and CPUs, that they have together; give at least one. The
        CPUs of a job are those that it demands of each of its nodes, one where it says nothing of them.
    names
        Whose limit it is; none (default) = that of each.
    """

    of: str
    jobs: int | None = None
    nodes: int | None = None
    names: tuple[str, ...] = ()
    cpus: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.of not in WHOSE:
            raise FederationError(str(unknown_name("Limit: of", self.of, WHOSE)))
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
        """Return what errors call it."""
        return f"Limit of {self.of!r}"

    @property
    def most(self) -> tuple[tuple[str, int | None], ...]:
        """Return how much of each one may have; None where that is not said."""
        return tuple((field, getattr(self, field)) for field in COUNTED)

    @property
    def by_shape(self) -> str:
        """Return what of it depends on the shapes that jobs have; empty where nothing does."""
        return "nodes" if self.nodes is not None else "CPUs" if self.cpus is not None else ""

    def __str__(self) -> str:
        most = [f"{value:,} {'CPUs' if what == 'cpus' else what}" for what, value in self.most if value is not None]
        whose = ", ".join(map(one_line, self.names)) if self.names else f"each {self.of}"
        return f"{whose}: at most {' and '.join(most)} at a time"


def check_limits(federation: str, limits: tuple[Limit, ...]) -> None:
    """Raise where one is no limit, or stands there twice."""
    for k, limit in enumerate(limits):
        if not isinstance(limit, Limit):
            raise FederationError(f"Federation {federation!r}: limits={limit!r} is no Limit.")
        if limit in limits[:k]:
            raise FederationError(f"Federation {federation!r}: the limit of {limit} stands there twice.")


class Counters(NamedTuple):
    """What limits count: an amount each, and who takes how much of it, a row a job and counter."""

    amount: NDArray[np.int64]
    counter: NDArray[np.int64]  # in ascending order
    job: NDArray[np.int64]
    weight: NDArray[np.int64]
    names: tuple[str, ...]


def counters_of(workload: Workload, federation: Federation) -> Counters:
    """Return what binds these jobs; a job that is over a limit all by itself is refused by name."""
    found = [*_of_limits(workload, federation), *_of_arrays(workload)]
    for name, what, amount, rows, weights in found:
        for k in np.flatnonzero(weights > amount)[:1]:
            raise InfeasibleError(
                f"Job {workload.id[rows[k]]}: its {weights[k]} {what} are over the limit of {amount} of {name}; drop "
                "it, or give a wider limit."
            )
    nobody = np.zeros(0, dtype=np.int64)
    return Counters(
        np.array([amount for _, _, amount, _, _ in found], dtype=np.int64),
        np.repeat(np.arange(len(found)), [rows.size for *_, rows, _ in found]),
        np.concatenate([nobody, *(rows for *_, rows, _ in found)]),
        np.concatenate([nobody, *(weights for *_, weights in found)]),
        tuple(name for name, *_ in found),
    )


def counted_in_nodes(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return the rows of jobs that are under a limit in nodes or CPUs."""
    found = [rows for _, what, _, rows, _ in _of_limits(workload, federation) if what != "jobs"]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))


def someones(workload: Workload, federation: Federation) -> str:
    """Return whose limit binds some of these jobs, the first one's; '' where none does."""
    return next(iter(counters_of(workload, federation).names), "")


_Counter = tuple[str, str, int, "NDArray[np.int64]", "NDArray[np.int64]"]


def _of_limits(workload: Workload, federation: Federation) -> Iterator[_Counter]:
    parts = _parts(workload)
    for limit in federation.limits:
        names, rows_of = _grouped(_whose(workload, federation, limit.of))
        for name, rows in zip(names, rows_of, strict=True):
            if name and (not limit.names or name in limit.names):
                called = f"{limit.of} {one_line(name)!r}"
                for what, most in limit.most:
                    if most is not None:
                        yield called, "CPUs" if what == "cpus" else what, most, rows, parts[what][rows]


def _parts(workload: Workload) -> dict[str, NDArray[np.int64]]:
    """Return how much of each a job takes while it runs."""
    demand = {} if workload.demand is None else workload.demand.columns()
    one = np.ones(len(workload), dtype=np.int64)
    each = np.maximum(np.asarray(demand.get("cpu", one), dtype=np.int64), 1)
    return {"jobs": one, "nodes": workload.tasks, "cpus": workload.tasks * each}


def _whose(workload: Workload, federation: Federation, of: str) -> NDArray[Any]:
    """Return a text of each job, '' where it says none: whose it is."""
    if of == "user":
        return np.where(workload.user < 0, "", workload.user.astype(np.str_)).astype(object)
    texts = workload.label(of)
    usual = next((one.name for one in federation.partitions if one.default), "") if of == "partition" else ""
    return np.where(texts == "", usual, texts) if usual else texts  # who asks for none is in the default one [37]


def _grouped(texts: NDArray[Any]) -> tuple[list[str], list[NDArray[np.int64]]]:
    """Return the texts that differ, and the rows of each."""
    names, which = distinct(texts)
    order = np.argsort(which, kind="stable")
    return names, np.split(order, np.cumsum(np.bincount(which, minlength=len(names)))[:-1])


def _of_arrays(workload: Workload) -> Iterator[_Counter]:
    if workload.labels is None or "array" not in workload.labels.texts:
        return
    limited: dict[str, str] = {}
    for text, rows in zip(*_grouped(workload.label("array")), strict=True):
        match = _ARRAY.fullmatch(text)
        name = text if match is None else match[1]
        if limited.setdefault(name, text) != text or ("%" in text and (match is None or int(match[2]) < 1)):
            raise InfeasibleError(
                f"Array {one_line(name)!r}: {limited[name]!r} and {text!r}; its tasks must say one limit of at least "
                "1, as 'name%5', or all none."
            )
        if match is not None:
            yield f"array {one_line(name)!r}", "jobs", int(match[2]), rows, np.ones(rows.size, dtype=np.int64)


def bind_nobody(workload: Workload, federation: Federation) -> list[str]:
    """Return which limits are nobody's of these jobs, a few words each."""
    said = []
    for limit in federation.limits:
        there = set(distinct(_whose(workload, federation, limit.of))[0]) - {""}
        away = [name for name in limit.names if name not in there]
        if not there or away:
            who = ", ".join(map(repr, map(one_line, away[:5]))) if there else f"no job says its {limit.of}"
            said.append(f"a limit of {limit.of} that binds nobody ({who})")
    return said
