"""Work with a real Slurm cluster: its twin, forecasts of job starts, steering its queue, and tuning its slurm.conf.

The input is what Slurm's commands print. The output is simulations, forecasts, and Slurm commands that can be undone.
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
