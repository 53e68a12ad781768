"""Reading: how the model's open choices were made, which figures must share to be comparable, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass

from fedsched.errors import unknown_name

SAME_TIME = ("batch", "sequential")
KNOWLEDGE = ("estimate", "runtime")
SATURATION = ("dynamic", "static")
SUBMITS = ("now", "keep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What plans know, and how instants, uplinks and estimates work: the options of `simulate`, with its defaults.

    None as `same_time` or `knowledge` means that it is not recorded, as in a schedule that was read from a plain file.
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


def in_words(submits: str, reading: Reading, planners: str = "") -> str:
    """Return under what a figure was made; `planners` are those that would see the submissions of jobs in advance."""
    arrivals = "all jobs wait from the start" if submits == "now" else "jobs arrive at their submit times"
    ahead = f"; {planners} all submissions in advance (clairvoyant)" if planners and submits == "keep" else ""
    return f"{arrivals}; {reading}{ahead}"
