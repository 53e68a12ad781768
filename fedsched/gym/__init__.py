"""Gymnasium environments, in which a learnt policy decides a simulation job by job (docs/how-to/learn-a-policy.md)."""

from __future__ import annotations

from fedsched.core.errors import MissingExtraError

try:
    import gymnasium
except ImportError as error:
    raise MissingExtraError(
        "fedsched.gym needs gymnasium, which is not installed; install the extra: pip install 'fedsched[gym]'."
    ) from error

from fedsched.gym.environment import SchedulingEnv
from fedsched.gym.features import ProgressFeature, RunningFeature, WaitingFeature
from fedsched.gym.vector import SchedulingVectorEnv

__all__ = ["ID", "ProgressFeature", "RunningFeature", "SchedulingEnv", "SchedulingVectorEnv", "WaitingFeature"]

ID = "fedsched/Scheduling-v0"  # the name under which gymnasium.make and make_vec find the environments

gymnasium.register(
    ID,
    entry_point="fedsched.gym:SchedulingEnv",
    vector_entry_point="fedsched.gym:SchedulingVectorEnv",
)
