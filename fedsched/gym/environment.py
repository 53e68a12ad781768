"""SchedulingEnv: one simulation as a Gymnasium environment that is decided job by job."""

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

    from fedsched.core.names import PlacementName, SharingName
    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.engine.sharing import NodeSharing
    from fedsched.gym.spaces import Observation
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.schedule.schedule import Schedule


class SchedulingEnv(gymnasium.Env["Observation", "np.int64"]):
    """A simulation in which every job start is an action (docs/readings 32 and 33; docs/how-to/learn-a-policy.md).

    Parameters
    ----------
    workload, federation
        The jobs, and the machine that they run on.
    jobs
        Jobs of an episode: that many consecutive jobs of the log. The first row is drawn, unless
        `reset(options={"first": row})` gives it. They are a workload of their own: conditions on jobs outside count
        as met, and limits count these jobs alone. By default an episode is the whole workload.
    objective, weights
        A metric, or several with weights. An episode's rewards add up to its negative (utilisation: to itself).
        Each reward is the change that jobs finished since the last decision make in it; in a mean, each job counts as
        one of all jobs of the episode.
    order
        The queue order in which waiting jobs are shown, a name of `ORDERS`.
    placement, reading, caps, t0, running
        As in `simulate`; t0 and running are for the whole workload only.
    sharing
        As in `simulate`. On shared nodes, shares of nodes are observed as shares of cores; energies, utilisation and
        other metrics of nodes cannot be objectives.
    waiting_places, running_places
        The number of waiting jobs and of running jobs that are observed. Only observed jobs can be chosen.
    render_mode
        Must be None: nothing is rendered. `schedule()` returns the schedule so far, which can be drawn.

    Notes
    -----
    `step(k)` starts the job in place k if it fits; `step(waiting_places)` starts none. An answer that starts nothing
    advances the clock to the next instant at which a job fits. `info` holds "first" after `reset`: the row in order of
    arrival at which the episode begins. After the last step it holds "objective".

    Examples
    --------
    >>> from fedsched.gym import SchedulingEnv
    >>> env = SchedulingEnv(fs.Workload(submit=[0, 0], tasks=[4, 4], runtime=[600, 900]), 4)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, over, truncated, info = env.step(1)
    >>> over, int(env.waiting()[0])
    (False, 1)
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
        placement: PlacementName = "fastest",
        reading: Reading = USUAL,
        caps: NDArray[np.int64] | None = None,
        t0: float | None = None,
        running: RunningJobs | None = None,
        sharing: NodeSharing | SharingName | None = None,
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
            sharing=sharing,
            waiting_places=waiting_places,
            running_places=running_places,
        )
        self.observation_space = observation_space(self.episodes.seen)
        self.action_space = action_space(self.episodes.seen)
        self._most = int(self.action_space.n) - 1

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Return the first observation of an episode, and {"first": its first row in the log, in order of arrival}.

        `options={"first": row}` sets that row.

        Parameters
        ----------
        seed
            The seed of the draw of the episode's first row.
        options
            {"first": row} begins at this row instead.
        """
        super().reset(seed=seed)
        first = first_row(self.episodes, options, self.np_random)
        self.episodes.begin(0, first)
        self.episodes.advance_runs()
        refuse_undecided(self.episodes, 0)
        return observation_of(self.episodes.seen, 0), {"first": first}

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply an action; return the next observation, the reward, whether the episode is over, False, and info.

        An episode is never truncated. Raise ValueError if no episode is under way or there is no such action.
        """
        episodes = self.episodes
        if episodes.told.over[0]:
            raise ValueError("step: no episode is under way; call reset() first.")
        episodes.answers[0] = whole("step", "action", action, least=0, most=self._most)
        episodes.advance_runs()
        over = bool(episodes.told.over[0])
        info = {"objective": episodes.objective(0)} if over else {}
        return observation_of(episodes.seen, 0), float(episodes.told.reward[0]), over, False, info

    def schedule(self) -> Schedule:
        """Return the schedule of this episode so far; after its last step it is complete."""
        return self.episodes.schedule(0)

    def waiting(self) -> NDArray[np.int64]:
        """Return the ids of the jobs that an action can choose, in the order of their places."""
        return self.episodes.waiting(0)


def refuse_rendering(render_mode: str | None) -> None:
    """Raise ValueError if the render mode is not None: nothing can be rendered."""
    if render_mode is not None:
        raise ValueError(f"environment: render_mode={render_mode!r}: leave it out, and draw schedule().plot().")


def refuse_undecided(episodes: Episodes, which: int | NDArray[np.intp]) -> None:
    """Raise ValueError if one of these new episodes is over before its first decision."""
    if episodes.told.over[which].any():
        raise ValueError(
            "reset: the episode ends before its first decision, because each remaining job is cancelled first or can "
            "never start; leave such jobs out, or their cancel_at."
        )


def first_row(episodes: Episodes, options: Mapping[str, Any] | None, random: np.random.Generator) -> int:
    """Return the row at which an episode begins: the option "first", or a random one.

    Raise an error for other options, or a row that does not exist.
    """
    unknown = dict(options or {})
    row = unknown.pop("first", None)
    if unknown:
        raise ValueError(f"reset: unknown options {', '.join(sorted(map(repr, unknown)))}; the only option is 'first'.")
    if row is None:
        return int(random.integers(episodes.starts))
    return whole("reset", "options['first']", row, least=0, most=episodes.starts - 1)
