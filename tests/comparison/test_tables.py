"""Tables, ranks and indicators of fronts: each by hand on a few numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsched.comparison import Comparison
from fedsched.comparison.fronts import best_known_front, indicator_values
from fedsched.comparison.scores import FIRST, levelled, measures_of
from fedsched.core.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable

TWO = {("x", "a"): [10.0, 12.0, 11.0], ("x", "b"): [10.0, 20.0, None], ("y", "a"): [5.0, 5.0, 5.0],
       ("y", "b"): [4.0, 5.0, 6.0]}  # fmt: skip


def test_a_row_has_median_quartiles_and_gap(makespans: Callable[..., Comparison]) -> None:
    """Tests a row by hand: failed runs are counted and left out, the gap is the median's to the proven bound."""
    table = makespans(TWO, bounds=(8.0,)).table()
    a, b, _, level = table.rows
    assert (a.runs, a.failed, a.least, a.low, a.median, a.high, a.most) == (3, 0, 10.0, 10.5, 11.0, 11.5, 12.0)
    assert "10.5 – 11.5" in str(table)
    assert "10 – 12" in str(table)
    assert (a.gap, a.kind, a.reference, a.best) == (pytest.approx(3 / 8), "bound", 8.0, True)
    assert (b.runs, b.failed, b.median, b.best) == (3, 1, 15.0, False)
    assert level.best  # medians of 5 each: both are the best
    assert "makespan, s (less is better)" in str(table)
    assert "37.5%" in str(table)
    lines = str(table).splitlines()[1:]
    assert {len(line.split("  ")) > 3 for line in lines if not line.startswith("failed: ")} == {True}


def test_a_known_optimum_goes_before_a_bound(makespans: Callable[..., Comparison]) -> None:
    """Tests that the gap is to the optimum where it is known, else to the tightest bound, else to nothing."""
    assert makespans(TWO, bounds=(8.0,), optimum=10.0).table().rows[0].gap == pytest.approx(0.1)
    none = makespans(TWO, bounds=(None,)).table().rows[0]
    assert np.isnan(none.gap)
    assert none.kind == ""
    both = Comparison(makespans({("x", "a"): [10.0]}, bounds=(8.0,)).records
                      + makespans({("x", "b"): [10.0]}, bounds=(9.0,)).records)  # fmt: skip
    assert [row.reference for row in both.table().rows] == [9.0, 9.0]


def test_a_method_that_always_fails_has_an_empty_row(makespans: Callable[..., Comparison]) -> None:
    """Tests that such a method is never the best, and that the table is still drawn."""
    found = makespans({("x", "a"): [1.0, 2.0], ("x", "b"): [None, None]})
    a, b = found.table().rows
    assert (a.best, b.best, b.failed) == (True, False, 2)
    assert np.isnan(b.median)
    assert np.isnan(found.medians()["x"]["b"])
    assert found.ranks() == {"a": 1.0, "b": 2.0}
    assert [row.best for row in makespans({("x", "b"): [None]}).table().rows] == [False]


def test_the_table_in_pandas_and_html(makespans: Callable[..., Comparison]) -> None:
    """Tests that a DataFrame has a row for each and numbers in it, and that HTML escapes names."""
    found = makespans({("<x>", "a"): [1.0], ("<x>", "b"): [2.0]}, bounds=(1.0,)).table()
    frame = found.to_frame()
    assert frame["median"].tolist() == [1.0, 2.0]
    assert frame["gap"].tolist() == [0.0, 1.0]
    assert frame["instance"].tolist() == ["<x>", "<x>"]
    assert "&lt;x&gt;" in found._repr_html_()
    assert "<x>" not in found._repr_html_()


def test_the_table_in_latex(makespans: Callable[..., Comparison]) -> None:
    """Tests the whole text: names are escaped, the best are bold, empty columns are left out."""
    values = {("50 %_{x}", "a\\b"): [1.0, 3.0], ("50 %_{x}", "b"): [4.0, 4.0], ("y", "a\\b"): [2.5, 2.5],
              ("y", "b"): [2.5, 2.5]}  # fmt: skip
    assert makespans(values).to_latex() == r"""% makespan, s (less is better)
\begin{tabular}{llrrrr}
\toprule
instance & method & runs & median & quartiles & range \\
\midrule
50 \%\_\{x\} & a\textbackslash{}b & 2 & \textbf{2} & 1.5 -- 2.5 & 1 -- 3 \\
& b & 2 & 4 & 4 -- 4 & 4 -- 4 \\
\addlinespace
y & a\textbackslash{}b & 2 & \textbf{2.5} & 2.5 -- 2.5 & 2.5 -- 2.5 \\
& b & 2 & \textbf{2.5} & 2.5 -- 2.5 & 2.5 -- 2.5 \\
\bottomrule
\end{tabular}"""


def test_the_former_name_of_a_tables_frame_warns(makespans: Callable[..., Comparison]) -> None:
    """Tests that `to_pandas` is `to_frame`."""
    with pytest.warns(DeprecationWarning, match=r"Table\.to_pandas is now to_frame"):
        assert makespans(TWO).table().to_pandas().shape[0] == 4


def test_ranks_are_averaged_over_runs_or_instances(makespans: Callable[..., Comparison]) -> None:
    """Tests both ways of making blocks by hand; ties share a rank, a failed run is last."""
    found = makespans(TWO)
    # x: tie, a, a (b failed); y: b, tie, a.
    assert found.ranks(by="run") == {"a": pytest.approx((1.5 + 1 + 1 + 2 + 1.5 + 1) / 6), "b": pytest.approx(10 / 6)}
    scores = found.scores()
    assert scores.values.tolist() == [[11.0, 20.0], [5.0, 5.0]]  # b's failed run counts as infinite in its median
    assert scores.blocks == (("x", None), ("y", None))
    assert found.ranks() == {"a": 1.25, "b": 1.75}
    with pytest.raises(ValueError, match="by='seed'"):
        found.scores(by="seed")


def test_rounding_makes_no_winner(makespans: Callable[..., Comparison]) -> None:
    """Tests that values that differ in their last bits alone are ties, in ranks, tests and among the best."""
    third = 1e6 / 3
    found = makespans({("x", "a"): [third] * 8, ("x", "b"): [third * (1 + 1e-14 * (k - 4)) for k in range(8)]})
    assert found.ranks() == {"a": 1.5, "b": 1.5}
    assert found.pairs(by="run").pairs[0].ties == 8
    assert [row.best for row in found.table().rows] == [True, True]
    levels = levelled(np.array([[0.0, 1e-12, 5.0], [5.0 + 1e-12, 5.1, np.inf]]))
    assert levels.tolist() == [[0.0, 0.0, 5.0], [5.0, 5.1, np.inf]]
    assert levelled(np.array([np.inf, np.inf])).tolist() == [np.inf, np.inf]
    waits = {("x", "a"): [0.0] * 8, ("x", "b"): [1e-10] * 8, ("x", "c"): [0.0] * 8, ("x", "d"): [5.0] * 8}
    assert makespans(waits).ranks() == {"a": 2.0, "b": 2.0, "c": 2.0, "d": 4.0}
    tiny = levelled(np.array([1e-12, 2e-12, 3e-12]))  # a user's own unit
    assert len(set(tiny.tolist())) == 3


def test_a_penalty_hides_no_other_difference(makespans: Callable[..., Comparison]) -> None:
    """Tests that methods whose values are 1e12 leave others apart, and are level with each other."""
    values = {("x", name): [1000.0 + 50 * m + k for k in range(8)] for m, name in enumerate("abc")}
    huge = {("x", "d"): [1e12] * 8, ("x", "e"): [1e12 * (1 + 1e-14)] * 8}
    assert makespans(values | huge).ranks() == {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.5, "e": 4.5}


def test_runs_that_are_missing_or_twice_are_refused(makespans: Callable[..., Comparison]) -> None:
    """Tests that a comparison put together by hand with holes says which run; tables need no full grid."""
    holes = makespans({("x", "a"): [1.0, 2.0], ("x", "b"): [1.0]})
    with pytest.raises(ValueError, match="'b' has 0 runs on 'x' with seed 1"):
        holes.ranks()
    assert len(holes.table().rows) == 2
    twice = Comparison(holes.records + holes.records)
    with pytest.raises(ValueError, match="'a' has 2 runs on 'x' with seed 0"):
        twice.pairs()
    with pytest.raises(ValueError, match="no runs"):
        Comparison(()).table()


def test_what_is_maximised_is_best_when_most(run_of: Callable[..., Any]) -> None:
    """Tests utilisation, the one objective of which more is better, in best values, tables, ranks and profiles."""
    runs = [run_of("x", m, 0, [u], objectives=("utilisation",), bounds=(0.9,)) for m, u in (("a", 0.5), ("b", 0.8))]
    found = Comparison(tuple(runs))
    assert found.ranks() == {"b": 1.0, "a": 2.0}
    assert [row.best for row in found.table().rows] == [False, True]
    assert found.table().rows[0].gap == pytest.approx(0.4 / 0.9)
    assert run_of("x", "a", 0, [0.5, 1], [0.7, 2], objectives=("utilisation", "energy")).best() == 0.7
    costs = found.scores().costs()
    assert costs["a"][0] / costs["b"][0] == pytest.approx(0.8 / 0.5)


def test_measures_are_what_instances_share(run_of: Callable[..., Any]) -> None:
    """Tests the measures of fronts, of mixed instances and of instances without a common objective."""
    both, energy = run_of("x", "a", 0, [1, 2]), run_of("y", "a", 0, [3], objectives=("energy",))
    makespan = run_of("z", "a", 0, [4.0])
    assert measures_of(Comparison((both,)))[-2:] == ("makespan", "energy")
    assert measures_of(Comparison((both,)))[0] == "hypervolume"
    assert measures_of(Comparison((both, energy))) == ("energy",)
    mixed = Comparison((energy, makespan))
    assert measures_of(mixed) == (FIRST,)
    assert mixed.medians() == {"y": {"a": 3.0}, "z": {"a": 4.0}}
    assert mixed.ranks() == {"a": 1.0}
    with pytest.raises(UnknownNameError, match="measure 'hypervolume'"):
        Comparison((both, energy)).table("hypervolume")
    with pytest.raises(ValueError, match="must be an objective of 'z'"):
        makespan.best("energy")


# ---- fronts -------------------------------------------------------------------------------------------------------


def test_indicators_by_hand(run_of: Callable[..., Any]) -> None:
    """Tests the four indicators on a best known front of (0, 10) and (10, 0) shifted by 10: range 10, corner 1.1."""
    runs = [
        run_of("x", "best", 0, [10, 20], [20, 10]),
        run_of("x", "half", 0, [10, 20]),
        run_of("x", "near", 0, [12, 20], [20, 15]),
        run_of("x", "far", 0, [40, 40]),
        run_of("x", "failed", 0),
    ]
    runs[-1] = run_of("x", "failed", 0, objectives=("makespan", "energy"))
    assert best_known_front(runs, "x").tolist() == [[10, 20], [20, 10]]
    whole = 0.11 + 0.11 - 0.01  # two boxes of 1.1 × 0.1, overlapping by 0.1 × 0.1
    volume = [1.0, 0.11 / whole, (0.9 * 0.1 + 0.1 * 0.6 - 0.01) / whole, 0.0]
    np.testing.assert_allclose(indicator_values(runs, "hypervolume"), [*volume, np.nan])
    # IGD+: of each best known point, the distance to what the run dominates: only the worse coordinates count.
    far = np.mean([np.hypot(3, 2), np.hypot(2, 3)])
    np.testing.assert_allclose(indicator_values(runs, "igd_plus"), [0, 0.5, (0.2 + 0.5) / 2, far, np.nan])
    np.testing.assert_allclose(indicator_values(runs, "epsilon"), [0, 1.0, 0.5, 3.0, np.nan])
    np.testing.assert_allclose(indicator_values(runs, "epsilon_ratio"), [1, 2.0, 1.5, 4.0, np.nan])


def test_a_bad_run_changes_no_other_ones_figures(run_of: Callable[..., Any]) -> None:
    """Tests that a run far behind the front leaves every indicator of the others as it was."""
    runs = [run_of("x", "a", 0, [10, 20], [20, 10]), run_of("x", "b", 0, [11, 20], [20, 12])]
    for name in ("hypervolume", "igd_plus", "epsilon", "epsilon_ratio"):
        before = indicator_values(runs, name)
        assert indicator_values([*runs, run_of("x", "c", 0, [900, 900])], name)[:2] == before


def test_a_front_of_one_point_has_a_box_of_a_twentieth(run_of: Callable[..., Any]) -> None:
    """Tests that where the front is a point its scale is a twentieth of the best value, or 1 where that is 0."""
    runs = [run_of("x", "a", 0, [100, 0]), run_of("x", "b", 0, [102.5, 0]), run_of("x", "c", 0, [100, 0.5])]
    assert indicator_values(runs, "epsilon") == pytest.approx([0.0, 0.5, 0.5])
    assert indicator_values(runs, "hypervolume") == pytest.approx([1.0, 0.6 / 1.1, 0.6 / 1.1])
    assert np.isnan(indicator_values(runs, "epsilon_ratio")).all()  # energy of 0 has no factor


def test_instances_have_their_own_best_front(run_of: Callable[..., Any]) -> None:
    """Tests that a run is measured against its instance alone, and that an instance without any front is said."""
    runs = [run_of("x", "a", 0, [1, 1]), run_of("y", "a", 0, [9, 9]), run_of("z", "a", 0)]
    assert indicator_values(runs[:2], "hypervolume") == [1.0, 1.0]
    with pytest.raises(ValueError, match="no run on 'z'"):
        best_known_front(runs, "z")


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.data())
def test_indicators_keep_the_order_of_dominance(data: st.DataObject) -> None:
    """Tests that a front whose every point was made worse is never better by any indicator; the union is the best."""
    from fedsched.comparison import RunRecord

    value = st.integers(1, 30)
    rows = data.draw(st.lists(st.tuples(value, value), min_size=1, max_size=6))
    worse = [(x + data.draw(st.integers(0, 5)), y + data.draw(st.integers(0, 5))) for x, y in rows]
    other = data.draw(st.lists(st.tuples(value, value), min_size=1, max_size=4))

    def run(method: str, front: list[tuple[int, int]]) -> RunRecord:
        floats = tuple((float(x), float(y)) for x, y in front)
        return RunRecord("x", "f", method, 0, 1, None, ("makespan", "energy"), front=floats)

    runs = [run("rows", rows), run("worse", worse), run("other", other), run("all", rows + other)]
    for name, sign in (("hypervolume", -1), ("igd_plus", 1), ("epsilon", 1), ("epsilon_ratio", 1)):
        good, bad, _, union = indicator_values(runs, name)
        assert sign * good <= sign * bad + 1e-12
        assert union == pytest.approx({"hypervolume": 1.0, "epsilon_ratio": 1.0}.get(name, 0.0), abs=1e-12)


def test_json_survives(makespans: Callable[..., Comparison]) -> None:
    """Tests that the command's JSON of a comparison with failed runs and too few of them is strict JSON."""
    from fedsched.cli.experiment.compare import as_json
    from fedsched.cli.shared.input_output import plain

    said = as_json(makespans(TWO), None, "run", 0.05, [])
    text = json.dumps(plain(said), allow_nan=False)
    assert json.loads(text)["failed"][0]["run"] == "the run of b on x, seed 2"
    assert "at least 3 methods" in said["friedman"]
    short = as_json(makespans({("x", "a"): [1.0], ("x", "b"): [2.0]}), None, "run", 0.05, [])
    assert short["pairs"].startswith("no test: one run; Wilcoxon's test of 1 pair")


def test_seeds_are_repeats_and_one_instance_is_no_test(makespans: Callable[..., Comparison]) -> None:
    """However many seeds an instance has it counts once; below what a test needs the reason stands in its place."""
    from fedsched.cli.experiment.compare import summary

    values = {("x", name): [10.0 * k + seed for seed in range(20)] for k, name in enumerate("abc", 1)}
    said = summary(makespans(values), None, "instance", 0.05)
    assert "no test: one instance, and seeds are repeats; Friedman's test of 3 methods needs 3" in said
    assert "no test: one instance, and seeds are repeats; Wilcoxon's test of 3 pairs with Holm's correction" in said
    assert "average ranks: a 1.00, b 2.00, c 3.00" in said
    several = {(f"i{k}", name): row for k in range(8) for (_, name), row in values.items()}
    assert "Friedman over 8 instances and 3 methods" in str(makespans(several).friedman())
    assert "Wilcoxon over 160 runs" in str(makespans(several).pairs(by="run"))


def test_what_no_seed_changes_has_one_run_that_stands_for_all(run_of: Callable[..., Any]) -> None:
    """A deterministic method's one run is its value with every seed; a draw of each seed is a block of its own."""
    runs = [run_of("x", "a", seed, [5.0 + seed]) for seed in range(3)]
    found = Comparison((*runs, run_of("x", "b", 0, [6.0], deterministic=True)))
    assert found.scores(by="run").values.tolist() == [[5.0, 6.0], [6.0, 6.0], [7.0, 6.0]]
    assert found.scores().values.tolist() == [[6.0, 6.0]]
    drawn = Comparison(tuple(run_of("x", name, seed, [1.0], drawn=True) for name in "ab" for seed in (0, 1)))
    assert drawn.scores().blocks == (("x", 0), ("x", 1))


def test_seeds_that_draw_problems_are_not_mixed(run_of: Callable[..., Any]) -> None:
    """Tests that on a dear draw a run is set against that draw's front, not against a cheap one's, by hand."""
    cheap = [run_of("x", "a", 0, [1, 2], drawn=True), run_of("x", "b", 0, [2, 4], drawn=True)]
    dear = [run_of("x", "a", 1, [10, 20], drawn=True), run_of("x", "b", 1, [20, 40], drawn=True)]
    assert indicator_values(cheap + dear, "epsilon_ratio") == [1.0, 2.0, 1.0, 2.0]
    assert indicator_values(cheap + dear, "hypervolume")[2] == 1.0
    with pytest.raises(ValueError, match="each seed of 'x' is another problem"):
        best_known_front(cheap + dear, "x")
    older = [replace(record, drawn=False) for record in dear]  # lines written before runs said so
    scores = Comparison((*cheap, *older)).scores("makespan")
    np.testing.assert_allclose(scores.relative(), [[0.0, 1.0], [0.0, 1.0]])


def test_effects_are_taken_within_draws(run_of: Callable[..., Any]) -> None:
    """Tests that a method that is better on every draw has A12 = 1, though dear draws cost it more than cheap ones."""
    runs = [run_of("x", name, k, [10.0**k + worse], drawn=True) for k in range(8) for worse, name in enumerate("ab")]
    assert Comparison(tuple(runs)).pairs().pairs[0].a12 == 1.0


def test_instances_of_several_objectives_have_no_one_direction(run_of: Callable[..., Any]) -> None:
    """Tests that a table of first objectives that differ does not say whether less is better."""
    runs = (run_of("x", "a", 0, [1]), run_of("y", "a", 0, [0.5], objectives=("utilisation",)))
    assert "better" not in Comparison(runs).table().title()
