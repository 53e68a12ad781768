"""Figures of the machine that are assumed because they were not given, and the texts that say so with results.

Tuples that were read from another program's file carry such texts as well: see `Noted`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self, TypeVar

from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation, NodeGroup

# The metrics that follow from watts.
ENERGIES = ("energy", "busy_energy", "idle_energy", "cost", "carbon", "peak_watts")
WATTS_MARK = "assumed watts"


class Assumed(float):
    """A float that stands in for a number that was not given; only its type marks it as assumed."""

    __slots__ = ()


def are_assumed(*figures: float) -> bool:
    """Return whether any of the figures is assumed."""
    return any(isinstance(figure, Assumed) for figure in figures)


def mark(metric: str, federation: Federation) -> str:
    """Return "assumed watts" if the metric depends on watts and some watts were not given, else ""."""
    return WATTS_MARK if metric in ENERGIES and federation.watts_assumed else ""


def marked(text: str, metric: str, federation: Federation) -> str:
    """Return the text, followed by "(assumed watts)" if the metric depends on watts that were not given."""
    said = mark(metric, federation)
    return f"{text} ({said})".lstrip() if said else text


def watts_sentence(federation: Federation) -> str:
    """Return a sentence that says which watts are assumed, as all energy depends on them; "" if all were given."""
    if not federation.watts_assumed:
        return ""
    return f"These watts were not given: {_bare_watts(federation)} are assumed, and every energy follows from them."


def assumptions(federation: Federation, workload: Workload | None = None) -> tuple[str, ...]:
    """Return what is assumed of the machine, its calendar, signals and power saving, and of the jobs, a few words each.

    Parameters
    ----------
    federation
        The machine.
    workload
        The jobs that are to run on it; None leaves out what is assumed of jobs.
    """
    shapes = () if workload is None else _of_shapes(workload)
    times = () if workload is None else federation.default_requests(workload)
    of_signals = tuple(dict.fromkeys(fact for signal in federation.signals for fact in signal.said))
    of_power = () if federation.power is None else federation.power.said
    of_the_machine = _of_the_machine(federation, workload)
    return of_the_machine + shapes + times + assumed_of(federation.calendar) + of_signals + of_power


def _of_shapes(workload: Workload) -> tuple[str, ...]:
    among = workload.alternatives
    if among is None or not among.jobs or not among.are_recorded(workload):
        return ()
    jobs = counted(among.jobs, "job")
    return (f"recorded shapes for {jobs} with alternatives, unless a rule or plan chooses others (--alternatives)",)


def _of_the_machine(federation: Federation, workload: Workload | None) -> tuple[str, ...]:
    groups, facts = federation.groups, []
    if federation.watts_assumed:
        facts.append(_bare_watts(federation))
    if len(groups) > 1 and are_assumed(*(group.speed for group in groups)):
        facts.append("nodes of one speed" if len({group.speed for group in groups}) == 1 else "speeds")
    if len(federation.clusters) == 1:
        return tuple(facts)
    uplinks = [cluster.uplink for cluster in federation.clusters]
    if are_assumed(*uplinks) and all(math.isinf(uplink) for uplink in uplinks):
        facts.append("unlimited uplinks (a job on several clusters pays nothing for it; --uplink)")
    elif are_assumed(*uplinks):
        names = [cluster.name for cluster in federation.clusters if are_assumed(cluster.uplink)]
        facts.append("uplinks" if len(names) == len(uplinks) else f"uplinks of {_listed(names)}")
    if workload is not None and not workload.task_bandwidth.any() and any(map(math.isfinite, uplinks)):
        facts.append("jobs that send nothing (a job on several clusters pays nothing for it; --communication)")
    return tuple(facts)


def sentence(facts: Iterable[str]) -> str:
    """Return "assumed: " followed by the facts, separated by semicolons."""
    return f"assumed: {'; '.join(facts)}"


def _bare_watts(federation: Federation) -> str:
    bare = [group for group in federation.groups if are_assumed(group.busy_watts, group.idle_watts)]
    return f"{_listed(list(dict.fromkeys(map(_watts, bare))))} for {_share(bare, federation)}"


def _watts(group: NodeGroup) -> str:
    return f"{group.busy_watts:g} W busy and {group.idle_watts:g} W idle"


def _share(groups: list[NodeGroup], federation: Federation) -> str:
    nodes = sum(group.count for group in groups)
    return "each node" if nodes == federation.nodes else f"each of {nodes:,} nodes"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


Noun = TypeVar("Noun", covariant=True)


class Noted(tuple[Noun, ...]):
    """A tuple of what was read from a file, with notes of a few words each; it equals the plain tuple.

    The notes say what of the file was left out, and what was assumed because the file does not say it.

    Parameters
    ----------
    nouns
        The items of the tuple.
    left_out, assumed
        The notes on what was left out and on what was assumed.

    Examples
    --------
    >>> from fedsched.model import Noted
    >>> calendar = Noted([fs.Downtime("north", 3600, 7200)], assumed=["an outage waits for running jobs"])
    >>> len(calendar), calendar.assumed
    (1, ('an outage waits for running jobs',))
    """

    left_out: tuple[str, ...]
    assumed: tuple[str, ...]

    def __new__(cls, nouns: Iterable[Noun] = (), *, left_out: Iterable[str] = (), assumed: Iterable[str] = ()) -> Self:
        """Return the tuple with its notes."""
        made = super().__new__(cls, nouns)
        made.left_out, made.assumed = tuple(left_out), tuple(assumed)
        return made


GIVEN_WHOLE = "given whole here"  # the end of notes on nodes that jobs share; dropped if jobs do share nodes


def left_out_of(nouns: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the tuple's notes on what a file says and the model leaves out; () for a plain tuple."""
    return nouns.left_out if isinstance(nouns, Noted) else ()


def assumed_of(nouns: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the tuple's notes on what was assumed because a file does not say it; () for a plain tuple."""
    return nouns.assumed if isinstance(nouns, Noted) else ()
