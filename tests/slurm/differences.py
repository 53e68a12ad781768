"""Where Slurm decided otherwise than a plan on named nodes, and why: each was looked at, a test holds the list true.

Named is with whom it begins; whoever then starts earlier or later for that is not.
"""

from __future__ import annotations

TIE = "its limit fits before a planned start with less to spare than the clocks; when Slurm's pass came it did not"
LATE = "its limit fits before the maintenance; on Slurm the runs before it began later by a pass each, and it did not"
CHOICE = "the plan is for nodes of other numbers than those that Slurm chose, and leaves it one"

BECAUSE: dict[str, dict[str, str]] = {
    "maintenance-backfill": {"j25": TIE},
    "maintenance-alone": {"j25": TIE, "j15": LATE},
    "begin-backfill": {"j16": TIE, "j27": TIE},
    "chains-backfill": {"j7": TIE, "j13": CHOICE},
    "array-backfill": {"j5": CHOICE},
}
