"""The policy of a scenario: a named one with changed rules, a rolling search, or a site's Slurm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fedsched.core.errors import FieldError
from fedsched.policies import ListHeuristic, Rules, check_policy_name, policy_named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from fedsched.engine.sharing import NodeSharing
    from fedsched.policies import Policy
    from fedsched.slurm import Slurm

ROLLING, SLURM = "rolling", "slurm"
BLOCK = "block"  # the sharing of Slurm's own scheduler
OF_SLURM_ALONE = f"goes with {{policy}} {SLURM}"  # as FieldError's words
OF_ROLLING = f"goes with {{policy}} {ROLLING}"
OF_RULES = ("order", "dispatch", "backfill_order")
OF_SLURM = ("conf", "slurm_version", "assoc", "clocks", "passes", "completing")
OF_SEARCH = ("method", "window", "evaluations", "every", "objective")


class NotOfPolicyError(FieldError):
    """The error that a setting does not go with the policy; the setting's name is the first of `fields`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    """A policy by name, with changes to its rules or to its search's settings.

    Parameters
    ----------
    name
        A name of `fedsched.policies.POLICIES`, "rolling", or "slurm".
    order, dispatch, backfill_order, placement
        Rules that replace the named policy's own.
    method, window, evaluations, every, objective
        For "rolling", as in `fedsched.Rolling`.
    conf, slurm_version, assoc, clocks, passes, completing
        For "slurm", as in `fedsched.policies.Slurm`; without a machine, the conf's own is used.
    sharing, reservation
        For shared nodes: which nodes come first, and what EASY's reservation sees of them, as `choice` and
        `reservation` of `NodeSharing`.

    Examples
    --------
    >>> from fedsched.study import Log, PolicyChoice
    >>> scenario = fs.Scenario(jobs=Log(file="sample", head=50), policy=PolicyChoice(name="easy", order="sjf"))
    >>> scenario.simulate().policy
    'sjf-easy on fastest'
    """

    name: str = "easy"
    order: str | None = None
    dispatch: str | None = None
    backfill_order: str | None = None
    placement: str | None = None
    method: str | None = None
    window: int | None = None
    evaluations: int | None = None
    every: str | float | None = None
    objective: str | None = None
    conf: str | None = None
    assoc: tuple[str, ...] = ()
    clocks: str | None = None
    passes: str | None = None
    completing: int | None = None
    slurm_version: str | None = None
    sharing: str | None = None
    reservation: str | None = None

    def __post_init__(self) -> None:
        check_policy_name(self.name, also=(ROLLING, SLURM))

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the paths of the files that the policy reads: conf, accounts and clocks."""
        return tuple(filter(None, (self.conf, *self.assoc, self.clocks)))

    def given(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the values of the named fields by name, without those that are not set (None or ())."""
        return {name: value for name in names if (value := getattr(self, name)) not in (None, ())}

    @property
    def shared(self) -> NodeSharing | None:
        """Return how jobs share nodes; None: each task has its own node. Raise for a reservation without sharing."""
        if self.sharing is None:
            if self.reservation is not None:
                raise NotOfPolicyError("{reservation} {} goes with {sharing}; leave it out.", self.reservation)
            return None
        from fedsched.engine.sharing import NodeSharing

        return NodeSharing(**{**self.given(("reservation",)), "choice": self.sharing})

    def policy(self, *, seed: int = 0, checkpoint: str | PathLike[str] | None = None) -> Policy | Slurm:
        """Return the policy to simulate; raise NotOfPolicyError for a setting that does not go with it.

        Parameters
        ----------
        seed
            The seed of a rolling policy's plans.
        checkpoint
            The file where a rolling policy's run saves itself.
        """
        shared = self.shared  # refuses a reservation without it, whatever the policy
        if self.name.lower() == SLURM:
            from fedsched.slurm import Slurm

            if shared is not None and shared.choice != BLOCK:
                why = f"is not how {SLURM} chooses nodes; give {BLOCK}."
                raise NotOfPolicyError(f"{{sharing}} {{}} {why}", self.sharing)
            self._refuse(("reservation",), "says what EASY sees of shared nodes")
            self._refuse((*OF_RULES, "placement", *OF_SEARCH), "is what policy slurm has in its conf")
            if checkpoint is not None:
                raise NotOfPolicyError(f"{{checkpoint}} {{}} {OF_ROLLING}; leave it out.", checkpoint)
            if self.conf is None:
                raise ValueError("policy slurm needs a conf, the path of a slurm.conf (fedsched: --conf).")
            return Slurm(**self.given(OF_SLURM))
        self._refuse(OF_SLURM, OF_SLURM_ALONE)
        if self.name.lower() == ROLLING:
            from fedsched.optimize.rolling import Rolling

            self._refuse(OF_RULES, "is found by the search")
            settings = self.given((*OF_SEARCH, "placement"))
            if isinstance(self.every, str):
                settings["every"] = _seconds(self.every)
            return Rolling(**settings, seed=seed, checkpoint=checkpoint)
        self._refuse(OF_SEARCH, OF_ROLLING)
        if checkpoint is not None:
            raise NotOfPolicyError(f"{{checkpoint}} {{}} {OF_ROLLING}; leave it out.", checkpoint)
        known = policy_named(self.name)
        if not isinstance(known, Rules):
            by_itself = f"is what policy {self.name.lower()!r} chooses itself"
            self._refuse(("order", "backfill_order", "placement"), by_itself)
            if isinstance(known, ListHeuristic):
                return replace(known, **self.given(("dispatch",)))
            self._refuse(("dispatch",), by_itself)
            return known
        changed = self.given(OF_RULES)
        return replace(known, **changed, **self.given(("placement",)), name="" if changed else self.name.lower())

    def _refuse(self, names: Sequence[str], why: str) -> None:
        for name, value in self.given(names).items():
            raise NotOfPolicyError(f"{{{name}}} {{}} {why}; leave it out.", value)


def _seconds(every: str) -> str | float:
    try:
        return float(every)
    except ValueError:
        return every  # a word, which the policy checks
