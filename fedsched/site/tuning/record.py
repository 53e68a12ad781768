"""The result of a tuning: a front of confs, each with its changes, its objectives, and a check on later jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.text import counted, one_line
from fedsched.site.tuning.confs import changed, changed_texts, diff_of, value_in
from fedsched.site.tuning.genes import commands_of, with_limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from fedsched.io.slurm_files.slurm_conf import SlurmConf
    from fedsched.slurm.priority.associations import Associations

KNEE = "knee"


@dataclass(frozen=True, slots=True)
class Tuned:
    r"""One conf that was tried: its changes to the site's own conf (none for that conf itself), and its objectives.

    Objectives are means over simulations with different phases (shifts) of Slurm's clocks.

    Parameters
    ----------
    conf, accounts
        The site's own conf and accounts.
    changes
        The changed values, by parameter.
    values, spread
        The objectives on the jobs of the search, and the greatest minus the least of each over the phases.
    checked
        The objectives on later jobs, which the search has not seen.
    holds
        Whether no objective that improved is worse than the site's own on later jobs.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = "SchedulerParameters=bf_interval=600\nNodeName=n[1-128]\nPartitionName=p Nodes=ALL Default=YES"
    >>> written = Path("slurm.conf").write_text(text)
    >>> jobs = fs.read("lublin-128", nodes=128).head(200)
    >>> tuning = fs.tune("slurm.conf", jobs, genes=["bf_interval"], simulations=12, seed=1)
    >>> sorted(tuning.choose().changes)
    ['bf_interval']
    """

    conf: SlurmConf = field(repr=False)  # the site's own
    changes: Mapping[str, str]
    values: tuple[float, ...]  # objectives on the jobs of the search
    spread: tuple[float, ...]  # greatest minus least objective over the phases
    checked: tuple[float, ...] | None = None  # objectives on later jobs, which the search has not seen
    holds: bool | None = None  # no objective that improved is worse than the site's own on later jobs
    accounts: Associations | None = field(default=None, repr=False)  # the site's own

    @property
    def tuned_conf(self) -> SlurmConf:
        """Return the changed conf, for `policies.Slurm`."""
        return changed(self.conf, self.changes)

    @property
    def diff(self) -> str:
        """Return the changes as a diff, for `patch`."""
        return diff_of(self.conf, self.changes)

    @property
    def tuned_accounts(self) -> Associations | None:
        """Return the site's accounts with the changed limits, for `policies.Slurm`; None if there are no accounts."""
        return None if self.accounts is None else with_limits(self.accounts, self.changes)

    @property
    def commands(self) -> tuple[str, ...]:
        """Return the sacctmgr commands that set the changed limits."""
        return tuple(commands_of(self.changes))

    def write(self, folder: str | PathLike[str]) -> list[Path]:
        """Write `slurm.diff`, the changed files and, if limits change, `limits.sh` to a folder; return the paths."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        written = [target / "slurm.diff"]
        written[0].write_text(self.diff, encoding="utf-8")
        for path, (_, after) in changed_texts(self.conf, self.changes).items():
            written.append(target / Path(path).name)
            written[-1].write_text(after, encoding="utf-8")
        if self.commands:
            written.append(target / "limits.sh")
            written[-1].write_text("".join(f"{one}\n" for one in self.commands), encoding="utf-8")
        return written

    def __str__(self) -> str:
        was = {name: value_in(self.conf, name, self.accounts) for name in self.changes}
        said = ", ".join(f"{name} {was[name]} → {value}" for name, value in self.changes.items())
        return one_line(said) or "as it is"


@dataclass(frozen=True, slots=True)
class Tuning:
    r"""The front of confs that a search found, beside the conf as it is.

    Parameters
    ----------
    objectives, genes
        The objectives, and the parameters that were searched.
    current, front
        The site's conf as it is, and the confs found, sorted by the first objective.
    jobs, checked_jobs
        The number of jobs that the search saw, and of later jobs on which confs were checked.
    phases, simulations, seconds
        The phases of Slurm's clocks in seconds, the number of simulations, and the seconds that the search took.
    notes
        What is assumed or left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = "SchedulerParameters=bf_interval=600\nNodeName=n[1-128]\nPartitionName=p Nodes=ALL Default=YES"
    >>> written = Path("slurm.conf").write_text(text)
    >>> jobs = fs.read("lublin-128", nodes=128).head(200)
    >>> tuning = fs.tune("slurm.conf", jobs, genes=["bf_interval"], simulations=12, seed=1)
    >>> tuning.objectives, len(tuning.front)
    (('mean_wait', 'bounded_slowdown', 'max_wait'), 1)
    """

    objectives: tuple[str, ...]
    current: Tuned
    front: tuple[Tuned, ...]  # least of the first objective first
    genes: tuple[str, ...]
    jobs: int
    checked_jobs: int
    phases: tuple[int, ...]
    simulations: int
    seconds: float
    notes: tuple[str, ...] = ()
    seed: int = 0

    def __len__(self) -> int:
        return len(self.front)

    def __iter__(self) -> Iterator[Tuned]:
        return iter(self.front)

    def choose(self, by: str = KNEE) -> Tuned:
        """Return one conf of the front: the knee, or the best in the objective named by `by`.

        The knee is the conf nearest to the best values of all objectives, each scaled to its range. If some confs hold
        on later jobs, only these are considered.
        """
        if not self.front:
            raise ValueError("Tuning.choose: no conf that was tried is better than the current one in any objective.")
        kept = [one for one in self.front if one.holds] or list(self.front)
        values = np.array([one.values for one in kept])
        if by in self.objectives:
            return kept[int(np.argmin(values[:, self.objectives.index(by)]))]
        if by != KNEE:
            raise unknown_name("choice of a conf", by, (KNEE, *self.objectives))
        least, extent = values.min(axis=0), np.ptp(values, axis=0)
        scaled = (values - least) / np.where(extent > 0.0, extent, 1.0)
        return kept[int(np.argmin((scaled**2).sum(axis=1)))]

    def rows(self) -> list[list[str]]:
        """Return a table of texts: its head, a row for the conf as it is, and a row for each conf of the front."""
        head = [*self.objectives, "spread", *(["later jobs", "holds"] if self.checked_jobs else []), "changes"]
        found = [head]
        for one in (self.current, *self.front):
            line = [f"{value:,.4g}{self._beside(one, place)}" for place, value in enumerate(one.values)]
            line.append(" ".join(f"{value:,.3g}" for value in one.spread))
            if self.checked_jobs:
                line.append(" ".join(f"{value:,.4g}" for value in one.checked or ()))
                line.append({None: "", True: "yes", False: "no"}[one.holds])
            found.append([*line, str(one)])
        return found

    def _beside(self, one: Tuned, place: int) -> str:
        base = self.current.values[place]
        return "" if one is self.current or not base else f" ({one.values[place] / base - 1.0:+.1%})"

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
        lines = ["  ".join([*(f"{cell:>{wide}}" for cell, wide in zip(row, widths, strict=False)), row[-1]])
                 for row in rows]  # fmt: skip
        return "\n".join([*lines, self.summary, *map(one_line, self.notes)])

    @property
    def summary(self) -> str:
        """Return in words the numbers of jobs, parameters and simulations, and the phases."""
        later = f", checked on {counted(self.checked_jobs, 'later job')}" if self.checked_jobs else ""
        return (
            f"{counted(self.jobs, 'job')}{later}; {counted(len(self.genes), 'parameter')}, phases of the clocks "
            f"{', '.join(map(str, self.phases))} s; {counted(self.simulations, 'simulation')}, seed {self.seed}."
        )
