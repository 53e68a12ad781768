"""Power saving: the settings that say when idle nodes are switched off, and their checks [66]."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from fedsched.core.errors import FederationError, shortened
from fedsched.core.text import NUMBER, seconds_text
from fedsched.core.values import MOST_SECONDS, MOST_WATTS, is_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.model.machine.federation import Federation, NodeGroup

STATES = ("off_watts", "boot_seconds", "boot_watts", "shutdown_seconds", "shutdown_watts")  # fields of a group
_TIMEOUT = re.compile(
    rf"timeout:({NUMBER})([smh]?)(?::(\d{{1,10}}))?(?::suspend=(\d{{1,10}}))?(?::resume=(\d{{1,10}}))?", re.ASCII
)
_RESERVE = re.compile(rf"reserve:(\d{{1,10}})(?::({NUMBER})([smh]?))?", re.ASCII)
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Timeout:
    """Power saving in which a node goes off when it has been idle for `seconds`, as by Slurm's SuspendTime.

    Parameters
    ----------
    seconds
        Idle time before a node goes off. A job that takes the node earlier has it at once; a later one awaits a boot.
    keep
        The number of idle nodes of each group that stay on, however long they idle.
    suspend_rate
        Nodes of a cluster that may begin to go off per minute, as by Slurm's SuspendRate: this many at once, then one
        each 60 / suspend_rate seconds. None, or 0: any number.
    resume_rate
        Nodes of a cluster that may begin to boot per minute, as by Slurm's ResumeRate: counted like `suspend_rate`.

    Examples
    --------
    >>> from fedsched.policies import Timeout
    >>> print(Timeout(600, keep=4))
    timeout:600:4
    """

    seconds: float
    keep: int = 0
    suspend_rate: int | None = field(default=None, kw_only=True)
    resume_rate: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", _seconds("Timeout", self.seconds))
        object.__setattr__(self, "keep", _nodes("Timeout: keep", self.keep))
        for name, value in (("suspend_rate", self.suspend_rate), ("resume_rate", self.resume_rate)):
            object.__setattr__(self, name, _nodes(f"Timeout: {name}", 0 if value is None else value) or None)

    @property
    def said(self) -> tuple[str, ...]:
        """Return the remarks that are shown with results; always empty."""
        return ()

    def __str__(self) -> str:
        rates = (("suspend", self.suspend_rate), ("resume", self.resume_rate))
        paced = "".join(f":{what}={rate}" for what, rate in rates if rate)
        return f"timeout:{seconds_text(self.seconds)}" + (f":{self.keep}" if self.keep else "") + paced


@dataclass(frozen=True, slots=True)
class Reserve:
    """Power saving in which some idle nodes of each group stay on for the next jobs; when jobs take these, others boot.

    Parameters
    ----------
    nodes
        The number of nodes of each group that idle or boot ahead, if enough nodes are without jobs.
    seconds
        Idle seconds before a node beyond these goes off; default: at once.

    Examples
    --------
    >>> from fedsched.policies import Reserve
    >>> print(Reserve(16))
    reserve:16
    """

    nodes: int
    seconds: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", _nodes("Reserve: nodes", self.nodes))
        object.__setattr__(self, "seconds", _seconds("Reserve", self.seconds))

    @property
    def keep(self) -> int:
        """Return the number of idle nodes of each group that stay on, as for a `Timeout`."""
        return self.nodes

    @property
    def said(self) -> tuple[str, ...]:
        """Return the remarks that are shown with results; always empty."""
        return ()

    def __str__(self) -> str:
        return f"reserve:{self.nodes}" + (f":{seconds_text(self.seconds)}" if self.seconds else "")


@dataclass(frozen=True, slots=True)
class Planned:
    """Power saving in which a node goes off if the gap to its next use is long enough to save energy.

    The node is on again in time, so no job waits for a boot. The setting uses the finished schedule, which no real
    machine knows in advance: the savings are an upper bound for the schedule's starts.

    Examples
    --------
    >>> from fedsched.policies import Planned
    >>> print(Planned())
    planned
    """

    @property
    def said(self) -> tuple[str, ...]:
        """Return the remark that is shown with results: that the setting knows the whole schedule beforehand."""
        return ("power saving that knows the whole schedule beforehand (power=planned)",)

    def __str__(self) -> str:
        return "planned"


Switching: TypeAlias = Timeout | Reserve
PowerSaving: TypeAlias = Switching | Planned


def _seconds(whose: str, value: Any) -> float:
    if not is_number(value) or value < 0:
        raise FederationError(f"{whose}: seconds={shortened(repr(value))} must be finite and at least 0.")
    if value > MOST_SECONDS:
        raise FederationError(f"{whose}: seconds={value!r} must be at most {MOST_SECONDS:g}.")
    return float(value)


def _nodes(what: str, value: Any) -> int:
    if not is_number(value) or int(value) != value or not 0 <= value < 2**31:
        raise FederationError(f"{what}={shortened(repr(value))} must be a whole number of at least 0.")
    return int(value)


def power_saving_named(text: str) -> PowerSaving | None:
    """Return the power saving that a text names; None for "always", which means always on; raise if it names none.

    Other texts are like "planned", "reserve:4:10m" and "timeout:10m:4:suspend=20:resume=30".
    """
    if text == "always":
        return None
    if text == "planned":
        return Planned()
    if found := _TIMEOUT.fullmatch(text):
        suspend, resume = (int(rate or 0) for rate in (found[4], found[5]))
        seconds = float(found[1]) * _SECONDS[found[2]]
        return Timeout(seconds, int(found[3] or 0), suspend_rate=suspend, resume_rate=resume)
    if found := _RESERVE.fullmatch(text):
        return Reserve(int(found[1]), float(found[2] or 0) * _SECONDS[found[3] or ""])
    raise FederationError(
        f"power={shortened(repr(text))} must be always, planned, timeout:SECONDS[:NODES] (timeout:10m keeps none, "
        "timeout:10m:4 keeps 4; then :suspend=20 and :resume=20, in nodes per minute) or reserve:NODES[:SECONDS]."
    )


def check_switching(name: str, saving: object, groups: Sequence[NodeGroup]) -> None:
    """Raise if `saving` is neither a power saving nor None, or if it is one and a group has no `off_watts`."""
    if saving is None:
        return
    if not isinstance(saving, Timeout | Reserve | Planned):
        said = shortened(repr(saving))
        raise FederationError(f"Federation {name!r}: power={said} must be a Timeout, Reserve, Planned or None.")
    if any(group.off_watts is None for group in groups):
        raise FederationError(
            f"Federation {name!r}: power={saving} switches nodes off, but a group has no off_watts; give off_watts= of "
            "each NodeGroup."
        )


def check_states(group: NodeGroup) -> None:
    """Raise if a group's watts and times of being off, booting or shutting down are invalid."""
    for name in ("off_watts", "boot_watts", "shutdown_watts", "boot_seconds", "shutdown_seconds"):
        value, most = getattr(group, name), MOST_WATTS if name.endswith("watts") else MOST_SECONDS
        if value is None and name.endswith("watts"):
            continue
        if not (is_number(value) and value >= 0):
            raise FederationError(f"NodeGroup: {name}={shortened(repr(value))} must be finite and at least 0.")
        if value > most:
            raise FederationError(f"NodeGroup: {name}={value!r} must be at most {most:g}.")
    if group.off_watts is None and (group.boot_watts, group.shutdown_watts) != (None, None):
        raise FederationError("NodeGroup: boot_watts and shutdown_watts need off_watts=; give it too.")
    if group.off_watts is not None and group.off_watts > group.idle_watts:
        raise FederationError(
            f"NodeGroup: off_watts={group.off_watts!r} must be at most idle_watts={group.idle_watts!r}."
        )


def is_switching(saving: object) -> TypeGuard[Switching]:
    """Return whether the setting is a `Timeout` or a `Reserve`, with which jobs may have to wait for boots."""
    return isinstance(saving, Timeout | Reserve)


def with_least_idle_watts(federation: Federation) -> Federation:
    """Return the federation without power saving, with nodes that idle at the least watts of their states.

    The states are idle, off, booting and shutting down. Unchanged if the federation has no power saving.
    """
    if federation.power is None:
        return federation

    def least(group: NodeGroup) -> NodeGroup:
        return replace(group, idle_watts=min(group.idle_watts, *watts_off(group)), off_watts=None, boot_watts=None,
                       shutdown_watts=None)  # fmt: skip

    clusters = [replace(one, groups=tuple(map(least, one.groups))) for one in federation.clusters]
    return replace(federation, clusters=tuple(clusters), power=None)


def with_planned_idle_watts(federation: Federation) -> Federation:
    """Return the federation by which plans weigh energy: `with_least_idle_watts` if power saving is `Planned`.

    Otherwise it is unchanged.
    """
    return with_least_idle_watts(federation) if isinstance(federation.power, Planned) else federation


def watts_off(group: NodeGroup) -> tuple[float, float, float]:
    """Return the watts of a node of the group that is off, that boots, and that shuts down.

    Watts that are not stated are the idle watts, the busy watts and the idle watts.
    """
    off = group.idle_watts if group.off_watts is None else group.off_watts
    boot = group.busy_watts if group.boot_watts is None else group.boot_watts
    return off, boot, group.idle_watts if group.shutdown_watts is None else group.shutdown_watts
