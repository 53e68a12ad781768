"""A runner beside a real Slurm that tests have brought up: it lives on that one's clock, and may be somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.site.steer.commands import Shell

if TYPE_CHECKING:
    from slurm.cluster import SlurmCluster

    from fedsched.site.steer.commands import Command


class Beside(Shell):
    """Runs commands on the clock of a Slurm, as root or as one of its users."""

    def __init__(self, slurm: SlurmCluster, user: str = "root") -> None:
        super().__init__(slurm._environment)
        self._slurm, self._user = slurm, user

    def run(self, command: Command) -> str:
        """Return what a command printed."""
        as_user = () if self._user == "root" else ("setpriv", f"--reuid={self._user}", "--clear-groups")
        return super().run((*as_user, *command))

    def now(self) -> float:
        """Return the time by the Slurm's clock."""
        return self._slurm.clock.now()

    def user(self) -> str:
        """Return who runs them."""
        return self._user
