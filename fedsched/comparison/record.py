"""The runs of a comparison, and the methods that analyse them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedsched.comparison.convenience import ComparisonConvenience
from fedsched.core.text import one_line
from fedsched.model.jobs.assumed import ENERGIES, WATTS_MARK
from fedsched.model.reading import CLAIRVOYANT, in_words
from fedsched.search.problem.objectives import MAXIMISED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from fedsched.comparison.scores import Scores
    from fedsched.comparison.statistics import Friedman, Pairs
    from fedsched.comparison.table import Table
    from fedsched.model.reading import Reading

Blocks = Literal["instance", "run"]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: its settings and its outcome. A failed run has an error and no values.

    Parameters
    ----------
    instance, fingerprint, method, seed
        What was run: the instance's name and hash, the method's name, the seed.
    evaluations_allowed, seconds_allowed
        The budget.
    objectives, baselines, optimum
        The instance's objectives, the policies that gave the first plans, the best possible value if known.
    front, bounds, evaluations, seconds, stop_reason, versions, history
        As of `Outcome`.
    error
        Why the run failed; empty if it did not.
    drawn
        Whether each seed draws a problem of its own.
    facts
        What is not modelled of the log, and what is assumed of the machine.
    watts_assumed
        Whether energies are computed from assumed watts.
    submits, reading
        Whether jobs waited from the start, and the reading; "" and None for gangs and markets.
    clairvoyant
        Whether the method knew submissions in advance.
    deterministic
        Whether every seed gives the same.

    Examples
    --------
    >>> problem = fs.Instance("fifty", fs.read("sample").head(50), 128)
    >>> record, = fs.compare(problem, "easy", [0], fs.Budget(evaluations=10)).records
    >>> record.method, round(record.best())
    ('easy', 109614)
    """

    instance: str
    fingerprint: str
    method: str
    seed: int
    evaluations_allowed: int | None
    seconds_allowed: float | None
    objectives: tuple[str, ...]
    baselines: tuple[str, ...] | None = None
    optimum: float | None = None
    front: tuple[tuple[float, ...], ...] = ()
    bounds: tuple[float | None, ...] = ()
    evaluations: int = 0
    seconds: float = 0.0
    stop_reason: str = ""
    error: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    drawn: bool = False  # each seed draws a problem of its own
    facts: tuple[str, ...] = ()  # what is not modelled of the log, and what is assumed of the machine
    watts_assumed: bool = False
    submits: str = ""  # "now" or "keep"; "" for gangs and markets
    reading: Reading | None = None
    clairvoyant: bool = False  # the method knew submissions in advance, as no policy does
    deterministic: bool = False  # every seed gives the same, so that one run stands for all
    history: tuple[tuple[float, ...], ...] = ()  # evaluations, seconds, the first objective's best value from then on
    code: str = ""  # of an object: a hash of its class and simple attributes; of another package's name: its version

    def __str__(self) -> str:
        return one_line(f"the run of {self.method} on {self.instance}, seed {self.seed}")

    @property
    def key(self) -> tuple[object, ...]:
        """Return a key that equal runs share: instance, method and its code, seed, budget, baselines and reading."""
        reading = (self.submits, self.reading)
        return (
            self.instance, self.fingerprint, self.method, self.seed, self.evaluations_allowed, self.seconds_allowed,
            self.baselines, self.code, None if reading == FORMER or self.reading is None else reading,
        )  # fmt: skip

    @property
    def problem(self) -> tuple[str, int | None]:
        """Return a key of the problem: only runs of the same problem can be compared with each other."""
        return (self.instance, self.seed if self.drawn else None)

    def best(self, objective: str | None = None) -> float:
        """Return the best value of an objective, by default the first; NaN if the run failed."""
        name = self.objectives[0] if objective is None else objective
        if name not in self.objectives:
            raise ValueError(f"{name!r} must be an objective of {self.instance!r}: {', '.join(self.objectives)}.")
        values = [row[self.objectives.index(name)] for row in self.front]
        return (max if name in MAXIMISED else min)(values, default=float("nan"))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(ComparisonConvenience):
    """All runs asked for, in the order asked: instances, methods, seeds.

    A *measure* below is the name of an objective that all instances share. If all instances have several objectives, it
    may also be an indicator of fronts (`fedsched.comparison.fronts.INDICATORS`). The default is the hypervolume if all
    instances have several objectives, else the first objective.

    Examples
    --------
    >>> problem = fs.Instance("fifty", fs.read("sample").head(50), 128)
    >>> runs = fs.compare(problem, ["easy", "sjf"], seeds=[0], budget=fs.Budget(evaluations=10))
    >>> runs.methods, runs.failed
    (('easy', 'sjf'), ())
    >>> runs.medians()["fifty"]["easy"]
    109614.0
    """

    records: tuple[RunRecord, ...]
    notes: tuple[str, ...] = ()  # which methods coincide and were therefore run once

    def __post_init__(self) -> None:
        # Old lines of a file do not say that seeds draw problems; other lines of the instance do.
        drawn = {record.instance for record in self.records if record.drawn}
        if any(record.instance in drawn and not record.drawn for record in self.records):
            records = (replace(record, drawn=record.instance in drawn) for record in self.records)
            object.__setattr__(self, "records", tuple(records))
        readings: dict[str, tuple[str, Reading | None]] = {}
        for record in self.records:
            said = (record.submits, record.reading)
            if readings.setdefault(record.instance, said) != said:
                raise ValueError(
                    f"Comparison: the runs on {record.instance!r} were made under different readings "
                    f"({readings[record.instance]} and {said}); keep those of one."
                )

    def __str__(self) -> str:
        return str(self.table()) if self.records else "a comparison without runs"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_() if self.records else str(self)

    @property
    def reading(self) -> str:
        """Return the runs' common reading in words: whether all jobs waited, and what was known of them."""
        return reading_of(self.records)

    @property
    def instances(self) -> tuple[str, ...]:
        """Return the instances' names, in the order of the records."""
        return tuple(dict.fromkeys(record.instance for record in self.records))

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the methods' names, in the order of the records."""
        return tuple(dict.fromkeys(record.method for record in self.records))

    @property
    def facts(self) -> tuple[str, ...]:
        """Return the notes, and what is not modelled or assumed, one line each; with instances if not all share it."""
        of: dict[str, list[str]] = {}
        for record in self.records:
            for fact in record.facts:
                names = of.setdefault(fact, [])
                names += [record.instance] if record.instance not in names else []
        everywhere = len(self.instances)
        told = (fact if len(names) == everywhere else f"{', '.join(names)}: {fact}" for fact, names in of.items())
        return (*self.notes, *told)

    def mark(self, measure: str) -> str:
        """Return "assumed watts" if some values of a measure are computed from assumed watts, else ""."""
        from fedsched.comparison.scores import FIRST

        assumed = [record for record in self.records if record.watts_assumed]
        first = measure == FIRST and any(record.objectives[0] in ENERGIES for record in assumed)
        return WATTS_MARK if first or (assumed and measure in ENERGIES) else ""

    @property
    def failed(self) -> tuple[RunRecord, ...]:
        """Return the records of the runs that failed."""
        return tuple(record for record in self.records if record.error)

    def values(self, objective: str | None = None) -> dict[str, dict[str, NDArray[np.float64]]]:
        """Return the best values of every instance and method, one per seed."""
        table: dict[str, dict[str, list[float]]] = {}
        for record in self.records:
            table.setdefault(record.instance, {}).setdefault(record.method, []).append(record.best(objective))
        return {name: {m: np.array(v) for m, v in methods.items()} for name, methods in table.items()}

    def medians(self, measure: str | None = None) -> dict[str, dict[str, float]]:
        """Return the median over the seeds, failed runs left out; by default of the first objective's best values."""
        from fedsched.comparison.scores import FIRST
        from fedsched.comparison.table import table_of

        found: dict[str, dict[str, float]] = {}
        for row in table_of(self, measure or FIRST).rows:
            found.setdefault(row.instance, {})[row.method] = row.median
        return found

    def table(self, measure: str | None = None) -> Table:
        """Return, for every instance and method, median, quartiles and the gap to the optimum or the proven bound."""
        from fedsched.comparison.table import table_of

        return table_of(self, measure)

    def scores(self, measure: str | None = None, *, by: Blocks = "instance") -> Scores:
        """Return the matrix behind ranks and tests: a row per block (see `pairs`) and a column per method.

        Parameters
        ----------
        measure, by
            As of `friedman`.
        """
        from fedsched.comparison.scores import scores_of

        return scores_of(self, measure, by=by)

    def ranks(self, measure: str | None = None, *, by: Blocks = "instance") -> dict[str, float]:
        """Return each method's average rank (1 is the best possible), the best first; ties get their mean rank.

        Parameters
        ----------
        measure, by
            As of `friedman`.
        """
        return self.scores(measure, by=by).average_ranks()

    def friedman(self, measure: str | None = None, *, by: Blocks = "instance") -> Friedman:
        """Return Friedman's test of whether any two methods differ.

        Parameters
        ----------
        measure
            An objective, or an indicator of fronts; None: the default.
        by
            Whether a block is an "instance" or a "run".
        """
        from fedsched.comparison.statistics import friedman

        return replace(friedman(self.scores(measure, by=by)), reading=self.reading)

    def pairs(
        self, measure: str | None = None, *, by: Blocks = "instance", against: str | None = None, alpha: float = 0.05
    ) -> Pairs:
        """Return Wilcoxon tests of pairs of methods: all pairs, or one method against each other one.

        Parameters
        ----------
        measure
            The measure to compare by.
        by
            "instance": a block is an instance with the median over its seeds (if each seed draws a problem of its own,
            a block is such a problem); conclusions are for the population of instances. "run": a block is a run;
            conclusions are for these instances alone.
        against
            The one method to compare with the others: fewer pairs, so that smaller differences show.
        alpha
            The accepted chance of one or more false conclusions among all pairs.
        """
        from fedsched.comparison.statistics import pairs

        return replace(pairs(self.scores(measure, by=by), against=against, alpha=alpha), reading=self.reading)


# Files written before lines had a reading: all their runs were made like this.
FORMER = ("now", CLAIRVOYANT)


def reading_of(records: Iterable[RunRecord]) -> str:
    """Return the line, with one reading per instance if they differ; "" if runs have no reading (gangs, markets)."""
    instances: dict[tuple[str, Reading], list[str]] = {}
    ahead: list[str] = []
    for record in records:
        if record.reading is not None:
            names = instances.setdefault((record.submits, record.reading), [])
            names += [record.instance] if record.instance not in names else []
            ahead += [record.method] if record.clairvoyant and record.method not in ahead else []
    planners = f"{', '.join(ahead)} {'know' if len(ahead) > 1 else 'knows'}" if ahead else ""
    said = {key: in_words(*key, planners) for key in instances}
    if len(said) < 2:
        return "".join(f"Reading: {text}." for text in said.values())
    each = (f"{', '.join(instances[key])}: {text}" for key, text in said.items())
    return f"Readings differ: {' | '.join(each)}."
