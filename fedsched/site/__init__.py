"""What touches a living cluster: its twin, forecasts of starts, steering its queue, and tuning its slurm.conf.

What Slurm's commands print comes in. Replays, forecasts, and commands that can be undone go out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.lazy import lazily

if TYPE_CHECKING:
    from fedsched.site import outlook as outlook
    from fedsched.site import steer as steer
    from fedsched.site import tuning as tuning
    from fedsched.site import twin as twin

_HOMES = {
    "outlook": "site.outlook",
    "steer": "site.steer",
    "tuning": "site.tuning",
    "twin": "site.twin",
}
__all__ = [
    "outlook",
    "steer",
    "tuning",
    "twin",
]
__getattr__, __dir__ = lazily(__name__, _HOMES)
