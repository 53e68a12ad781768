"""Reading: the choices that the model leaves open, and their description in words.

Two figures are comparable only if they use the same choices.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, get_args

from fedsched.core.errors import unknown_name
from fedsched.core.names import Alternatives, Knowledge, SameTime, Saturation, Submits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload

SAME_TIME: tuple[str, ...] = get_args(SameTime)
KNOWLEDGE: tuple[str, ...] = get_args(Knowledge)
SATURATION: tuple[str, ...] = get_args(Saturation)
SUBMITS: tuple[str, ...] = get_args(Submits)
CHOICES: tuple[str, ...] = get_args(Alternatives)


class Timed(Protocol):
    """Protocol of anything with a run time and a requested time: a workload, or the alternative shapes of jobs."""

    @property
    def runtime(self) -> NDArray[np.float64]:
        """Return each run time in seconds on reference nodes, which have speed 1."""
        ...

    @property
    def estimate(self) -> NDArray[np.float64]:
        """Return each requested time in seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The choices that the model leaves open, as made for one run.

    They say what plans know of run times, how simultaneous events are ordered and how uplinks are shared. They also
    say whether jobs are killed at their estimate, and which shape jobs take.

    Parameters
    ----------
    same_time
        "batch": all finishes of an instant, then its submissions, then one scheduling pass. "sequential": one event
        at a time, each followed by a pass. None: not recorded, as in a schedule that was read from a plain file.
    knowledge
        "estimate": plans see what users asked for. "runtime": they see true run times (clairvoyant). None: not
        recorded.
    saturation
        "dynamic": rates follow the load of the uplinks. "static": a job's rate is fixed at its start. "fair": rates
        follow each job's share of uplinks that are shared max-min fairly.
    kill_at_estimate
        If true, each job runs for min(runtime, estimate) only.
    alternatives
        Which shape is given to a job that has several. "fixed": the recorded one. "smallest_area": the one of the least
        tasks × planned time. "earliest_finish": the one that is planned to end first when the job joins the queue.
        "free": the plans of a search choose. None: not recorded.

    Examples
    --------
    >>> reading = fs.Reading(knowledge="runtime")
    >>> reading.but(saturation="fair").beside(fs.Reading())
    {'knowledge': 'runtime', 'saturation': 'fair'}
    >>> fs.simulate(fs.read("sample").head(50), fs.read_federation("example"), reading=reading).knowledge
    'runtime'
    """

    same_time: SameTime | None = "batch"
    knowledge: Knowledge | None = "estimate"
    saturation: Saturation = "dynamic"
    kill_at_estimate: bool = False
    alternatives: Alternatives | None = "fixed"

    def __post_init__(self) -> None:
        if self.same_time is not None and self.same_time not in SAME_TIME:
            raise unknown_name("same_time", self.same_time, SAME_TIME)
        if self.knowledge is not None and self.knowledge not in KNOWLEDGE:
            raise unknown_name("knowledge", self.knowledge, KNOWLEDGE)
        if self.saturation not in SATURATION:
            raise unknown_name("saturation", self.saturation, SATURATION)
        if self.alternatives is not None and self.alternatives not in CHOICES:
            raise unknown_name("alternatives", self.alternatives, CHOICES)
        if self.kill_at_estimate not in (True, False):
            raise TypeError(f"kill_at_estimate={self.kill_at_estimate!r} must be True or False.")
        object.__setattr__(self, "kill_at_estimate", bool(self.kill_at_estimate))

    def but(
        self,
        *,
        same_time: SameTime | None = None,
        knowledge: Knowledge | None = None,
        saturation: Saturation | None = None,
        kill_at_estimate: bool | None = None,
        alternatives: Alternatives | None = None,
    ) -> Reading:
        """Return a copy of the reading with these choices replaced; None keeps the present choice.

        Parameters
        ----------
        same_time, knowledge, saturation, kill_at_estimate, alternatives
            The choices to replace, as of `Reading`.

        Examples
        --------
        >>> fs.Reading().but(knowledge="runtime").knowledge
        'runtime'
        """
        given = {
            "same_time": same_time, "knowledge": knowledge, "saturation": saturation,
            "kill_at_estimate": kill_at_estimate, "alternatives": alternatives,
        }  # fmt: skip
        words: dict[str, Any] = {name: word for name, word in given.items() if word is not None}
        return replace(self, **words) if words else self

    def settled(self, noun: str, *, whole_instants: bool = False) -> Reading:
        """Return the reading, ready for a run, with alternatives="fixed" if that choice is not recorded.

        Raise if `same_time` or `knowledge` is not recorded, or if `whole_instants` is set and same_time is not
        "batch". `noun` names the caller in errors.
        """
        for name, known in (("same_time", SAME_TIME), ("knowledge", KNOWLEDGE)):
            if getattr(self, name) is None:
                choices = " or ".join(f"{name}={one!r}" for one in known)
                raise ValueError(f"{noun}: the reading's {name} is not recorded; give {choices}.")
        if whole_instants and self.same_time != "batch":
            raise ValueError(
                f"{noun}: same_time={self.same_time!r} is for simulate() only; plans need same_time='batch'."
            )
        return self if self.alternatives is not None else replace(self, alternatives="fixed")

    def beside(self, usual: Reading) -> dict[str, str | bool]:
        """Return this reading's choices, by name, that differ from those of `usual`; unrecorded ones are left out.

        Examples
        --------
        >>> fs.Reading(saturation="fair").beside(fs.Reading())
        {'saturation': 'fair'}
        """
        words = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: word for name, word in words.items() if word is not None and word != getattr(usual, name)}

    def runtime(self, jobs: Timed) -> NDArray[np.float64]:
        """Return each run time in seconds on reference nodes, cut at the estimate if jobs are killed there."""
        if not self.kill_at_estimate:
            return jobs.runtime
        import numpy as np

        return np.minimum(jobs.runtime, jobs.estimate)

    def planned(self, jobs: Timed) -> NDArray[np.float64]:
        """Return the seconds that plans assume for each job: the run time if it is known, else the estimate."""
        return self.runtime(jobs) if self.knowledge == "runtime" else jobs.estimate

    def seen(self, workload: Workload) -> Workload:
        """Return the jobs as policies see them.

        If run times are known, estimates are replaced by run times and alternative shapes are dropped. Otherwise the
        workload is unchanged.
        """
        if self.knowledge != "runtime":
            return workload
        return replace(workload, estimate=self.runtime(workload), alternatives=None)

    def is_free(self, workload: Workload) -> bool:
        """Return whether plans choose the shapes of some of these jobs (alternatives="free")."""
        return self.alternatives == "free" and workload.alternatives is not None and workload.alternatives.jobs > 0

    def chooses_late(self, workload: Workload) -> bool:
        """Return whether some of these jobs get their shape only when they join the queue ("earliest_finish") [52]."""
        among = workload.alternatives
        return self.alternatives == "earliest_finish" and among is not None and among.jobs > 0

    def leaves_open(self, workload: Workload) -> bool:
        """Return whether some of these jobs have a shape that is not known in advance."""
        return self.is_free(workload) or self.chooses_late(workload)

    def __str__(self) -> str:
        known = {
            "runtime": "run times are known (clairvoyant)",
            "estimate": "run times are unknown, estimates known",
            None: "what was known is not recorded",
        }
        said = [known[self.knowledge]]
        said += ["events of one instant come one after the other"] if self.same_time == "sequential" else []
        said += ["a job's rate stays as at its start"] if self.saturation == "static" else []
        said += ["uplinks are shared max-min fairly"] if self.saturation == "fair" else []
        said += ["jobs end at their estimate"] if self.kill_at_estimate else []
        said += [SHAPES[self.alternatives]] if self.alternatives in SHAPES else []
        return "; ".join(said)


SHAPES = {
    "smallest_area": "jobs have the shapes of least area",
    "earliest_finish": "jobs take the shapes that are planned to end first",
    "free": "plans choose the jobs' shapes",
}
EXACT = "estimates are the run times, as no job has another request"
USUAL = Reading()  # of simulate()
CLAIRVOYANT = Reading(knowledge="runtime")  # of searches and of what is compared with them, by default
UNRECORDED = Reading(same_time=None, knowledge=None, alternatives=None)


class Read:
    """Mixin for a class with an attribute `reading`: it offers the reading's choices as properties of the class."""

    __slots__ = ()
    reading: Reading

    @property
    def same_time(self) -> str | None:
        """Return how simultaneous events are ordered, "batch" or "sequential"; None if that is not recorded."""
        return self.reading.same_time

    @property
    def knowledge(self) -> str | None:
        """Return what plans know of run times, "estimate" or "runtime"; None if that is not recorded."""
        return self.reading.knowledge

    @property
    def saturation(self) -> str:
        """Return how jobs' rates follow the load of the uplinks: "dynamic", "static" or "fair"."""
        return self.reading.saturation

    @property
    def kill_at_estimate(self) -> bool:
        """Return whether a job that runs longer than its estimate is killed at the estimate."""
        return self.reading.kill_at_estimate

    @property
    def alternatives(self) -> str | None:
        """Return the name of the rule that chooses among a job's shapes, such as "fixed"; None if not recorded."""
        return self.reading.alternatives


def in_words(submits: str, reading: Reading, planners: str = "", jobs: Timed | None = None) -> str:
    """Return, in words, under which conditions a figure holds: how jobs arrive, and the reading's choices.

    With submits="now", all jobs wait from the start. `planners` names planners that see all submissions in advance.
    With `jobs` it is said if plans know estimates and these are the run times.
    """
    arrivals = "all jobs wait from the start" if submits == "now" else "jobs arrive at their submit times"
    ahead = f"; {planners} all submissions in advance (clairvoyant)" if planners and submits == "keep" else ""
    exact = ""
    if jobs is not None and len(jobs.runtime) and reading.knowledge == "estimate":
        exact = f"; {EXACT}" if (jobs.estimate == jobs.runtime).all() else ""
    return f"{arrivals}; {reading}{exact}{ahead}"
