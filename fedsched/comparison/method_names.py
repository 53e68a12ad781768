"""Methods of a comparison, found by name: searches, policies, gang schedulers and metaschedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.comparison.entrants import Entrant, PolicyEntrant, SearchEntrant, policy_entrant
from fedsched.core.errors import shown
from fedsched.core.plugins import METHODS, offered
from fedsched.gang.presets import NAMED
from fedsched.market.methods import METHODS as MARKET
from fedsched.optimize.entry_point import SEEDS
from fedsched.policies import POLICIES as OWN_POLICIES
from fedsched.policies import Policy, check_policy_name
from fedsched.search.methods.methods import ALIASES, is_method
from fedsched.search.methods.methods import METHODS as OWN_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def entrant_of(method: str | Entrant | Policy, baselines: Sequence[str] | None) -> Entrant:
    """Return the entrant of that name or policy; an entrant is returned as it is."""
    if not isinstance(method, str):
        if isinstance(method, Entrant):
            return method
        if isinstance(method, Policy) and not isinstance(method, type):
            return policy_entrant(method)
        raise TypeError(
            f"compare: method {shown(method)} must be a name, a policy, or an object with `name` and `run`."
        )
    if method in NAMED:
        from fedsched.comparison.gangs import GangEntrant

        return GangEntrant.named(method)
    if method in MARKET:
        from fedsched.comparison.markets import MarketEntrant

        return MarketEntrant.named(method)
    return SearchEntrant(method, baselines) if is_search(method) else PolicyEntrant(method)


def is_search(name: str) -> bool:
    """Return whether a name is that of a search: `ga`, or `ga:random` for other initial plans."""
    method, colon, seeds = name.lower().partition(":")
    return (not colon or seeds in SEEDS) and is_method(method)


def check_kinds(methods: Iterable[str | Entrant], instances: Sequence[object]) -> None:
    """Raise for the first method that can run on none of the instances, before anything runs."""
    words = {"Instance": "a log", "GangInstance": "gang", "MarketInstance": "market"}
    for method in methods:
        entrant = entrant_of(method, None)
        name, kind = entrant.name, getattr(entrant, "runs_on", object)
        if not any(isinstance(one, kind) for one in instances):
            where = words.get(kind.__name__, kind.__name__)
            raise ValueError(
                f"compare: method {name!r} runs on {where}, which is not named here; name it, or leave it out."
            )


def check_names(names: Iterable[str]) -> None:
    """Raise for the first name of no method."""
    for name in names:
        if not is_search(name):
            check_policy_name(name, kind="method or policy", also={*every_name(), *offered(METHODS)})


def every_name() -> frozenset[str]:
    """Return the names of all methods of fedsched's own."""
    return frozenset({*OWN_METHODS, *ALIASES, *OWN_POLICIES, *NAMED, *MARKET})
