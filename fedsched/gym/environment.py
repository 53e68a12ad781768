"""SchedulingEnv: one simulation as a Gymnasium environment, decided job by job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

from fedsched.core.values import whole
from fedsched.gym.episodes import Episodes
from fedsched.gym.spaces import action_space, observation_of, observation_space
from fedsched.model.reading import USUAL, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.gym.spaces import Observation
    from fedsched.io.handed import AnyJobs, AnyMachine
    from fedsched.model.schedule.schedule import Schedule


class SchedulingEnv(gymnasium.Env["Observation", "np.int64"]):
    """A simulation whose every start is an action (docs/readings.md 32 and 33; docs/how-to/learn-a-policy.md).

    Parameters
    ----------
    workload, federation
        The jobs, and what they run on.
    jobs
        How many jobs that follow each other in the log make up an episode; where they begin is drawn, unless
        `reset(options={"first": row})` says so. All of the workload unless given, as it has to be where jobs wait for
        others or for a time of their own, may be cancelled, follow others, or are under limits.
    objective, weights
        A metric, or several with weights, of which an episode's rewards add up to the negative (utilisation: to
        itself): each is the change that finished jobs have made in it since the last one, a job's share in a mean being
        one in all jobs of the episode.
    order
        The queue order by which the waiting jobs are shown, a name of `ORDERS`.
    placement, reading, caps, t0, running
        As in `simulate`; t0 and running jobs go with the whole workload only.
    waiting_places, running_places
        How many waiting jobs, and how many running ones, are seen; only those that are seen can be chosen.
    render_mode
        None: there is nothing to render; `schedule()` is what came of it, and can be drawn.

    Notes
    -----
    `step(k)` starts the job in place k if it fits, `step(waiting_places)` is none; any answer that starts nothing goes
    to the next instant at which something fits. `info` has, after `reset`, the "first" row, in order of arrival; after
    the last step the "objective".
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        workload: AnyJobs,
        federation: AnyMachine,
        *,
        jobs: int | None = None,
        objective: str | Sequence[str] = "bounded_slowdown",
        weights: Sequence[float] | None = None,
        order: str = "fcfs",
        placement: str = "fastest",
        reading: Reading = USUAL,
        caps: NDArray[np.int64] | None = None,
        t0: float | None = None,
        running: RunningJobs | None = None,
        waiting_places: int = 128,
        running_places: int = 64,
        render_mode: str | None = None,
    ) -> None:
        refuse_rendering(render_mode)
        self.episodes = Episodes(
            workload,
            federation,
            runs=1,
            jobs=jobs,
            objective=objective,
            weights=weights,
            order=order,
            placement=placement,
            reading=reading,
            caps=caps,
            t0=t0,
            running=running,
            waiting_places=waiting_places,
            running_places=running_places,
        )
        self.observation_space = observation_space(self.episodes.seen)
        self.action_space = action_space(self.episodes.seen)
        self._most = int(self.action_space.n) - 1

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Return what is seen at the first decision of an episode, and {"first": where in the log it begins}.

        `options={"first": row}` chooses the row.
        """
        super().reset(seed=seed)
        first = first_row(self.episodes, options, self.np_random)
        self.episodes.begin(0, first)
        self.episodes.go_on()
        refuse_undecided(self.episodes, 0)
        return observation_of(self.episodes.seen, 0), {"first": first}

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Return what is seen at the next decision, the reward, whether all have ended that will, False, and info."""
        episodes = self.episodes
        if episodes.told.over[0]:
            raise ValueError("step: no episode is under way; call reset() first.")
        episodes.answers[0] = whole("step", "action", action, least=0, most=self._most)
        episodes.go_on()
        over = bool(episodes.told.over[0])
        info = {"objective": episodes.objective(0)} if over else {}
        return observation_of(episodes.seen, 0), float(episodes.told.reward[0]), over, False, info

    def schedule(self) -> Schedule:
        """Return what has been started in this episode until now: after its last step, the whole schedule."""
        return self.episodes.schedule(0)

    def waiting(self) -> NDArray[np.int64]:
        """Return the ids of the jobs among which is to be chosen, place by place."""
        return self.episodes.waiting(0)


def refuse_rendering(render_mode: str | None) -> None:
    """Raise where something is to be rendered."""
    if render_mode is not None:
        raise ValueError(f"environment: render_mode={render_mode!r}: leave it out, and draw schedule().plot().")


def refuse_undecided(episodes: Episodes, which: int | NDArray[np.intp]) -> None:
    """Raise where one of these episodes, which have just begun, is over already."""
    if episodes.told.over[which].any():
        raise ValueError(
            "reset: the episode is over before anybody could be asked, for every job that is left is cancelled first "
            "or can never start; leave such jobs out, or their cancel_at."
        )


def first_row(episodes: Episodes, options: Mapping[str, Any] | None, random: np.random.Generator) -> int:
    """Return the row at which an episode begins: as the options say, or drawn."""
    known = dict(options or {})
    row = known.pop("first", None)
    if known:
        raise ValueError(f"reset: options {', '.join(sorted(map(repr, known)))}: only 'first' is known.")
    if row is None:
        return int(random.integers(episodes.starts))
    return whole("reset", "options['first']", row, least=0, most=episodes.starts - 1)
