"""Tests of whether methods differ: Friedman with Iman and Davenport's F, Wilcoxon with Holm's correction, A12.

After J. Demšar, *Statistical Comparisons of Classifiers over Multiple Data Sets*, JMLR 7 (2006); A. Vargha and
H. D. Delaney, *A Critique and Improvement of the CL Common Language Effect Size Statistics* (2000).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fedsched.comparison.scores import levelled, rows_of
from fedsched.core.errors import TooFewRunsError, unknown_name
from fedsched.core.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.comparison.scores import Scores

SIZES = ((0.71, "large"), (0.64, "medium"), (0.56, "small"), (0.0, "negligible"))  # Vargha and Delaney's limits of A12

EXACT = 50  # differences up to which all sign patterns are counted; above, the normal approximation is as good


@dataclass(frozen=True, slots=True)
class Friedman:
    """Friedman's test over blocks and methods, corrected for ties, and the sharper F of Iman and Davenport.

    Parameters
    ----------
    methods, blocks
        Their numbers.
    chi_square, chi_square_p
        Friedman's statistic, and its p.
    f, p
        The F of Iman and Davenport, and its p.
    reading
        The runs' common reading, in words.
    of
        What a block is: an "instance" or a "run".

    Examples
    --------
    >>> log = fs.read("sample")
    >>> problems = [fs.Instance(f"draw {k}", log.sample(50, seed=k), 128) for k in range(6)]
    >>> runs = fs.compare(problems, ["fcfs", "ljf", "easy"], [0], fs.Budget(evaluations=10))
    >>> test = runs.friedman()
    >>> test.methods, test.blocks, round(test.p, 3)
    (3, 6, 0.003)
    """

    methods: int
    blocks: int
    chi_square: float
    chi_square_p: float
    f: float
    p: float
    reading: str = ""
    of: str = "instance"  # what a block is

    def __str__(self) -> str:
        return (
            f"{one_line(self.reading)}{chr(10) if self.reading else ''}"
            f"Friedman over {counted(self.blocks, self.of)} and {self.methods} methods: chi² = {self.chi_square:.4g} "
            f"({probability(self.chi_square_p)}), Iman-Davenport F = {self.f:.4g} ({probability(self.p)})"
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """Two methods, and Wilcoxon's test of whether they differ.

    Parameters
    ----------
    first, second
        The names of the methods.
    wins, ties, losses
        How often the first was better, equal and worse.
    p, adjusted
        Wilcoxon's p, before and after Holm's correction.
    a12
        The effect size A12; above ½ the first is better.
    leading
        The method with the better signed ranks, "" if they are equal.
    shown
        Whether the difference is shown.

    Examples
    --------
    >>> log = fs.read("sample")
    >>> problems = [fs.Instance(f"draw {k}", log.sample(50, seed=k), 128) for k in range(6)]
    >>> pair, = fs.compare(problems, ["sjf", "easy"], [0], fs.Budget(evaluations=10)).pairs().pairs
    >>> pair.wins, pair.ties, pair.losses, pair.verdict
    (0, 0, 6, 'behind')
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    p: float
    adjusted: float
    a12: float
    leading: str  # the method with the better signed ranks, "" if they are equal
    shown: bool

    @property
    def verdict(self) -> str:
        """Return "ahead", "behind" or "no difference shown" for the first method."""
        if not self.shown:
            return "no difference shown"
        return "ahead" if self.leading == self.first else "behind"

    @property
    def size(self) -> str:
        """Return the size of the effect A12 in words: "large", "medium", "small" or "negligible"."""
        away = 0.5 + abs(self.a12 - 0.5)
        return next(name for limit, name in SIZES if away >= limit - 1e-12)

    def __str__(self) -> str:
        what = {"ahead": "ahead of", "behind": "behind"}.get(self.verdict)
        said = f"{self.first} {what} {self.second}" if what else f"{self.first} and {self.second}: no difference shown"
        return one_line(
            f"{said} (better {self.wins}, equal {self.ties}, worse {self.losses}; "
            f"{probability(self.adjusted)} after Holm; A12 = {self.a12:.2f}, {self.size})"
        )


@dataclass(frozen=True, slots=True)
class Pairs:
    """All tested pairs; the chance that one or more of the differences shown are false is at most `alpha`.

    Parameters
    ----------
    measure
        What is compared.
    alpha
        The chance that one or more of the differences shown are false is at most this.
    blocks
        The number of blocks.
    pairs
        The tested pairs.
    reading
        The runs' common reading, in words.
    of
        What a block is: an "instance" or a "run".

    Examples
    --------
    >>> log = fs.read("sample")
    >>> problems = [fs.Instance(f"draw {k}", log.sample(50, seed=k), 128) for k in range(6)]
    >>> pairs = fs.compare(problems, ["sjf", "easy"], [0], fs.Budget(evaluations=10)).pairs()
    >>> pairs.verdict("easy", "sjf")
    'ahead'
    """

    measure: str
    alpha: float
    blocks: int
    pairs: tuple[Pair, ...]
    reading: str = ""
    of: str = "instance"  # what a block is

    def __str__(self) -> str:
        pairs = f"{counted(len(self.pairs), 'pair')}"
        head = (
            f"{one_line(self.measure)}: Wilcoxon over {counted(self.blocks, self.of)}, {pairs}, alpha = {self.alpha:g}"
        )
        return "\n".join([*filter(None, [one_line(self.reading)]), head, *(f"  {pair}" for pair in self.pairs)])

    def verdict(self, first: str, second: str) -> str:
        """Return "ahead", "behind" or "no difference shown" for the first method against the second.

        Parameters
        ----------
        first, second
            The names of two methods.
        """
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair.verdict
            if (pair.first, pair.second) == (second, first):
                return {"ahead": "behind", "behind": "ahead"}.get(pair.verdict, pair.verdict)
        raise ValueError(f"Pairs: {first!r} and {second!r} were not compared.")


def friedman(scores: Scores) -> Friedman:
    """Return Friedman's test; raise if there are too few methods or blocks for any answer."""
    from scipy.stats import f as f_distribution
    from scipy.stats import friedmanchisquare

    n, k = scores.values.shape
    if k < 3:
        raise TooFewRunsError(f"Friedman's test needs at least 3 methods, not {k}; two are compared as a pair.")
    needed = 2
    while math.factorial(k) ** (needed - 1) < 20:  # the least p possible is above 0.05
        needed += 1
    if n < needed:
        raise TooFewRunsError(_no_test(scores, f"Friedman's test of {k} methods", needed, 0.05))
    ranks = scores.ranks()
    if (ranks == ranks[0, 0]).all():  # all methods are equal in every block
        return Friedman(k, n, 0.0, 1.0, 0.0, 1.0, of=scores.of)
    found = friedmanchisquare(*ranks.T)
    chi_square = float(found.statistic)
    if (ranks == ranks[0]).all():  # F is infinite, but the chance that all blocks have the first one's ranks is known
        ties = np.unique(ranks[0], return_counts=True)[1].tolist()
        orders = math.factorial(k) // math.prod(math.factorial(tied) for tied in ties)
        return Friedman(k, n, chi_square, float(found.pvalue), math.inf, float(orders) ** (1 - n), of=scores.of)
    f = (n - 1) * chi_square / (n * (k - 1) - chi_square)  # Demšar's F_F, after Iman & Davenport 1980
    p = float(f_distribution.sf(f, k - 1, (k - 1) * (n - 1)))
    return Friedman(k, n, chi_square, float(found.pvalue), f, p, of=scores.of)


def pairs(scores: Scores, *, against: str | None = None, alpha: float = 0.05) -> Pairs:
    """Return Wilcoxon's signed-rank tests of the pairs, with p-values corrected by Holm and effect sizes."""
    check_alpha(alpha)
    if against is not None and against not in scores.methods:
        raise unknown_name("method", against, scores.methods)
    chosen = [
        pair if against in (None, pair[0]) else pair[::-1]
        for pair in combinations(scores.methods, 2)
        if against is None or against in pair
    ]
    if not chosen:
        raise TooFewRunsError("Wilcoxon's test needs at least 2 methods, not 1.")
    n, needed = len(scores.blocks), blocks_needed(len(chosen), alpha)
    if n < needed:
        test = f"Wilcoxon's test of {counted(len(chosen), 'pair')} with Holm's correction"
        raise TooFewRunsError(_no_test(scores, test, needed, alpha))
    relative = scores.relative()
    column = {name: k for k, name in enumerate(scores.methods)}
    values = [(relative[:, column[first]], relative[:, column[second]]) for first, second in chosen]
    tested = [wilcoxon(a, b) for a, b in values]
    adjusted = holm([p for p, _ in tested])
    problems = rows_of(scores.problems)
    found = []
    for (first, second), (a, b), (p, leaning), corrected in zip(chosen, values, tested, adjusted, strict=True):
        found.append(
            Pair(
                first, second, int((a < b).sum()), int((a == b).sum()), int((a > b).sum()), p, corrected,
                a12=float(np.mean([vargha_delaney(a[rows], b[rows]) for rows in problems])),
                leading={1: first, 0: "", -1: second}[leaning],
                shown=corrected < alpha and leaning != 0,
            )
        )  # fmt: skip
    return Pairs(scores.measure, alpha, n, tuple(found), of=scores.of)


def _no_test(scores: Scores, test: str, needed: int, alpha: float) -> str:
    n = len(scores.blocks)
    there = f"one {scores.of}" if n == 1 else counted(n, scores.of)
    repeats = ", and seeds are repeats" if scores.of == "instance" else ""
    return f"no test: {there}{repeats}; {test} needs {needed} to show anything at {alpha:g}"


def blocks_needed(comparisons: int, alpha: float) -> int:
    """Return the least number of blocks n for which Wilcoxon's least p, 2^(1−n), passes Holm's sharpest step."""
    n = 2
    while comparisons * 2.0 ** (1 - n) >= alpha:
        n += 1
    return n


def wilcoxon(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, int]:
    """Return the two-sided p of the signed-rank test, equal pairs left out, and 1, 0 or −1.

    1 means that the first is better, −1 that the second is. Infinite values (failed runs) are worst, and equal to each
    other.
    """
    from scipy.stats import rankdata
    from scipy.stats import wilcoxon as signed_rank

    differs = first != second
    if not differs.any():
        return 1.0, 0
    difference = first[differs] - second[differs]
    # Ranks give the same test with finite numbers. Levelling makes ties of differences that differ by rounding alone.
    signed = np.sign(difference) * rankdata(levelled(np.abs(difference)))
    leaning = -int(np.sign(signed.sum()))
    if len(signed) <= EXACT:
        return exact_signed_rank(signed), leaning
    return float(signed_rank(signed, method="approx").pvalue), leaning


def exact_signed_rank(signed: NDArray[np.float64]) -> float:
    """Return the two-sided p of signed ranks by counting all 2^n sign patterns; ties keep their mean ranks.

    scipy counts them only without ties or for very few ranks; deterministic policies tie often.
    """
    doubled = np.round(2.0 * np.abs(signed)).astype(np.int64)  # mean ranks are multiples of ½
    ways = np.zeros(int(doubled.sum()) + 1)  # ways[s]: number of sign patterns with positive ranks of sum s
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] += ways[: len(ways) - rank].copy()
    positive = int(doubled[signed > 0].sum())
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return float(min(1.0, 2.0 * tail / 2.0 ** len(doubled)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests: those below alpha are significant together (Holm 1979)."""
    adjusted, largest = [1.0] * len(p_values), 0.0
    for step, k in enumerate(np.argsort(p_values, kind="stable").tolist()):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[k]))
        adjusted[k] = largest
    return adjusted


def vargha_delaney(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return A12: the chance that a run of the first is below (better than) one of the second, ties counted half."""
    below = (first[:, None] < second[None, :]).mean()
    equal = (first[:, None] == second[None, :]).mean()
    return float(below + 0.5 * equal)


def critical_difference(methods: int, blocks: int, alpha: float = 0.05) -> float:
    """Return the least significant difference of two average ranks by Nemenyi's test: q_α √(k(k+1)/(6N))."""
    from scipy.stats import studentized_range

    check_alpha(alpha)
    if methods < 2 or blocks < 2:
        raise TooFewRunsError(
            f"no test: Nemenyi's needs at least 2 methods and 2 instances, not {methods} and {blocks}; add instances."
        )
    q = float(studentized_range.ppf(1.0 - alpha, methods, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(methods * (methods + 1) / (6.0 * blocks))


def check_alpha(alpha: float) -> None:
    """Raise unless alpha is between 0 and 1."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha={alpha} must lie between 0 and 1, e.g. 0.05.")


def probability(p: float) -> str:
    """Return a p-value as text."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"
