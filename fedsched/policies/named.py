"""Policies by name (queue order × dispatch rule × placement rule), and the Protocols for user-defined policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from fedsched.core.errors import FedschedError, shortened, unknown_name
from fedsched.core.own_files import is_own, own_object
from fedsched.core.plugins import MISSING, offered, plugin, refuse, release_with
from fedsched.core.plugins import POLICIES as GROUP
from fedsched.core.text import one_line
from fedsched.policies.list_heuristics import HEURISTICS, assign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from fedsched.core.names import DispatchName, OrderName, PlacementName, PolicyName
    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.engine.run.simulation import Planner, Simulation
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.policies.list_heuristics import Cores, OpenShapes

ORDERS: Mapping[OrderName, str] = MappingProxyType(
    {
        "fcfs": "first come, first served",
        "sjf": "shortest estimate first",
        "ljf": "longest estimate first",
        "smallest": "fewest tasks first",
        "largest": "most tasks first",
        "saf": "smallest area (tasks × estimate) first",
        "laf": "largest area first",
        "xfactor": "greatest (wait + estimate)/estimate first",
        "wfp3": "greatest (wait/estimate)³ × tasks first",
        "unicef": "greatest wait/(log2(tasks) × estimate) first",
        "f1": "least log10(estimate) × tasks + 870 log10(submit) first",
    }
)
DISPATCH: Mapping[DispatchName, str] = MappingProxyType(
    {
        "strict": "in queue order; the first that cannot start blocks the rest",
        "greedy": "scan the queue in order and start all that fit",
        "local": "as strict, but a job waits only for earlier ones that may use one of its clusters",
        "easy": "reserve for the first that cannot start, backfill around it",
        "conservative": "reserve for all; what is due now starts",
        "lookahead": "as easy, but the backfilled jobs are packed to use the most nodes",
    }
)
PLACEMENTS: Mapping[PlacementName, str] = MappingProxyType(
    {
        "fastest": "the fastest single cluster, else co-allocate on the fastest groups",
        "single": "the fastest single cluster, else wait",
        "home": "the cluster it was submitted at, else wait",
        "best_fit": "the single cluster with the fewest nodes left over, else the largest chunks",
        "efficient": "the single cluster with the least energy, else the most efficient groups",
        "powerful": "the fastest nodes anywhere (JPR)",
        "big_small": "a single cluster, else 75 % in one chunk (CBS), else wait",
        "link_aware": "as fastest, but never past an uplink's bandwidth",
    }
)


@dataclass(frozen=True, slots=True)
class Rules:
    """A policy made of a queue order, a dispatch rule and a placement rule.

    Parameters
    ----------
    order
        The queue order: a name of `fedsched.policies.ORDERS`, or a permutation of the workload's rows.
    dispatch
        The dispatch rule: a name of `fedsched.policies.DISPATCH`.
    placement
        The placement rule: a name of `fedsched.policies.PLACEMENTS`.
    backfill_order
        The order in which jobs are backfilled; None means the queue order.
    name
        The name of the policy in tables.
    caps
        Jobs × groups: the most nodes of each group that a job may use.

    Examples
    --------
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[4, 4], runtime=[900, 600])
    >>> fs.simulate(jobs, 4, fs.Rules("sjf", "easy")).start
    array([600.,   0.])
    >>> fs.simulate(jobs, 4, fs.Rules(order=[1, 0], dispatch="easy")).start
    array([600.,   0.])
    """

    order: OrderName | ArrayLike = "fcfs"  # a name of ORDERS, or a permutation of the workload's rows
    dispatch: DispatchName = "strict"
    placement: PlacementName = "fastest"
    backfill_order: OrderName | ArrayLike | None = None  # None: the queue order
    name: str = ""
    caps: NDArray[np.int64] | None = None  # jobs × groups: how many nodes of each group a job may use

    def __post_init__(self) -> None:
        for kind, order in (("queue order", self.order), ("backfill order", self.backfill_order)):
            if isinstance(order, str) and order not in ORDERS:
                raise unknown_name(kind, order, ORDERS)
        if self.dispatch not in DISPATCH:
            raise unknown_name("dispatch rule", self.dispatch, DISPATCH)
        if self.placement not in PLACEMENTS:
            raise unknown_name("placement rule", self.placement, PLACEMENTS)

    def rules(self, workload: Workload, federation: Federation) -> Rules:
        """Return this object itself: the rules are the same for every workload.

        Parameters
        ----------
        workload, federation
            The jobs and the machine; not used.
        """
        return self

    def __str__(self) -> str:
        orders = [order if isinstance(order, str) else "permutation" for order in (self.order, self.backfill_order)]
        backfill = f"-{orders[1]}" if self.backfill_order is not None else ""
        return one_line(f"{self.name or f'{orders[0]}-{self.dispatch}{backfill}'} on {self.placement}")


@runtime_checkable
class Policy(Protocol):
    """Protocol of a policy: an object that chooses the rules for a workload on a federation.

    Examples
    --------
    >>> class MostTasks:
    ...     def rules(self, workload, federation):
    ...         return fs.Rules(order=(-workload.tasks).argsort(kind="stable"), dispatch="easy")
    >>> isinstance(MostTasks(), fs.Policy)
    True
    >>> fs.simulate(fs.Workload(submit=[0, 0], tasks=[1, 4], runtime=[60, 60]), 4, MostTasks()).start
    array([60.,  0.])
    """

    def rules(self, workload: Workload, federation: Federation) -> Rules:
        """Return the rules for running this workload.

        Parameters
        ----------
        workload, federation
            The jobs and the machine.
        """
        ...


@runtime_checkable
class OnlinePolicy(Policy, Protocol):
    """Protocol of a policy that makes new plans during the simulation, which begins with the policy's `rules`.

    Examples
    --------
    >>> isinstance(fs.Rolling(), fs.policies.OnlinePolicy), isinstance(fs.Rules(), fs.policies.OnlinePolicy)
    (True, False)
    """

    def planner(self, run: Simulation) -> Planner:
        """Return the object that makes new plans during this simulation, which has not begun.

        A planner that resumes from a checkpoint may set the simulation to its saved state.
        """
        ...


@dataclass(frozen=True, slots=True)
class ListHeuristic:
    """A policy that binds each job at its submit to the cluster with the best predicted completion or energy.

    Each cluster then starts its jobs in the order of their predicted starts. Starts are exactly as predicted under
    `local` or `strict`, without contention and with exact estimates.

    Parameters
    ----------
    heuristic
        The name of the heuristic, in `fedsched.policies.list_heuristics.HEURISTICS`: "mct", "min-min", and so on.
    dispatch
        The dispatch rule.

    Examples
    --------
    >>> machine = fs.read_federation("example")
    >>> fs.simulate(fs.read("sample").head(50), machine, fs.ListHeuristic("min-min")).policy
    'min-min on fastest'
    """

    heuristic: str = "mct"  # a name of `fedsched.policies.list_heuristics.HEURISTICS`
    dispatch: DispatchName = "local"

    def __post_init__(self) -> None:
        if self.heuristic not in HEURISTICS:
            raise unknown_name("list heuristic", self.heuristic, HEURISTICS)
        if self.dispatch not in DISPATCH:
            raise unknown_name("dispatch rule", self.dispatch, DISPATCH)

    def rules(
        self,
        workload: Workload,
        federation: Federation,
        *,
        caps: NDArray[np.int64] | None = None,
        t0: float | None = None,
        running: RunningJobs | None = None,
        look: Callable[[], None] | None = None,
        cores: Cores | None = None,
    ) -> Rules:
        """Return rules with the order of predicted starts, and caps that bind each job to its chosen node groups.

        The parameters are those of `assign`.
        """
        return self.bound(workload, federation, caps=caps, t0=t0, running=running, look=look, cores=cores)[0]

    def bound(
        self,
        workload: Workload,
        federation: Federation,
        *,
        shapes: OpenShapes | None = None,
        caps: NDArray[np.int64] | None = None,
        t0: float | None = None,
        running: RunningJobs | None = None,
        look: Callable[[], None] | None = None,
        cores: Cores | None = None,
    ) -> tuple[Rules, NDArray[np.int64]]:
        """Return what `rules` returns, and for each job the index of its chosen shape among its alternatives.

        The parameters are those of `assign`.
        """
        how: dict[str, Any] = {"shapes": shapes, "caps": caps, "t0": t0, "running": running, "look": look}
        found = assign(workload, federation, self.heuristic, **how, cores=cores)
        return Rules(order=found.order, dispatch=self.dispatch, caps=found.caps, name=str(self)), found.which

    def __str__(self) -> str:
        return self.heuristic if self.dispatch == "local" else f"{self.heuristic}-{self.dispatch}"


POLICIES: Mapping[str, Rules | ListHeuristic] = MappingProxyType(
    {
        **{
            f"{order}{'' if dispatch == 'strict' else '-' + dispatch}": Rules(order=order, dispatch=dispatch)
            for order in ORDERS
            for dispatch in DISPATCH
        },
        "greedy": Rules(dispatch="greedy"),
        "easy": Rules(dispatch="easy"),
        "conservative": Rules(dispatch="conservative"),
        "lookahead": Rules(dispatch="lookahead"),
        **{f"easy-{order}": Rules(dispatch="easy", backfill_order=order) for order in ORDERS if order != "fcfs"},
        "easy-sjbf": Rules(dispatch="easy", backfill_order="sjf"),
        "jpr": Rules(placement="powerful"),
        "cbs": Rules(placement="big_small"),
        **{str(policy): policy for policy in (ListHeuristic(*both) for both in product(HEURISTICS, DISPATCH))},
    }
)


# Other words for policies, and where their names are listed.
MEANT = {
    "fifo": "fcfs", "backfill": "easy", "backfilling": "easy", "spt": "sjf", "sjn": "sjf", "lpt": "ljf",
    "easy++": "easy-sjbf",
}  # fmt: skip
LISTED = "all: the page \"Policies\", or fs.policies.POLICIES"
USUAL = ("fcfs", "easy", "easy-sjbf", "conservative", "lookahead", "min-min")


def is_policy(name: str) -> bool:
    """Return whether a name, in any case, is that of a policy, fedsched's own or an installed package's."""
    return name.lower() in POLICIES or name.lower() in offered(GROUP)


def check_policy_name(name: str, *, kind: str = "policy", also: Iterable[str] = ()) -> None:
    """Raise if a name, in any case, is neither that of a policy nor in `also`; the error offers the nearest name.

    The error calls the name a `kind`.
    """
    if name.lower() in also or is_policy(name):
        return
    if is_own(name):
        raise FedschedError(
            f"{kind} {shortened(name)!r}: a policy in a file is named on the command line of fedsched simulate, study "
            f"or compare; else give an object, or a name that a package offers (entry point {GROUP})."
        )
    known = {*POLICIES, *also, *offered(GROUP)}
    raise unknown_name(kind, name, known, meant=MEANT.get(name.lower()), usual=USUAL, listed=LISTED, otherwise=MISSING)


def policy_release(name: str) -> str:
    """Return the name and version of the package that offers a policy, as "mypackage 1.2"; "" for fedsched's own."""
    return release_with(GROUP, name, POLICIES)


def offered_policy(name: str) -> Policy:
    """Return the policy that another installed package offers by this name (see `fedsched.core.plugins`).

    If the package offers a class or a function instead of a policy, it is called. Raise if no policy comes of that.
    """
    check_policy_name(name)
    one, found = plugin("policy", GROUP, name, POLICIES)
    if callable(found) and (isinstance(found, type) or not isinstance(found, Policy)):
        try:
            found = found()
        except Exception as error:  # whatever the other package does
            refuse("policy", one, f"cannot be made ({type(error).__name__}: {shortened(str(error))})", error)
    if isinstance(found, type) or not isinstance(found, Policy):
        refuse("policy", one, f"is {shortened(repr(found))}, which has no method rules(workload, federation)")
    return found


def own_policy(word: str) -> Policy:
    """Return the policy in a user's file, FILE.py:NAME: an object with a method `rules`, a class or a function of one.

    Raise FedschedError if the file has none.
    """
    made = own_object(word, "a policy")
    found = made if isinstance(made, Policy) or not callable(made) else made()
    if not isinstance(found, Policy):
        raise FedschedError(f"{word} is {shortened(repr(found))}, which has no method rules(workload, federation).")
    return found


def policy_or_own(word: str) -> Policy:
    """Return the policy with this name, or the one in a user's file, FILE.py:NAME."""
    return own_policy(word) if is_own(word) else policy_named(word)


def policy_named(policy: PolicyName | str | Policy, *, placement: PlacementName | None = None) -> Policy:
    """Return the policy with this name, or the given policy object; `placement` replaces its placement rule.

    A name that is not in `POLICIES` may be that of another installed package's policy. Raise if the policy is no
    policy, or if `placement` is given for one that is not made of rules.
    """
    if isinstance(policy, str):
        known = POLICIES.get(policy.lower()) or offered_policy(policy)
        if isinstance(known, Rules):
            return replace(known, name=policy.lower(), placement=placement or known.placement)
        policy = known
    if isinstance(policy, type) or not isinstance(policy, Policy):
        raise TypeError(
            f"policy={policy!r} must be a policy's name, or an object with a method rules(workload, federation)."
        )
    if placement is not None and isinstance(policy, Rules):
        return replace(policy, placement=placement)
    if placement is not None:
        raise ValueError(
            f"placement={placement!r} goes with a policy's name or Rules; {policy} chooses its placement in rules()."
        )
    return policy
