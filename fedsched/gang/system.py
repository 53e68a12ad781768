"""GangSystem: sites of processors with a queue each, and the rules that gangs and local jobs follow there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fedsched.core.errors import unknown_name
from fedsched.core.values import is_number, whole

# Names of rules, in the order of their numbers in the kernel.
GRIDS = ("multi_site", "load", "random")
DISPATCHES = ("least_remaining", "olb", "jsq", "ald", "jseq")
ROUTINGS = ("shortest_waiting", "idle_first", "fastest", "dispatch")
LOCAL_SITES = ("grid", "random", "any")
DISCIPLINES = ("fcfs", "afcfs", "ljfs", "lxf", "sxf")
ORDERS = ("sort", "head")
CLAIMS = ("hold", "skip")
PREEMPTS = ("never", "site", "system")
PREEMPTED = ("restart", "resume")
MOST_PROCESSORS = 1_000_000
_NAMES = {
    "grid": GRIDS,
    "dispatch": DISPATCHES,
    "routing": ROUTINGS,
    "local_site": LOCAL_SITES,
    "discipline": DISCIPLINES,
    "order": ORDERS,
    "claim": CLAIMS,
    "preempts": PREEMPTS,
    "preempted": PREEMPTED,
}
_AMOUNTS = ("overhead", "threshold", "latency", "megabytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class GangSystem:
    """Sites in which every processor has its own queue, and the rules of the grid and local schedulers.

    Parameters
    ----------
    processors
        The number of processors of each site.
    clocks
        The clock of every processor in MHz, site by site; default: all run at the reference clock.
    reference_clock
        The clock at which a job takes its run time pt. At another clock it takes pt · reference_clock/clock; a gang's
        time is that of its slowest processor.
    grid
        Where a gang goes: `multi_site` (the approaches of Dimitriadou and Karatza), `load` (the site with the fewest
        tasks a processor, ties at random) or `random`.
    approach
        Under multi_site, 1: a gang stays on one site; 2: it may also take the idle processors of all sites; 3: it may
        also wait in the empty queues of all sites.
    overhead
        The longer run time of a gang that spans sites, as a share of its service time.
    dispatch
        The processors of a site to which a gang's tasks go: `least_remaining` (the least remaining time of the running
        job), `olb` (idle ones, then busy ones, both shuffled), `jsq` (fewest waiting tasks), `ald` (fewest waiting and
        running) or `jseq` (least remaining and waiting execution time); ties by number.
    routing
        Where a local job goes: `shortest_waiting` (the fewest waiting tasks, the running one not counted, ties at
        random), `idle_first` (a processor where it starts at once, if there is one, else shortest_waiting), `fastest`
        (the fastest idle processor with an empty queue, else the least remaining and waiting time) or `dispatch` (as
        a gang of one).
    local_site
        The site of a local job without an origin: chosen as for a gang (`grid`), at `random`, or all sites (`any`).
    discipline
        The order of waiting jobs: `fcfs`, `afcfs` (smallest first), `ljfs` (largest first; also called `lgfs`), `lxf`
        (largest expansion factor (pt + wait)/pt first) or `sxf` (smallest expansion factor first).
    order
        Under afcfs: `sort` the queues by size, or try the `head` in order of arrival first and, if no job starts, by
        size.
    claim
        If a gang cannot start, it can `hold` its idle processors against later jobs, or let them `skip` it.
    threshold
        T of backfilling under fcfs: how long a local job that overtakes a waiting gang may delay it.
    local_migration, external_migration
        Whether a waiting gang may move tasks to idle processors of its site, or as a whole to another site.
    aging
        A job goes first once this number of migrated later arrivals has overtaken it; 0 = never.
    preempts
        Whether a local job may preempt a gang and take one of its processors: `never`, if its `site` has no idle
        processor, or if the whole `system` has none. Under `system` it first takes an idle processor of another site;
        a job with an origin waits at its site instead.
    preempted
        Whether a preempted gang will `restart` from the beginning or `resume` where it stopped.
    latency, megabytes, bandwidth
        α, z per task and ρ of T(z) = α + z/ρ, which is added to every gang's run time.

    Examples
    --------
    >>> system = fs.gang.GangSystem(processors=(16, 32), grid="load", discipline="afcfs")
    >>> system.total, system.largest
    (48, 32)
    """

    processors: tuple[int, ...] = (16, 16)
    clocks: tuple[float, ...] | None = None
    reference_clock: float = 2000.0
    grid: str = "multi_site"
    approach: int = 1
    overhead: float = 0.1
    dispatch: str = "least_remaining"
    routing: str = "shortest_waiting"
    local_site: str = "grid"
    discipline: str = "fcfs"
    order: str = "sort"
    claim: str = "hold"
    threshold: float = 0.0
    local_migration: bool = False
    external_migration: bool = False
    aging: int = 0
    preempts: str = "never"
    preempted: str = "restart"
    latency: float = 0.0
    megabytes: float = 0.0
    bandwidth: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "processors", tuple(whole("GangSystem", "processors", n) for n in _listed(self)))
        if not self.processors or min(self.processors) < 1:
            raise ValueError(f"GangSystem: processors={self.processors!r} must give every site at least 1.")
        if self.total > MOST_PROCESSORS:
            raise ValueError(
                f"GangSystem: processors={self.processors!r} must be at most {MOST_PROCESSORS} in all: each has "
                "a queue of its own, and decisions look at all of them."
            )
        if self.discipline == "lgfs":  # the same rule; lgfs is its name for gangs
            object.__setattr__(self, "discipline", "ljfs")
        for name, known in _NAMES.items():
            if getattr(self, name) not in known:
                raise unknown_name(name.replace("_", " "), getattr(self, name), known)
        if whole("GangSystem", "approach", self.approach) not in (1, 2, 3):
            raise ValueError(f"GangSystem: approach={self.approach!r} must be 1, 2 or 3.")
        whole("GangSystem", "aging", self.aging, least=0)
        for name in _AMOUNTS:
            value = getattr(self, name)
            if not (is_number(value) and value >= 0):
                raise ValueError(f"GangSystem: {name}={value!r} must be a finite number of at least 0.")
        if not (self.bandwidth == math.inf or _is_positive(self.bandwidth)):
            raise ValueError(f"GangSystem: bandwidth={self.bandwidth!r} must be above 0 MB a second; inf = no limit.")
        self._check_clocks()
        self._check_combination()

    def _check_clocks(self) -> None:
        if not _is_positive(self.reference_clock):
            raise ValueError(f"GangSystem: reference_clock={self.reference_clock!r} must be a number of MHz above 0.")
        if self.clocks is None:
            return
        if not isinstance(self.clocks, Iterable) or isinstance(self.clocks, str):
            raise TypeError(f"GangSystem: clocks={self.clocks!r} must list a number of MHz for every processor.")
        clocks = tuple(self.clocks)
        if len(clocks) != self.total:
            raise ValueError(
                f"GangSystem: clocks has {len(clocks)} entries; the sites have {self.total} processors, and each needs "
                "one."
            )
        for p, clock in enumerate(clocks):
            if not _is_positive(clock):
                raise ValueError(f"GangSystem: clocks[{p}]={clock!r} must be a number of MHz above 0.")
        object.__setattr__(self, "clocks", tuple(float(clock) for clock in clocks))

    def _check_combination(self) -> None:
        if self.grid != "multi_site":
            return
        foreign = {
            "discipline": self.discipline != "fcfs",
            "claim": self.claim != "hold",
            "local_migration": self.local_migration,
            "external_migration": self.external_migration,
            "preempts": self.preempts != "never",
            "local_site": self.local_site != "grid",
        }
        for name, wrong in foreign.items():
            if wrong:
                raise ValueError(
                    f"GangSystem: {name}={getattr(self, name)!r} is not for grid='multi_site', where gangs take "
                    "only empty queues; choose grid='load' or 'random'."
                )

    @property
    def total(self) -> int:
        """Return the number of processors of all sites."""
        return sum(self.processors)

    @property
    def largest(self) -> int:
        """Return the size of the largest gang that can ever start."""
        return self.total if self.grid == "multi_site" and self.approach > 1 else max(self.processors)


def _listed(system: GangSystem) -> Iterable[Any]:
    if not isinstance(system.processors, Iterable) or isinstance(system.processors, str):
        raise TypeError(
            f"GangSystem: processors={system.processors!r} must list a number for every site, like (16, 16)."
        )
    return system.processors


def _is_positive(value: Any) -> bool:
    return is_number(value) and value > 0
