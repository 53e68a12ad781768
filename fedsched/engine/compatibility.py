"""The table of what goes together: features of jobs, nodes and calls against the places that support them.

A place is a part of the package that supports some features only: a dispatch rule, an event loop, a policy, a function
such as optimize, or another feature. `REFUSED` says which features a place does not support, and why. Every such error
is made here, and docs/reference/compatibility.md is written from the same table.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import IncompatibleError
from fedsched.model.constraints.dependencies import awaited_ends, open_ends
from fedsched.model.jobs.demands import pool_needs
from fedsched.model.jobs.shaping import every_shape
from fedsched.model.jobs.uneven import are_uneven
from fedsched.model.machine.counters import first_counter
from fedsched.model.power.power_cap import is_capped
from fedsched.model.power.switching import is_switching
from fedsched.model.power.watts import have_own_watts, watts_of
from fedsched.model.reading import USUAL, Reading
from fedsched.model.time.downtimes import RESERVATION, takes_nodes
from fedsched.model.time.reservations import in_reservations
from fedsched.policies.named import DISPATCH, PLACEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.downtimes import Downtime


class Use(NamedTuple):
    """What one call uses: its jobs, nodes, reading (choices of the model), begin t0, and further features by name."""

    workload: Workload
    federation: Federation
    reading: Reading = USUAL
    t0: float = -inf
    given: tuple[str, ...] = ()  # names of FEATURES that cannot be seen from jobs and nodes


class Feature(NamedTuple):
    """A feature of jobs, nodes or calls: its name in a sentence, the cure (what a user can do without it), and a test.

    The test `found` returns None if a call does not use the feature, else a text that the error adds in brackets, or
    ''.
    """

    name: str
    cure: str
    found: Callable[[Use], str | None] | None = None  # None: `Use.given` names it


class Place(NamedTuple):
    """A part of the package that does not support every feature: its name in a sentence, and how calls can avoid it."""

    name: str
    cure: str = ""


FIXED_SHAPES = "choose the shapes by a rule: alternatives='fixed' or 'smallest_area'"
NO_CAPS = "leave the caps out of the federation's signals (fedsched: --cap none)"
_NO_ENFORCING = "leave limits out of AccountingStorageEnforce"


def _if(condition: object, said: str = "") -> str | None:
    return said if condition else None


def _downtimes(odd: Callable[[Use, Downtime], str]) -> Callable[[Use], str | None]:
    """Return a `found` function for `Feature`: it describes the first downtime for which `odd` returns a text.

    That function returns None if there is no such downtime.
    """

    def found(use: Use) -> str | None:
        return next((f"{one.where} {said}" for one in use.federation.calendar if (said := odd(use, one))), None)

    return found


def _ends_by_shapes(use: Use) -> str | None:
    workload, reading = use.workload, use.reading
    if not reading.chooses_late(workload) or not reading.kill_at_estimate or workload.after is None:
        return None
    each, owner, _ = every_shape(workload, use.federation)
    rows = np.flatnonzero(open_ends(workload, each, owner, reading) & awaited_ends(workload))
    return f"jobs that wait for job {workload.id[rows[0]]}" if rows.size else None


def _surprise(use: Use, one: Downtime) -> str:
    if one.end <= use.t0:
        return ""
    if one.known_from is not None and one.known_from > use.t0:
        return f"becomes known at {one.known_from:g} only"
    return "" if one.end_known else "has an end that is not known beforehand"


def _in_reservation(use: Use) -> str | None:
    rows = in_reservations(use.workload, use.federation).nonzero()[0]
    if not rows.size:
        return None
    name = str(use.workload.label(RESERVATION)[rows[0]])
    return f"job {use.workload.id[rows[0]]} is in reservation {name!r}"


def _thrifty_uneven(use: Use) -> str | None:
    each, owner, _ = every_shape(use.workload, use.federation)
    watts, idle = watts_of(each, use.federation.groups), [group.idle_watts for group in use.federation.groups]
    if not watts.size:
        return None
    rows = owner[are_uneven(each) & (watts < idle).any(axis=1)]
    return f"job {use.workload.id[rows[0]]}" if rows.size else None


def _uneven(use: Use) -> str | None:
    rows = are_uneven(use.workload).nonzero()[0]
    return f"job {use.workload.id[rows[0]]}" if rows.size else None


def _communicates(use: Use) -> bool:
    return len(use.federation.clusters) > 1 and bool(use.workload.task_bandwidth.any())


FEATURES = {
    "power saving": Feature(
        "nodes that are switched off", "leave power= out (None)",
        lambda use: _if(use.federation.power is not None, f"power={use.federation.power}"),
    ),
    "boots": Feature(
        "jobs that wait for nodes to boot", "take power=planned, or leave it out (None)",
        lambda use: _if(is_switching(use.federation.power), f"power={use.federation.power}"),
    ),
    "power caps": Feature("power caps", NO_CAPS, lambda use: _if(is_capped(use.federation))),
    "downtimes": Feature(
        "downtimes and reservations", "leave the federation's calendar out", lambda use: _if(use.federation.calendar)
    ),
    "downtimes that take nodes": Feature(
        "downtimes that take nodes from running jobs", "give them on_running='wait'",
        lambda use: _if(takes_nodes(use.federation)),
    ),
    "downtimes that kill": Feature(
        "downtimes that kill jobs", "give them on_running='requeue' or 'wait'",
        _downtimes(lambda use, one: "kills" if one.on_running == "kill" and one.begin > use.t0 else ""),
    ),
    "downtimes without an end": Feature(
        "downtimes without an end", "give them an end, or leave them out of the calendar",
        _downtimes(lambda use, one: "never ends" if one.end == inf else ""),
    ),
    "surprises": Feature(
        "downtimes that are not known beforehand", "leave them out of the calendar, or search with optimize",
        _downtimes(_surprise),
    ),
    "downtimes of a number of nodes": Feature(
        "downtimes of a number of nodes",
        "name the nodes (in Slurm's files: --hosts FILE, and for events also --calendar-victims recorded)",
        lambda use: _if(any(one.among[0] is not None and one.kind != RESERVATION for one in use.federation.calendar)),
    ),
    "jobs in reservations": Feature(
        "jobs in reservations", "leave them out: workload.filter(workload.label('reservation') == '')", _in_reservation
    ),
    "holds": Feature(
        "jobs that are held", "leave holds out: dataclasses.replace(workload, held=None)",
        lambda use: _if(use.workload.held is not None),
    ),
    "feedback": Feature(
        "jobs that follow others (feedback)", "give jobs without feedback=",
        lambda use: _if(use.workload.feedback is not None),
    ),
    "conditions and begins": Feature(
        "jobs that wait for others or for a time of their own",
        "leave that out: dataclasses.replace(workload, after=None, begin=None)",
        lambda use: _if(use.workload.after is not None or use.workload.begin is not None),
    ),
    "cancellations": Feature(
        "jobs that may be cancelled", "leave that out: dataclasses.replace(workload, cancel_at=None)",
        lambda use: _if(use.workload.cancel_at is not None),
    ),
    "uneven jobs": Feature(
        "exclusive jobs on nodes that hold different numbers of their tasks",
        "set tasks_per_node=, or give nodes of one size", _uneven,
    ),
    "thrifty uneven jobs": Feature(
        "exclusive jobs on nodes that hold different numbers of their tasks and draw less under them than idle ones",
        "set tasks_per_node=, or give watts of at least idle ones", _thrifty_uneven,
    ),
    "slack": Feature("jobs with slack", "give jobs without slack=", lambda use: _if(use.workload.slack is not None)),
    "limits": Feature(
        "limits", "leave them out: dataclasses.replace(federation, limits=()), and jobs without their label 'array'",
        lambda use: first_counter(use.workload, use.federation) or None,
    ),
    "limits of nodes or CPUs": Feature(
        "limits of nodes or CPUs", "leave them out of the federation's limits",
        lambda use: next((limit.by_shape for limit in use.federation.limits if limit.by_shape), None),
    ),
    "pools": Feature(
        "jobs that need pools", "leave that out: dataclasses.replace(workload, pools=None)",
        lambda use: _if(pool_needs(use.workload, use.federation).any()),
    ),
    "watts and gears": Feature(
        "watts and gears of jobs", "leave them out: dataclasses.replace(workload, watts=None, gear=None)",
        lambda use: _if(have_own_watts(use.workload)),
    ),
    "shapes to choose": Feature(
        "shapes that are not chosen beforehand", FIXED_SHAPES,
        lambda use: _if(use.reading.leaves_open(use.workload), f"alternatives={use.reading.alternatives!r}"),
    ),
    "shapes by plans": Feature(
        "shapes that plans choose", FIXED_SHAPES,
        lambda use: _if(use.reading.is_free(use.workload), f"alternatives={use.reading.alternatives!r}"),
    ),
    "shapes at submit": Feature(
        "shapes that are chosen as jobs join the queue", FIXED_SHAPES,
        lambda use: _if(use.reading.chooses_late(use.workload), f"alternatives={use.reading.alternatives!r}"),
    ),
    "ends by shapes": Feature(
        "jobs that start only if another is killed at its limit, or is not, which its shape decides", FIXED_SHAPES,
        _ends_by_shapes,
    ),
    "sequential instants": Feature(
        "events of one instant in turn (same_time='sequential')", "give same_time='batch'",
        lambda use: _if(use.reading.same_time == "sequential"),
    ),
    "communication": Feature(
        "jobs that communicate between clusters", "give task_bandwidth=0, or one cluster",
        lambda use: _if(_communicates(use)),
    ),
    "finite uplinks": Feature(
        "jobs that communicate over finite uplinks", "leave the uplinks or task_bandwidth= out",
        lambda use: _if(_communicates(use) and any(isfinite(cluster.uplink) for cluster in use.federation.clusters)),
    ),
    "several clusters": Feature(
        "several clusters", "simulate each by itself", lambda use: _if(len(use.federation.clusters) > 1)
    ),
    "several speeds": Feature(
        "nodes of several speeds", "give all one speed",
        lambda use: _if(len({group.speed for group in use.federation.groups}) > 1),
    ),
    "running jobs": Feature("jobs that run already", "leave running= out"),
    "caps": Feature("caps on where jobs may run (caps=)", "leave caps= out, or take a policy by its queue order"),
    "placements": Feature("a placement rule (placement=)", "leave placement= out"),
    "t0": Feature("another begin (t0=)", "leave t0= out"),
    "packages": Feature("packages", "leave package= out"),
    "objectives of signals": Feature("objectives of signals (cost, carbon, peak_watts)", "choose another metric"),
    "deadlines": Feature("deadlines", "leave deadline= out"),
    "shared nodes": Feature("node sharing (sharing=)", "leave sharing= out"),
    "node limits of accounts": Feature("limits of nodes of accounts", _NO_ENFORCING),
    "CPU limits of exclusive jobs": Feature("limits of CPUs of accounts on exclusive jobs", _NO_ENFORCING),
    # Their cures name the others, which the table tells.
    **{f"dispatch {one}": Feature(f"dispatch rule {one!r}", "") for one in DISPATCH},
    **{f"placement {one}": Feature(f"placement {one!r}", "") for one in PLACEMENTS},
}  # fmt: skip

_MISSED = "a job may miss its reservation, and plans that lack jobs cannot be compared"
_NOT_MODELLED = "not modelled there"
_NO_SIZES = "how many nodes they take is not known before they are placed"

PLACES = {
    **{f"dispatch {one}": Place(f"Dispatch rule {one!r}") for one in DISPATCH},
    "boots": Place("Power saving (power=)", "leave power= out"),
    "slack": Place("A plan with slack", "give jobs without slack="),
    "shared nodes": Place("Node sharing (sharing=)", "leave sharing= out"),
    "slurm": Place("Policy slurm", "take another policy"),
    "optimize": Place("optimize"),
    "optimize with boots": Place("optimize with nodes that boot"),
    "packages on shared nodes": Place("A search by packages on shared nodes", "leave package= out"),
    "packages with boots": Place("A search by packages on nodes that boot", "leave package= or power= out"),
    "exact": Place("The exact model"),
    "bounds": Place("lower_bounds"),
    "bounds of shapes": Place("lower_bounds of shapes to choose", FIXED_SHAPES),
    "slurm on shared nodes": Place("Policy slurm with node sharing", "leave sharing= out"),
    "slurm with multifactor": Place("Policy slurm with priority/multifactor", "take another policy"),
    "slurm with limits": Place("Policy slurm with limits of nodes, CPUs or accounts", "take another policy"),
    "slurm with max_nodes": Place("Policy slurm with partitions of max_nodes", "take another policy"),
}

# Place -> feature -> reason: the refused combinations.
REFUSED: dict[str, dict[str, str]] = {
    "boots": {
        "downtimes that take nodes": "which nodes of a job still boot when it loses them is not recorded",
        "sequential instants": "which nodes are on depends on the order of starts and ends, which is not recorded",
    },
    "slack": {"feedback": "slack counts from submits, which are not known beforehand"},
    "shared nodes": {
        "power caps": _NOT_MODELLED,
        "power saving": _NOT_MODELLED,
        "shapes to choose": _NOT_MODELLED,
        "dispatch lookahead": "it fills one number of free nodes, and shared nodes have many",
        "placement link_aware": "reservations there do not plan the loads of uplinks",
    },
    "slurm": {
        "power saving": "it switches nodes by settings of its own (SuspendTime, ResumeTimeout)",
        "power caps": "its scheduler does not count watts",
        "several clusters": "each cluster has a controller and a queue of its own",
        "several speeds": "its time limits do not depend on nodes, so a job would outrun its limit on slow ones",
        "shapes to choose": "a job asks it for one shape",
        "sequential instants": "its passes see whole seconds, not single events",
        "caps": "it has no such caps: partitions, features and reservations say where a job may run",
        "placements": "its select plugin chooses the nodes",
    },
    "optimize": {
        "shapes at submit": "plans need them beforehand (or choose them: alternatives='free')",
    },
    "optimize with boots": {
        "surprises": "the energy of a plan depends on which nodes they would turn on",
    },
    "packages on shared nodes": {
        "downtimes that take nodes": "what a lost run held of a node is not carried from package to package",
    },
    "packages with boots": {
        "objectives of signals": "prices of a package know no nodes that the packages before it left off",
    },
    "exact": {
        "thrifty uneven jobs": "more nodes than such a job needs would draw less",
        "shapes at submit": "an optimum chooses them (alternatives='free')",
        "surprises": "an optimum holds only for what is known",
        "jobs in reservations": _MISSED,
        "power saving": _NOT_MODELLED,
        "power caps": _NOT_MODELLED,
    },
    "bounds": {"downtimes that kill": "it is then unknown which jobs count, so nothing is proven"},
    "bounds of shapes": {"ends by shapes": "which jobs start, and so what counts, depends on the schedule"},
    "slurm on shared nodes": {
        "node limits of accounts": _NOT_MODELLED,
        "CPU limits of exclusive jobs": _NOT_MODELLED,
    },
    "slurm with multifactor": {"uneven jobs": _NO_SIZES},
    "slurm with limits": {"uneven jobs": _NO_SIZES},
    "slurm with max_nodes": {"uneven jobs": _NO_SIZES},
}


def refuse(place: str, use: Use) -> None:
    """Raise IncompatibleError for the first feature that a call uses and the place does not support, if any."""
    for feature, said in unsupported(place, use):
        raise refused(place, feature, said)


def unsupported(place: str, use: Use) -> Iterator[tuple[str, str]]:
    """Yield the features that a call uses and a place does not support, each with what the error adds in brackets."""
    for feature in REFUSED.get(place, {}):
        if (said := usage_note(feature, use)) is not None:
            yield feature, said


def usage_note(feature: str, use: Use) -> str | None:
    """Return the text, '' included, that an error adds in brackets on how a call uses a feature.

    Return None if the call does not use the feature.
    """
    found = FEATURES[feature].found
    return _if(feature in use.given) if found is None else found(use)


def refused(place: str, feature: str, said: str = "") -> IncompatibleError:
    """Return, not raise, the IncompatibleError of a place and a feature that it does not support.

    Its text gives the reason and the cures; `said` describes how the call uses the feature.
    """
    where, what = PLACES[place], FEATURES[feature]
    cures = dict.fromkeys((_other(place, feature) or what.cure, where.cure or what.cure))
    detail = f" ({said})" if said else ""
    return IncompatibleError(
        f"{where.name} does not support {what.name}{detail}: {REFUSED[place][feature]}; {', or '.join(cures)}."
    )


def supports(place: str, feature: str) -> bool:
    """Return whether a place supports a feature, by the table `REFUSED`."""
    return feature not in REFUSED.get(place, {})


def placements_on(place: str) -> tuple[str, ...]:
    """Return the names of the placement rules that a place supports."""
    return tuple(one for one in PLACEMENTS if supports(place, f"placement {one}"))


def _other(place: str, feature: str) -> str:
    """Return a cure: "take", and the dispatch or placement rules that are supported instead; "" for other features."""
    for kind, names in (("dispatch", DISPATCH), ("placement", PLACEMENTS)):
        if feature.startswith(f"{kind} "):
            able = [one for one in names if supports(place, f"{kind} {one}")]
            return f"take {kind} {', '.join(able[:-1])} or {able[-1]}"
    return ""
