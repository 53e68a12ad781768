"""Ranks and tests, against scipy and by hand; the worked example is Demšar's (JMLR 7, 2006, tables 2 and 6)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedsched.comparison import statistics
from fedsched.comparison.scores import Scores
from fedsched.core.errors import TooFewRunsError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.comparison import Comparison

# Areas under the curve of C4.5 and its variants with m, cf and both tuned, on 14 data sets; more is better. On the
# last but one, two of them are ranked apart by a digit that the printed table does not have.
AREAS = np.array(
    [
        (0.763, 0.768, 0.771, 0.798),
        (0.599, 0.591, 0.590, 0.569),
        (0.954, 0.971, 0.968, 0.967),
        (0.628, 0.661, 0.654, 0.657),
        (0.882, 0.888, 0.886, 0.898),
        (0.936, 0.931, 0.916, 0.931),
        (0.661, 0.668, 0.609, 0.685),
        (0.583, 0.583, 0.563, 0.625),
        (0.775, 0.838, 0.866, 0.875),
        (1.000, 1.000, 1.000, 1.000),
        (0.940, 0.962, 0.965, 0.962),
        (0.619, 0.666, 0.614, 0.669),
        (0.972, 0.981, 0.9751, 0.975),
        (0.957, 0.978, 0.946, 0.970),
    ]
)


def scores(values: object, names: str = "", *, seeds: int = 1) -> Scores:
    """Return scores of methods a, b, … with so many seeds an instance."""
    matrix = np.array(values, dtype=np.float64)
    methods = tuple(names or "abcdefgh"[: matrix.shape[1]])
    blocks = tuple((f"i{k // seeds}", k % seeds if seeds > 1 else None) for k in range(len(matrix)))
    return Scores("makespan", methods, blocks, tuple((name, None) for name, _ in blocks), matrix)


def test_average_ranks_of_the_worked_example() -> None:
    """Tests the ranks of Demšar's table 6: 3.143, 2.000, 2.893, 1.964, the best first."""
    found = scores(-AREAS).average_ranks()
    assert list(found) == ["d", "b", "c", "a"]
    assert [round(found[name], 3) for name in "abcd"] == [3.143, 2.0, 2.893, 1.964]


def test_friedman_of_the_worked_example() -> None:
    """Tests chi² = 9.28 and F = 3.69 without, and by their definitions with the correction for ties."""
    n, k = AREAS.shape
    ranks = np.array(list(scores(-AREAS, "abcd").ranks().mean(axis=0)))
    plain = 12 * n / (k * (k + 1)) * ((ranks**2).sum() - k * (k + 1) ** 2 / 4)
    assert round(plain, 2) == 9.28
    assert round((n - 1) * plain / (n * (k - 1) - plain), 2) == 3.69
    # Ties: three pairs (6 each) and one four (60), of n k (k² − 1) = 840.
    corrected = plain / (1 - 78 / 840)
    found = statistics.friedman(scores(-AREAS))
    assert found.chi_square == pytest.approx(corrected)
    assert found.f == pytest.approx((n - 1) * corrected / (n * (k - 1) - corrected))
    assert found.p == pytest.approx(stats.f.sf(found.f, 3, 39))
    assert found.p < found.chi_square_p < 0.05
    assert "14 instances and 4 methods" in str(found)


def test_nemenyi_of_the_worked_example() -> None:
    """Tests the critical differences 1.25 and 1.12 of the example, and Demšar's table 5a of q."""
    assert round(statistics.critical_difference(4, 14), 2) == 1.25
    assert round(statistics.critical_difference(4, 14, 0.10), 2) == 1.12
    table = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}
    for k, q in table.items():
        assert statistics.critical_difference(k, 6) == pytest.approx(q * np.sqrt(k * (k + 1) / 36), abs=2e-3)


def test_wilcoxon_of_the_worked_example() -> None:
    """Tests C4.5 against C4.5+m: without the two ties 12 differences, the smaller rank sum 6.5, p = 30/4096."""
    p, leading = statistics.wilcoxon(-AREAS[:, 0], -AREAS[:, 1])
    difference = np.round(AREAS[:, 1] - AREAS[:, 0], 3)
    kept = difference[difference != 0]
    ranks = stats.rankdata(np.abs(kept))
    assert ranks[kept < 0].sum() == 6.5
    assert leading == -1
    assert p == pytest.approx(stats.wilcoxon(kept).pvalue)
    assert p == pytest.approx(30 / 4096)


def test_wilcoxon_counts_all_signs() -> None:
    """Tests p against every way of giving six differences their signs."""
    difference = np.array([1.0, 2.0, 3.0, -4.0, 5.0, 6.0])
    sums = [sum(rank for rank, sign in zip(range(1, 7), signs, strict=True) if sign) for signs in
            product((0, 1), repeat=6)]  # fmt: skip
    by_hand = 2 * np.mean(np.array(sums) <= 4)
    assert statistics.wilcoxon(difference, np.zeros(6)) == (pytest.approx(by_hand), -1)


def test_wilcoxon_with_ties_counts_all_signs() -> None:
    """Tests p of tied ranks against every way of giving them signs, and that more wins are never less sure."""
    ranks = np.array([1.5, 1.5, 4.0, 4.0, 4.0, 6.5, 6.5, 8.0])
    sums = np.array([np.dot(signs, ranks) for signs in product((0, 1), repeat=8)])
    for signs in ((1, 1, 1, 1, 1, 1, 1, 0), (0, 1, 0, 1, 1, 0, 1, 1), (0,) * 8):
        positive = np.dot(signs, ranks)
        by_hand = min(1.0, 2 * min(np.mean(sums <= positive), np.mean(sums >= positive)))
        assert statistics.exact_signed_rank(ranks * np.where(signs, 1, -1)) == pytest.approx(by_hand)
    all_wins = [statistics.wilcoxon(np.zeros(n), np.repeat([1.0, 2.0], n)[:n])[0] for n in (6, 20, 50)]
    assert all_wins == [2.0**-5, 2.0**-19, 2.0**-49]


@pytest.mark.parametrize("blocks", [20, 50, 51, 120])
def test_wilcoxon_of_many_blocks_is_scipys(blocks: int) -> None:
    """Tests that without ties p is scipy's: exact up to 50 differences, the normal approximation above."""
    rng = np.random.default_rng(blocks)
    first, second = rng.random(blocks), rng.random(blocks) + 0.1
    method = "exact" if blocks <= 50 else "approx"
    expected = stats.wilcoxon(first - second, method=method).pvalue
    assert statistics.wilcoxon(first, second)[0] == pytest.approx(expected, rel=1e-9)


def test_failed_runs_are_the_worst_and_level_with_each_other() -> None:
    """Tests that infinite scores lose against any, tie with each other, and leave the test finite."""
    a, b = np.array([1.0, 1, 1, 1, 1, np.inf]), np.array([2.0, 3, 4, 5, np.inf, np.inf])
    assert statistics.wilcoxon(a, b) == (pytest.approx(0.0625), 1)
    assert statistics.vargha_delaney(a, b) == pytest.approx((5 * 6 + 0.5 * 2) / 36)
    found = statistics.pairs(scores(np.column_stack([a, b])))
    assert (found.pairs[0].wins, found.pairs[0].ties, found.pairs[0].losses) == (5, 1, 0)
    ranks = scores([[1.0, np.inf, np.inf]]).average_ranks()
    assert ranks == {"a": 1.0, "b": 2.5, "c": 2.5}


def test_holm_by_hand() -> None:
    """Tests Holm's correction on four p-values: times 4, 3, 2, 1 from the least, never falling, at most 1."""
    assert statistics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]
    assert statistics.holm([0.2]) == [0.2]


def test_a12_by_hand() -> None:
    """Tests the chance that one is less than the other, ties half, and the words for its size on either side."""
    assert statistics.vargha_delaney(np.array([1.0, 2.0]), np.array([2.0, 3.0])) == pytest.approx(3.5 / 4)
    words = {0.5: "negligible", 0.56: "small", 0.44: "small", 0.64: "medium", 0.36: "medium", 0.71: "large"}
    for a12, word in (*words.items(), (0.29, "large"), (0.0, "large"), (0.55, "negligible")):
        assert statistics.Pair("a", "b", 1, 1, 1, 1.0, 1.0, a12, "", False).size == word


def test_effects_are_taken_within_instances() -> None:
    """Tests that an instance of a thousandfold scale neither hides nor makes an effect."""
    rows = [[1.0, 2.0], [1.0, 2.0], [1000.0, 900.0], [1000.0, 900.0]] * 2
    found = scores(rows)
    blocks = tuple((name, k) for k, name in enumerate(["x", "x", "y", "y"] * 2))
    problems = tuple((name, None) for name, _ in blocks)
    pair = statistics.pairs(Scores("makespan", ("a", "b"), blocks, problems, found.values)).pairs[0]
    assert pair.a12 == 0.5
    assert (pair.wins, pair.losses) == (4, 4)
    assert pair.leading == "a"  # a is twice as good on x, and a ninth worse on y


def test_relative_values_are_shares_of_the_instances_best() -> None:
    """Tests the scale: the best of an instance over all its seeds, its spread where that is 0."""
    found = scores([[2.0, 3.0], [4.0, np.inf], [0.0, 5.0], [10.0, 0.0]], seeds=2).relative()
    assert found.tolist() == [[0.0, 0.5], [1.0, np.inf], [0.0, 0.5], [1.0, 0.0]]
    assert scores([[np.inf, np.inf]]).relative().tolist() == [[np.inf, np.inf]]
    assert scores([[-1.0, -0.5]]).relative().tolist() == [[0.0, 0.5]]


def test_who_is_ahead_is_said() -> None:
    """Tests the three statements, both ways round, and that an overall small effect is not one of them."""
    rng = np.random.default_rng(1)
    noise = rng.random((20, 3)) * 0.01
    found = statistics.pairs(scores(noise + np.array([1.0, 1.0, 2.0]), ["fast", "quick", "slow"]))
    assert found.verdict("fast", "slow") == "ahead"
    assert found.verdict("slow", "quick") == "behind"
    assert found.verdict("quick", "fast") == found.verdict("fast", "quick") == "no difference shown"
    assert "fast ahead of slow (better 20, equal 0, worse 0" in str(found)
    assert "fast and quick: no difference shown" in str(found)
    assert len(found.pairs) == 3
    with pytest.raises(ValueError, match="were not compared"):
        found.verdict("fast", "fast")


def test_one_against_the_others() -> None:
    """Tests that a chosen method is the first of every pair, and that fewer pairs need less correction."""
    rows = np.random.default_rng(3).random((12, 4)) + np.array([0.3, 0.0, 0.3, 0.6])
    whole, chosen = statistics.pairs(scores(rows)), statistics.pairs(scores(rows), against="b")
    assert [(pair.first, pair.second) for pair in chosen.pairs] == [("b", "a"), ("b", "c"), ("b", "d")]
    same = {(pair.first, pair.second): pair for pair in whole.pairs}
    assert chosen.pairs[0].p == same["a", "b"].p
    assert chosen.pairs[0].adjusted <= same["a", "b"].adjusted
    assert chosen.pairs[0].a12 == pytest.approx(1 - same["a", "b"].a12)
    with pytest.raises(UnknownNameError, match="'e'"):
        statistics.pairs(scores(rows), against="e")


def test_too_few_runs_are_an_error_that_says_how_many_it_takes() -> None:
    """Tests that nothing is tested where no outcome could be shown, and that with one block more it can."""
    needed = statistics.blocks_needed(1, 0.05)
    assert needed == 6  # 2^-5 = 0.031
    assert statistics.blocks_needed(6, 0.05) == 8  # 6 · 2^-7 = 0.047
    best = np.column_stack([np.arange(1.0, 8.0), np.arange(1.0, 8.0) + 2.0 ** np.arange(7)])
    with pytest.raises(TooFewRunsError, match=r"no test: 5 instances.* 1 pair .* needs 6 to show anything at 0\.05"):
        statistics.pairs(scores(best[:5]))
    assert statistics.pairs(scores(best[:6])).pairs[0].shown
    with pytest.raises(TooFewRunsError, match="at least 2 methods"):
        statistics.pairs(scores(best[:, :1]))
    with pytest.raises(TooFewRunsError, match="at least 3 methods, not 2"):
        statistics.friedman(scores(best))
    with pytest.raises(TooFewRunsError, match=r"no test: 2 instances, and seeds are .* test of 3 methods needs 3"):
        statistics.friedman(scores(np.ones((2, 3))))
    for methods, blocks in ((1, 5), (3, 1)):
        with pytest.raises(TooFewRunsError, match="Nemenyi"):
            statistics.critical_difference(methods, blocks)
    for alpha in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="alpha"):
            statistics.pairs(scores(best), alpha=alpha)


def test_friedman_at_both_ends() -> None:
    """Tests all level (nothing shown) and all ranked alike: F without bound, p by counting orders."""
    level = statistics.friedman(scores(np.ones((6, 3))))
    assert (level.chi_square, level.p) == (0.0, 1.0)
    alike = statistics.friedman(scores(np.tile([1.0, 2.0, 3.0], (6, 1))))
    assert alike.f == np.inf
    assert alike.p == pytest.approx(6.0**-5)
    assert alike.chi_square == pytest.approx(12.0)
    tied = statistics.friedman(scores(np.tile([1.0, 1.0, 2.0], (6, 1))))
    assert tied.p == pytest.approx(3.0**-5)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(4, 13), st.integers(3, 6), st.integers(0, 10**6))
def test_tests_agree_with_scipy(blocks: int, methods: int, seed: int) -> None:
    """Tests chi² with ties, the mean of the ranks, and Wilcoxon's p against scipy on random scores."""
    values = np.random.default_rng(seed).integers(1, 6, (blocks, methods)).astype(np.float64)
    if not (values == values[:, :1]).all():
        found = statistics.friedman(scores(values))
        expected = stats.friedmanchisquare(*values.T)
        assert found.chi_square == pytest.approx(expected.statistic)
        assert found.chi_square_p == pytest.approx(expected.pvalue)
    assert sum(scores(values).average_ranks().values()) == pytest.approx(methods * (methods + 1) / 2)
    if (kept := values[:, 0] - values[:, 1])[kept != 0].size:
        p, leading = statistics.wilcoxon(values[:, 0], values[:, 1])
        assert p == pytest.approx(stats.wilcoxon(kept[kept != 0]).pvalue)
        assert statistics.wilcoxon(values[:, 1], values[:, 0]) == (pytest.approx(p), -leading)


def test_probabilities_read_well() -> None:
    """Tests how p-values are written."""
    written = [statistics.probability(p) for p in (1e-9, 0.0123, 0.5, 0.999, 1.0)]
    assert written == ["p < 0.0001", "p = 0.012", "p = 0.5", "p = 1", "p = 1"]


@pytest.mark.parametrize("beyond", [0, 87, 1000, 5000])
def test_equal_differences_share_their_rank(makespans: Callable[..., Comparison], beyond: int) -> None:
    """Tests that p is that of counting all signs of the differences by hand, however large the values beside them."""
    a = [1913, 1903, 1903, 1913, 1923, 1903, 1923, 1913, 1923]
    b = [1918, 1898, 1903, 1898, 1918, 1903, 1903, 1908, 1908]
    found = makespans({("x", "a"): [beyond + v for v in a], ("x", "b"): [beyond + v for v in b]})
    ranks = np.array([-2.5, 2.5, 5.5, 2.5, 7.0, 2.5, 5.5])  # of -5 5 15 5 20 5 15
    sums = np.array([(np.abs(ranks) * signs).sum() for signs in product((0, 1), repeat=7)])
    above = ranks[ranks > 0].sum()
    by_hand = 2.0 * min((sums <= above).mean(), (sums >= above).mean())
    assert found.pairs(by="run").pairs[0].p == pytest.approx(by_hand)


def test_equal_medians_are_a_tie(makespans: Callable[..., Comparison]) -> None:
    """Tests that the mean of two runs, 0.15 but for its last bit, is level with 0.15."""
    values = {(f"i{k}", name): row for k in range(8) for name, row in (("a", [0.1, 0.2]), ("b", [0.15, 0.15]))}
    pair = makespans(values).pairs(by="instance").pairs[0]
    assert (pair.wins, pair.ties, pair.losses) == (0, 8, 0)
