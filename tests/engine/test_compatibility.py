"""The table of what goes with what: each refused cell is refused, and mixtures of all else run and are verified."""

from __future__ import annotations

import collections
import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import outside
from support.feature_parts import CONF, PARTS, Call, call_with
from support.tiers import INTERPRETED

import fedsched as fs
from fedsched.core.errors import IncompatibleError, InfeasibleError
from fedsched.engine.compatibility import FEATURES, REFUSED, Use, refused, unsupported, usage_note
from fedsched.model.jobs.admission import count_in_nodes, with_default_times
from fedsched.policies import Slurm
from fedsched.policies.named import DISPATCH, PLACEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parents[1]
CELLS = [(place, feature) for place, features in REFUSED.items() for feature in features]
FROZEN = 33  # refused cells; a change that opens or closes one changes this number
ELSEWHERE = {
    ("slurm on shared nodes", "node limits of accounts"): "slurm/test_against_naive_shared.py",
    ("slurm on shared nodes", "CPU limits of exclusive jobs"): "slurm/test_against_naive_shared.py",
    ("slurm with multifactor", "uneven jobs"): "slurm/test_against_naive_sizes.py",
    ("slurm with limits", "uneven jobs"): "slurm/test_against_naive_sizes.py",
    ("slurm with max_nodes", "uneven jobs"): "slurm/test_against_naive_sizes.py",
}


def simulated(call: Call, policy: Any = "easy", **more: Any) -> fs.Schedule:
    """Return the schedule of a call."""
    return fs.simulate(call.jobs, call.machine, **{"policy": policy, "reading": call.reading, **call.options, **more})


def searched(call: Call, **more: Any) -> fs.Result:
    """Return what a short search finds."""
    options = {name: value for name, value in call.options.items() if name != "policy"}
    options |= {"submits": "keep"} if "running" in options else {}
    return fs.optimize(
        call.jobs, call.machine, **{"method": "ga", "evaluations": 20, "reading": call.reading, **options, **more}
    )


def use_of(call: Call, *given: str) -> Use:
    """Return what a call uses, as the table is asked."""
    jobs = count_in_nodes(with_default_times(call.jobs, call.machine), call.machine)
    return Use(jobs, call.machine, call.reading, t0=0.0, given=given)


def on_slurm(call: Call, tmp_path: Path) -> fs.Schedule:
    """Return the schedule of Slurm's policy."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    return simulated(call, Slurm(path))


PLACES: dict[str, Callable[[Call, Path], object]] = {
    **{f"dispatch {one}": lambda call, _, one=one: simulated(call, fs.Rules(dispatch=one)) for one in DISPATCH},
    **dict.fromkeys(("boots", "shared nodes"), lambda call, _: simulated(call)),
    "packages on shared nodes": lambda call, _: searched(call, objectives="makespan", package=3, sharing="first"),
    "slack": lambda call, _: searched(call, objectives="cost"),
    "plans on shared nodes": lambda call, _: searched(call, sharing="first"),
    "slurm": on_slurm,
    **dict.fromkeys(("optimize", "optimize with boots", "packages with boots"), lambda call, _: searched(call)),
    "exact": lambda call, _: fs.bounds.exact(call.jobs, call.machine, reading=call.reading),
    **dict.fromkeys(
        ("bounds", "bounds of shapes"),
        lambda call, _: fs.bounds.lower_bounds(call.jobs, call.machine, reading=call.reading),
    ),
}
# What a place itself is made of, where it is a feature too.
OWN = {"optimize with boots": "boots", "bounds of shapes": "shapes at submit"}


def test_the_number_of_refused_cells_is_known() -> None:
    """A cell that is opened, or closed, changes this number and the page of the documentation."""
    assert len(CELLS) == FROZEN
    assert [cell for cell in CELLS if cell[0] not in PLACES and cell not in ELSEWHERE] == []


@pytest.mark.parametrize("cell", ELSEWHERE)
def test_a_cell_without_a_call_here_has_a_test_elsewhere(cell: tuple[str, str]) -> None:
    """The file names the feature as the error does."""
    assert FEATURES[cell[1]].name in (TESTS / ELSEWHERE[cell]).read_text(encoding="utf-8")


def test_the_page_is_written_from_the_table() -> None:
    """Else: python docs/make_compatibility.py."""
    program = outside.program("docs/make_compatibility.py")
    assert program.PAGE.read_text(encoding="utf-8") == program.page()


@pytest.mark.needs("ortools")
@pytest.mark.parametrize(("place", "feature"), [cell for cell in CELLS if cell not in ELSEWHERE])
def test_a_refused_cell_is_refused_by_name(place: str, feature: str, tmp_path: Path) -> None:
    """The error names the place, the feature, the reason and a cure."""
    if feature.startswith(("dispatch ", "placement ")):
        kind, name = feature.split()
        with pytest.raises(IncompatibleError, match=re.escape(str(refused(place, feature)))):
            simulated(Call(), fs.Rules(**{kind: name}), sharing="first")
        return
    names = [name for name in (OWN.get(place, place), feature) if name in PARTS]
    with pytest.raises(IncompatibleError) as error:
        PLACES[place](call_with(dict.fromkeys(names)), tmp_path)
    begin, end = str(refused(place, feature, "?")).split(" (?)")
    assert str(error.value).startswith(begin)
    assert str(error.value).endswith(end)


@pytest.mark.parametrize("feature", [name for name, one in FEATURES.items() if one.found is not None])
def test_a_feature_is_found_where_it_is_used(feature: str) -> None:
    """Its example has it, and the plain call does not."""
    for call, has in ((Call(), False), (call_with([feature]), True)):
        assert (usage_note(feature, use_of(call)) is not None) == has


OTHER_VERBS = {"packages", "packages with boots", "objectives of signals", "deadlines", "shapes by plans"}
AGAIN = {"placements", "running jobs", "t0", "caps", "several clusters", "shapes to choose", "thrifty uneven jobs"}
SIMULATED = [name for name in PARTS if name not in OTHER_VERBS | AGAIN]
RULES = ([f"dispatch {one}" for one in DISPATCH], [f"placement {one}" for one in PLACEMENTS])
KINDS = [*SIMULATED, *RULES[0], *RULES[1]]
ONE_OF = ({"boots", "power saving"}, {*RULES[0]}, {*RULES[1]})  # a call has one of each
PLAIN = ("dispatch strict", "placement fastest")


def ran(names: list[str], draw: np.random.Generator) -> list[str] | IncompatibleError | None:
    """Return the features of a schedule that was made and is right, the table's error, or None if a job has no room."""
    given = [next((name for name in names if name in rules), str(draw.choice(rules))) for rules in RULES]
    parts = [name for name in dict.fromkeys(names) if name in PARTS]
    call = call_with(parts)
    use = use_of(call, *given)
    parts = [name for name in parts if FEATURES[name].found is None or usage_note(name, use) is not None]
    rules = fs.Rules(**dict(one.split() for one in given))
    for place in (given[0], *(name for name in parts if name != "slack")):
        for feature, _ in unsupported(place, use):
            with pytest.raises(IncompatibleError) as error:
                pytest.fail(f"{names}, {rules} ran: {simulated(call, rules)}, against {place}: {feature}")
            return error.value
    try:
        schedule = simulated(call, rules)
    except IncompatibleError:
        raise
    except InfeasibleError:  # a job that the other features leave no nodes
        return None
    schedule.verify(claimed=schedule.metrics())
    return [*parts, *given]


@pytest.mark.skipif(not INTERPRETED, reason="each mixture compiles kernels of its own: make nojit runs it")
def test_every_pair_runs_or_is_refused() -> None:
    """Each pair, if the table does not refuse it, runs among random others, and its schedule is right."""
    draw, seen, refusals, never = np.random.default_rng(1), collections.Counter[tuple[str, str]](), 0, []
    for pair in combinations(KINDS, 2):
        if any(set(pair) <= kind for kind in ONE_OF):
            continue
        for others in (draw.permutation(SIMULATED)[:2], draw.permutation(SIMULATED)[:1], [], PLAIN):
            found = ran([*pair, *map(str, others)], draw)
            if isinstance(found, list) and {*pair} <= {*found}:  # no other feature took the place of one
                seen.update(combinations(sorted(found), 2))
                break
        else:
            refusals += isinstance(found, IncompatibleError)
            never += [] if isinstance(found, IncompatibleError) else [pair]
    print(f"{len(seen)} pairs ran, {sum(seen.values())} times in all; {refusals} are refused; no room: {never}")
    assert not never
