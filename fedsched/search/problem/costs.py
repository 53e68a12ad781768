"""Prices of plans by the federation's signals (price, carbon), if objectives ask for them [65]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.errors import InfeasibleError
from fedsched.model.schedule.power_draw import Pricing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.model.machine.federation import Federation
    from fedsched.search.problem.objectives import Objectives


def told_by(names: Sequence[str], pricing: Pricing) -> tuple[str, ...]:
    """Return which of these metrics follow from the federation's signals."""
    signals = pricing.federation.signals
    return tuple(name for name in names if name in pricing.tariffs or (name == "peak_watts" and signals))


def pricing_for(objectives: Objectives, federation: Federation) -> Pricing | None:
    """Return the pricing of plans, or None if no objective needs it; raise if the federation lacks a signal for it."""
    asked = objectives.priced
    if not asked:
        return None
    pricing = Pricing(federation)
    told = told_by(asked, pricing)
    for name in asked:
        if name not in told:
            kind, option = ("price", "tariff") if name == "cost" else ("carbon", "carbon")
            raise InfeasibleError(
                f"optimize: objective {name!r} needs a {kind} signal, and the federation has none; give it signals= "
                f"(fedsched: --{option})."
            )
    if any(one.on_running != "wait" for one in federation.calendar):
        raise InfeasibleError(
            f"optimize: objective {asked[0]!r} with downtimes that take running jobs' nodes, whose lost runs plans do "
            "not price; leave out on_running=, or seek another metric."
        )
    return pricing
