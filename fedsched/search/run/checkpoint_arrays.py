"""Plans and their values read from a checkpoint, with checks that a search can have saved them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Saved
    from fedsched.search.problem.packed import PackedProblem


def saved_plans(saved: Saved, name: str, problem: PackedProblem, count: int | None = None) -> Ints:
    """Return a checkpoint's rows; raise UnfitError unless they are feasible plans of the problem.

    Kernels do not check indices. Rows that this process packed itself are not checked.
    """
    rows = saved.ints(name, (count, problem.layout.length))
    if not saved.own and not problem.holds(rows):
        raise saved.unfit(name, "must hold plans of these jobs")
    return rows


def saved_keys(saved: Saved, name: str, problem: PackedProblem, count: int | None = None) -> Floats:
    """Return a checkpoint's genomes of keys; raise UnfitError if their shape is wrong or a number is not in [0, 1]."""
    return saved.floats(name, (count, problem.layout.keys_length), 0.0, 1.0)


def saved_values(saved: Saved, name: str, problem: PackedProblem, count: int | None = None) -> Floats:
    """Return a checkpoint's objective values; raise UnfitError if their shape is wrong."""
    return saved.floats(name, (count, len(problem.objectives.names)))
