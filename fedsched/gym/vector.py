"""SchedulingVectorEnv: many simulations as one Gymnasium vector environment, with one compiled call for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from fedsched.core.values import whole
from fedsched.gym.environment import first_row, refuse_rendering, refuse_undecided
from fedsched.gym.episodes import Episodes
from fedsched.gym.spaces import action_space, observation_of, observation_space
from fedsched.model.reading import USUAL, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from fedsched.core.names import PlacementName, SharingName
    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.engine.sharing import NodeSharing
    from fedsched.gym.spaces import Observation
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.schedule.schedule import Schedule


class SchedulingVectorEnv(VectorEnv["Observation", "NDArray[np.int64]", "NDArray[Any]"]):
    """Simulations side by side, each decided as in a `SchedulingEnv`; one compiled call per step advances all.

    Environment b does the same as a `SchedulingEnv` that is reset with seed + b.

    Parameters
    ----------
    workload, federation, jobs, objective, weights, order, placement, reading, caps, t0, running, sharing
        As of `SchedulingEnv`.
    waiting_places, running_places, render_mode
        As of `SchedulingEnv`.
    num_envs
        The number of simulations.
    autoreset_mode
        When the next episode begins after one is over: with the next step; in the same step (the last observation
        is then `info["final_obs"]`); or, "Disabled", with `reset(options={"reset_mask": …})`.
    copy
        Whether observations are copies. If not, they are the arrays that the next step overwrites.

    Examples
    --------
    >>> from fedsched.gym import SchedulingVectorEnv
    >>> envs = SchedulingVectorEnv(fs.read("sample"), 128, num_envs=2, jobs=20)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations["waiting"].shape
    (2, 128, 7)
    """

    def __init__(
        self,
        workload: AnyJobs,
        federation: AnyMachine,
        *,
        num_envs: int = 1,
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
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        refuse_rendering(render_mode)
        self.episodes = Episodes(
            workload,
            federation,
            runs=num_envs,
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
        self.num_envs, self.copy = num_envs, copy
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space(self.episodes.seen)
        self.single_action_space = action_space(self.episodes.seen)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._randoms: list[np.random.Generator | None] = [None] * num_envs
        self._begun = False

    # ---- where episodes begin -----------------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Return the random generators that draw the first rows of episodes, one for each simulation."""
        return tuple(self._random(b) for b in range(self.num_envs))

    def _random(self, b: int) -> np.random.Generator:
        if (known := self._randoms[b]) is None:
            known = self._randoms[b] = seeding.np_random()[0]
        return known

    def _begin(self, which: NDArray[np.intp], options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        # Begins these episodes with the next advance_runs; returns their info.
        info: dict[str, Any] = {}
        known = dict(options or {})
        rows = known.pop("first", None)
        if rows is not None and np.shape(rows) not in ((), (self.num_envs,)):
            raise ValueError(f"reset: options['first'] must be one row, or {self.num_envs} of them.")
        for b in which.tolist():
            here = known if rows is None else known | {"first": np.broadcast_to(rows, self.num_envs)[b]}
            first = first_row(self.episodes, here, self._random(b))
            self.episodes.begin(b, first)
            info = self._add_info(info, {"first": first}, b)
        return info

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in every simulation, or in those of a mask; return observations, and the first rows.

        The info holds "first": the row of the log at which each episode begins.

        Parameters
        ----------
        seed
            The first simulation's seed; the next ones get the next numbers. Or one seed each.
        options
            "first": the row at which all begin, or one row each; "reset_mask": booleans, true for those that begin.
        """
        known = dict(options or {})
        which = _masked(known.pop("reset_mask", None), self.num_envs)
        for b, one in enumerate(_seeds(seed, self.num_envs)):
            if one is not None:
                self._randoms[b] = seeding.np_random(one)[0]
        self.episodes.rest()
        info = self._begin(which, known)
        self.episodes.advance_runs()
        refuse_undecided(self.episodes, which)
        self._begun = True
        return self._seen(), info

    # ---- steps --------------------------------------------------------------------------------------------------

    def step(
        self, actions: ArrayLike
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Apply one action each; return observations, rewards, whether episodes are over, False for each, and info.

        Episodes are never truncated. What follows an episode's end depends on `autoreset_mode`.
        """
        episodes, told = self.episodes, self.episodes.told
        if not self._begun:
            raise ValueError("step: no episode is under way; call reset() first.")
        before = told.over == 1
        episodes.answers[:] = self._checked(actions)
        info: dict[str, Any] = {}
        if before.any():
            if self.autoreset_mode != AutoresetMode.NEXT_STEP:
                raise ValueError(
                    f"step: the episode of environment {int(before.argmax())} is over; begin the next one: "
                    "reset(options={'reset_mask': …})."
                )
            info = self._begin(np.flatnonzero(before))
        episodes.advance_runs()
        rewards, over = told.reward.copy(), told.over == 1
        for b in np.flatnonzero(over).tolist():
            info = self._ended(b, info)
        if self.autoreset_mode == AutoresetMode.SAME_STEP and over.any():
            episodes.rest()
            info |= self._begin(np.flatnonzero(over))
            episodes.advance_runs()
        return self._seen(), rewards, over, np.zeros(self.num_envs, dtype=np.bool_), info

    def _ended(self, b: int, info: dict[str, Any]) -> dict[str, Any]:
        last: dict[str, Any] = {"objective": self.episodes.objective(b)}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            last = {"final_obs": observation_of(self.episodes.seen, b), "final_info": last}
        return self._add_info(info, last, b)

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(actions)
        most = self.episodes.seen.action_mask.shape[1] - 1
        if given.shape != (self.num_envs,) or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(
                f"step: actions of shape {given.shape} and type {given.dtype} must be {self.num_envs} whole numbers."
            )
        if given.min() < 0 or given.max() > most:
            wrong = int(given[(given < 0) | (given > most)][0])
            raise ValueError(f"step: action={wrong} must be between 0 and {most}.")
        return given.astype(np.int64)

    def _seen(self) -> Observation:
        seen = self.episodes.seen
        return {name: array.copy() if self.copy else array for name, array in seen._asdict().items()}

    def schedule(self, b: int) -> Schedule:
        """Return environment b's schedule so far.

        With autoreset in the same step it is that of the next episode.
        """
        return self.episodes.schedule(whole("schedule", "b", b, least=0, most=self.num_envs - 1))


def _seeds(seed: int | Sequence[int | None] | None, runs: int) -> list[int | None]:
    if seed is None:
        return [None] * runs
    if isinstance(seed, int | np.integer):
        return [int(seed) + b for b in range(runs)]
    if len(seed) != runs:
        raise ValueError(f"reset: {len(seed)} seeds for {runs} environments; give one, or one each.")
    return list(seed)


def _masked(mask: Any, runs: int) -> NDArray[np.intp]:
    if mask is None:
        return np.arange(runs)
    given = np.asarray(mask)
    if given.shape != (runs,) or given.dtype != np.bool_ or not given.any():
        raise ValueError(f"reset: options['reset_mask'] must be {runs} booleans, one of them true.")
    return np.flatnonzero(given)
