"""Gymnasium's descriptions of observations and actions (spaces), and the observations made from the arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from gymnasium import spaces

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

    from fedsched.gym.runs import Observations

    Observation: TypeAlias = dict[str, NDArray[Any]]


def observation_space(seen: Observations) -> spaces.Space[Observation]:
    """Return the observation space of one run: arrays of numbers in [0, 1], and the mask of actions."""
    inner: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(0.0, 1.0, shape=array.shape[1:], dtype=np.float32)
        for name, array in seen._asdict().items()
        if name != "action_mask"
    }
    inner["action_mask"] = spaces.MultiBinary(seen.action_mask.shape[1])
    return cast("spaces.Space[Observation]", spaces.Dict(inner))


def action_space(seen: Observations) -> spaces.Discrete:
    """Return the action space: a number for each observed place in the queue, and a last one that starts no job."""
    return spaces.Discrete(seen.action_mask.shape[1])


def observation_of(seen: Observations, b: int) -> Observation:
    """Return run b's observation, as copies by name, since the next step overwrites the arrays."""
    return {name: array[b].copy() for name, array in seen._asdict().items()}
