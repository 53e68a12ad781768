"""Plans and their values read from a checkpoint, with checks that a search can have saved them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Saved
    from fedsched.search.problem.packed import PackedProblem


def saved_plans(saved: Saved, name: str, problem: PackedProblem, count: int | None = None) -> Ints:
    """Return saved rows; refuse rows that are no plans of the problem, as kernels do not check indices."""
    rows = saved.ints(name, (count, problem.layout.length))
    if not saved.own and not problem.holds(rows):
        raise saved.unfit(name, "must hold plans of these jobs")
    return rows


def saved_keys(saved: Saved, name: str, problem: PackedProblem, count: int | None = None) -> Floats:
    """Return saved genomes of keys."""
    return saved.floats(name, (count, problem.layout.keys_length), 0.0, 1.0)


def saved_values(saved: Saved, name: str, problem: PackedProblem, count: int | None = None) -> Floats:
    """Return saved objective values."""
    return saved.floats(name, (count, len(problem.objectives.names)))
