"""Reading: how the model's open choices were made, which figures must share to be comparable, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal, get_args

from fedsched.errors import unknown_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedsched.model.workload import Workload

SameTime = Literal["batch", "sequential"]
Knowledge = Literal["estimate", "runtime"]
Saturation = Literal["dynamic", "static"]
Submits = Literal["now", "keep"]

SAME_TIME: tuple[str, ...] = get_args(SameTime)
KNOWLEDGE: tuple[str, ...] = get_args(Knowledge)
SATURATION: tuple[str, ...] = get_args(Saturation)
SUBMITS: tuple[str, ...] = get_args(Submits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the model's open choices are made: what plans know, and how instants, uplinks and estimates work.

    Parameters
    ----------
    same_time
        "batch": all finishes of an instant, then its submissions, then one dispatch pass. "sequential": one event
        at a time, a pass after each. None: not recorded, as in a schedule that was read from a plain file.
    knowledge
        "estimate": plans see what users asked for. "runtime": they see true run times (clairvoyant). None: not
        recorded.
    saturation
        "dynamic": rates follow the load of the uplinks. "static": a job's rate is fixed at its start.
    kill_at_estimate
        A job runs min(runtime, estimate).
    """

    same_time: str | None = "batch"
    knowledge: str | None = "estimate"
    saturation: str = "dynamic"
    kill_at_estimate: bool = False

    def __post_init__(self) -> None:
        if self.same_time is not None and self.same_time not in SAME_TIME:
            raise unknown_name("same_time", self.same_time, SAME_TIME)
        if self.knowledge is not None and self.knowledge not in KNOWLEDGE:
            raise unknown_name("knowledge", self.knowledge, KNOWLEDGE)
        if self.saturation not in SATURATION:
            raise unknown_name("saturation", self.saturation, SATURATION)
        if self.kill_at_estimate not in (True, False):
            raise TypeError(f"kill_at_estimate={self.kill_at_estimate!r} must be True or False.")
        object.__setattr__(self, "kill_at_estimate", bool(self.kill_at_estimate))

    def but(
        self,
        *,
        same_time: str | None = None,
        knowledge: str | None = None,
        saturation: str | None = None,
        kill_at_estimate: bool | None = None,
    ) -> Reading:
        """Return the reading with the words that are given in place of its own; None leaves one as it is."""
        if same_time is None and knowledge is None and saturation is None and kill_at_estimate is None:
            return self
        return Reading(
            same_time=self.same_time if same_time is None else same_time,
            knowledge=self.knowledge if knowledge is None else knowledge,
            saturation=self.saturation if saturation is None else saturation,
            kill_at_estimate=self.kill_at_estimate if kill_at_estimate is None else kill_at_estimate,
        )

    def settled(self, noun: str, *, whole_instants: bool = False) -> Reading:
        """Return itself, where a run can be made under it; else raise what is missing, or does not go with the noun."""
        for name, known in (("same_time", SAME_TIME), ("knowledge", KNOWLEDGE)):
            if getattr(self, name) is None:
                choices = " or ".join(f"{name}={one!r}" for one in known)
                raise ValueError(f"{noun}: the reading's {name} is not recorded; give {choices}.")
        if whole_instants and self.same_time != "batch":
            raise ValueError(
                f"{noun}: same_time={self.same_time!r} is for simulate() alone; plans take instants whole: 'batch'."
            )
        return self

    def beside(self, usual: Reading) -> dict[str, str | bool]:
        """Return the words in which it differs from another reading, without those that are not recorded."""
        words = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: word for name, word in words.items() if word is not None and word != getattr(usual, name)}

    def runtime(self, workload: Workload) -> NDArray[np.float64]:
        """Return how long the jobs run on reference nodes."""
        if not self.kill_at_estimate:
            return workload.runtime
        import numpy as np

        return np.minimum(workload.runtime, workload.estimate)

    def planned(self, workload: Workload) -> NDArray[np.float64]:
        """Return how long plans take the jobs to run."""
        return self.runtime(workload) if self.knowledge == "runtime" else workload.estimate

    def seen(self, workload: Workload) -> Workload:
        """Return the jobs as policies see them, which look at estimates."""
        return workload if self.knowledge != "runtime" else replace(workload, estimate=self.runtime(workload))

    def __str__(self) -> str:
        known = {
            "runtime": "run times are known (clairvoyant)",
            "estimate": "run times are unknown, estimates known",
            None: "what was known is not recorded",
        }
        said = [known[self.knowledge]]
        said += ["events of one instant come one after the other"] if self.same_time == "sequential" else []
        said += ["a job's rate stays as at its start"] if self.saturation == "static" else []
        said += ["jobs end at their estimate"] if self.kill_at_estimate else []
        return "; ".join(said)


USUAL = Reading()  # of simulate()
CLAIRVOYANT = Reading(knowledge="runtime")  # of searches and of what is compared with them, unless told otherwise
UNRECORDED = Reading(same_time=None, knowledge=None)


class Read:
    """What holds a reading says its words, too."""

    __slots__ = ()
    reading: Reading

    @property
    def same_time(self) -> str | None:
        """Return how events of one instant are read; None where that is not recorded."""
        return self.reading.same_time

    @property
    def knowledge(self) -> str | None:
        """Return what plans know of run times; None where that is not recorded."""
        return self.reading.knowledge

    @property
    def saturation(self) -> str:
        """Return how rates follow the uplinks."""
        return self.reading.saturation

    @property
    def kill_at_estimate(self) -> bool:
        """Return whether jobs end at their estimate."""
        return self.reading.kill_at_estimate


def in_words(submits: str, reading: Reading, planners: str = "") -> str:
    """Return under what a figure was made; `planners` are those that would see the submissions of jobs in advance."""
    arrivals = "all jobs wait from the start" if submits == "now" else "jobs arrive at their submit times"
    ahead = f"; {planners} all submissions in advance (clairvoyant)" if planners and submits == "keep" else ""
    return f"{arrivals}; {reading}{ahead}"
