"""By what jobs have their turn at a moment under priority/multifactor: nothing but what was known then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.slurm.conf.job_factors import Asked, Scales
from fedsched.slurm.priority.priority_parameters import PriorityParameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.site.twin import Site

    Column = NDArray[np.float64]
    Rows = NDArray[np.int64]


class Factors:
    """The priorities of a dump's jobs at any moment of it.

    Age, size, partition, QOS and association are computed. What the shares add is on record as a job begins alone, in
    the priority that is noted then: of each user it is what the latest of his jobs tells that had begun by the moment,
    and the median of all such users for who has none.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.parameters = PriorityParameters.of(site.machine.conf)
        self._scales = Scales(self.parameters, site.accounts)
        self._limits = site.limits
        self._fixed: dict[tuple[str | float, ...], float] = {}

    @property
    def there(self) -> bool:
        """Return whether priorities are made of factors at all; else a later job comes behind earlier ones."""
        return self.parameters.multifactor

    def at(self, moment: float, rows: Rows) -> Column:
        """Return the priorities of runs at a moment of the wall."""
        records = self.site.records
        shares = self._shares(moment)
        unknown = float(np.median(list(shares.values()))) if shares else 0.0
        of_user = np.array([shares.get(self._whose(row), unknown) for row in rows.tolist()], dtype=np.float64)
        age = self._age(np.maximum(0.0, moment - records.eligible[rows]))
        return np.maximum(1.0, self._asked(rows) + age + of_user)

    def _shares(self, moment: float) -> dict[tuple[str, str], float]:
        """Return what shares added to the latest start of everybody by a moment."""
        records = self.site.records
        begun = np.flatnonzero((records.start <= moment) & (records.priority > 0))
        begun = begun[np.argsort(records.start[begun], kind="stable")]
        latest = {self._whose(row): row for row in begun.tolist()}
        rows = np.array(list(latest.values()), dtype=np.int64)
        age = self._age(np.maximum(0.0, records.start[rows] - records.eligible[rows]))
        left = records.priority[rows] - self._asked(rows) - age
        return dict(zip(latest, left.tolist(), strict=True))

    def _whose(self, row: int) -> tuple[str, str]:
        labels = self.site.records.labels
        return labels["user"][row], labels["account"][row]

    def _age(self, seconds: Column) -> Column:
        weight, most = float(self.parameters.age), self.parameters.max_age
        return weight * np.clip(seconds / most, 0.0, 1.0) if 0.0 < most < np.inf else np.zeros(seconds.size)

    def _asked(self, rows: Rows) -> Column:
        """Return the factors that no clock changes."""
        found = np.empty(rows.size)
        for k, row in enumerate(rows.tolist()):
            found[k] = self._of(row)
        return found

    def _of(self, row: int) -> float:
        records = self.site.records
        label = {name: str(values[row]) for name, values in records.labels.items()}
        known = self.parameters.partitions
        partition = label["partition"] if label["partition"] in known else next(iter(known), "")
        key = (label["user"], label["account"], partition, label["qos"], int(records.nodes[row]),
               max(1, int(records.cpus[row])), float(self._limits[row]))  # fmt: skip
        if key not in self._fixed:
            asked = Asked(*key, amounts={"cpu": float(key[5]), "node": float(key[4])})
            fixed = self._scales.fixed_factors(asked)
            self._fixed[key] = fixed.assoc + fixed.size + fixed.partition + fixed.qos + sum(fixed.tres.values())
        return self._fixed[key]
