"""Finds why simulated starts differ from recorded ones, by replays that take one recorded fact as given, then several.

A job's own recorded start is never given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FedschedError
from fedsched.simulate import simulate
from fedsched.site.twin.contradicted_limits import other_limits
from fedsched.site.twin.replay_facts import BEFORE, LIMIT, REPLAY_FACTS, matters, runs_with_fact
from fedsched.site.twin.replay_problem import SLURM, enforces_limits, is_slurm, replay_problem_of
from fedsched.site.twin.replaying import Replayed, replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fedsched.policies import Policy
    from fedsched.site.twin.site import Site
    from fedsched.slurm import Slurm

    Mask = NDArray[np.bool_]

EQUAL, UNEXPLAINED, SEVERAL, STATE = "equal", "unexplained", "several of these together", "the state before it"
OTHERWISE = "another limit's value"
BY_FACT, BY_STATE = "explained by a recorded fact", "set right by the state before it"
MOST_RESTARTS = 400
ABOUT = {
    EQUAL: "it starts as recorded, with nothing taken as given",
    SEVERAL: "it starts as recorded once several of these are taken as given",
    STATE: "it starts as recorded from the recorded state just before, with other jobs' starts: the weakest cause",
    OTHERWISE: "it starts as recorded once a limit has the value that it had on record",
    UNEXPLAINED: "none of these gives the recorded start",
}


@dataclass(frozen=True)
class Explained:
    """A cause for each compared start of a dump: `cause` is its name, `own` says if the fact is of the job itself.

    `plain` is the replay that takes no recorded fact as given. `full` takes all facts that matter as given, except the
    starts of jobs submitted before the dump. `steps` has, for each fact in turn, its name and the share of equal starts
    once it is taken as given too. `untried` counts starts that no replay from the state before them has tried.
    `other_limits` says in words which limits had other values on record.

    Examples
    --------
    >>> from fedsched.site import twin
    >>> explained = twin.explain(twin.read_site(twin.Dump(twin.made_dump("dump", jobs=40, nodes=8, seed=1))))
    >>> len(explained.cause) == len(explained.rows)
    True
    """

    site: Site
    plain: Replayed
    full: Replayed
    cause: NDArray[np.str_]
    own: Mask
    steps: tuple[tuple[str, float], ...]
    untried: int
    other_limits: tuple[str, ...] = ()

    @property
    def rows(self) -> NDArray[np.int64]:
        """Return the rows of the records that have the compared starts, in the order of `cause`."""
        return self.plain.problem.rows[self.plain.problem.compared]

    @property
    def share(self) -> float:
        """Return the share of compared starts that are equal to the recorded ones or have a cause; 1 if there are none.

        The state just before a start counts as a cause.
        """
        return float((self.cause != UNEXPLAINED).mean()) if self.cause.size else 1.0

    @property
    def parts(self) -> dict[str, float]:
        """Return the shares of the compared starts that are equal, explained by a fact or a state, and unexplained.

        If no start is compared, the share of equal ones is 1.
        """
        apart = {EQUAL: EQUAL, STATE: BY_STATE, UNEXPLAINED: UNEXPLAINED}
        of = [apart.get(name, BY_FACT) for name in self.cause.tolist()] or [EQUAL]
        return {name: of.count(name) / len(of) for name in (EQUAL, BY_FACT, BY_STATE, UNEXPLAINED)}

    @cached_property
    def given_to(self) -> float:
        """Return the share of the compared jobs about which the full replay takes some recorded fact as given."""
        told = np.zeros(len(self.site.records), dtype=np.bool_)
        for name in self.full.given:
            told |= runs_with_fact(self.site, name)
        return float(told[self.rows].mean()) if self.rows.size else 0.0

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return, by cause, how many starts it explains, and for how many of these the fact is the job's own.

        Causes that explain none are left out, but not "equal" and "unexplained".
        """
        found = {}
        for name in (EQUAL, *REPLAY_FACTS, OTHERWISE, SEVERAL, STATE, UNEXPLAINED):
            mine = self.cause == name
            if mine.any() or name in (EQUAL, UNEXPLAINED):
                found[name] = (int(mine.sum()), int((mine & self.own).sum()))
        return found


def explain(
    site: Site, policy: str | Policy | Slurm = SLURM, *, told: Callable[[str], None] | None = None
) -> Explained:
    """Replay a dump many times, taking different recorded facts as given; return a cause for each start that differs.

    Parameters
    ----------
    site
        What a dump says, as `read_site` returns it.
    policy
        As in `replay`.
    told
        Called before each replay with a text that describes it.

    Examples
    --------
    >>> from fedsched.site import twin
    >>> explained = twin.explain(twin.read_site(twin.Dump(twin.made_dump("dump", jobs=40, nodes=8, seed=1))))
    >>> round(explained.share, 2)
    1.0
    """

    def again(*given: str) -> Replayed:
        if told is not None:
            told(f"given: {', '.join(given)}" if given else "nothing given")
        return replay(site, policy, given=given)

    names = [name for name in REPLAY_FACTS if matters(site, name) and (name != "clocks" or is_slurm(policy))]
    plain = again()
    rows = plain.problem.rows[plain.problem.compared]
    cause = np.where(plain.equal, EQUAL, UNEXPLAINED).astype("U40")
    own = np.zeros(len(rows), dtype=np.bool_)
    all_starts = np.ones(len(rows), dtype=np.bool_)
    mine = {name: runs_with_fact(site, name)[rows] for name in names}
    waited_before = mine.get(BEFORE, ~all_starts)

    def settle(replayed: Replayed, name: str, allowed: Mask) -> None:
        found = (cause == UNEXPLAINED) & _equal(replayed, rows) & allowed
        cause[found] = name
        if name in mine:
            own[found] = mine[name][found]

    alone = {name: again(name) for name in names}
    for name in names:  # a fact of the job itself has precedence over a fact of other jobs
        settle(alone[name], name, mine[name] & (~waited_before if name == BEFORE else all_starts))
    for name in names:
        settle(alone[name], name, ~waited_before if name == BEFORE else all_starts)
    # A policy that enforces limits would delay jobs twice if the limits' effects were given as well.
    together = [name for name in names if name != LIMIT or not enforces_limits(site, policy)]
    steps, full, last = [("nothing", plain.share)], plain, plain
    for k in range(1, len(together) + 1):
        last = alone[together[0]] if k == 1 else again(*together[:k])
        if together[k - 1] != BEFORE:
            full = last
        steps.append((together[k - 1], float(_equal(last, rows).mean()) if rows.size else 1.0))
        if k > 1:
            settle(last, SEVERAL, ~waited_before if BEFORE in together[:k] else all_starts)
    told_of = []
    facts = full.given
    for other in other_limits(site, plain):
        if told is not None:
            told(f"another limit: {other.of}")
        changed = replay(replace(site, accounts=other.accounts), policy, given=facts)
        more = int(_equal(changed, rows).sum() - _equal(full, rows).sum())
        if more > 0:
            told_of.append(other.in_words(more))
            own |= (cause == UNEXPLAINED) & _equal(changed, rows) & other.jobs[rows]
            settle(changed, OTHERWISE, ~waited_before)
    untried = _from_states(site, policy, full, rows, cause, told)
    return Explained(site, plain, full, cause, own, tuple(steps), untried, tuple(told_of))


def _equal(replayed: Replayed, rows: NDArray[np.int64]) -> Mask:
    """Return, for the records in these rows, whether each starts as recorded; False if this replay leaves it out."""
    own = replayed.problem.rows[replayed.problem.compared]
    same = dict(zip(own.tolist(), replayed.equal.tolist(), strict=True))
    return np.array([same.get(row, False) for row in rows.tolist()], dtype=np.bool_)


def _from_states(
    site: Site,
    policy: str | Policy | Slurm,
    full: Replayed,
    rows: NDArray[np.int64],
    cause: NDArray[np.str_],
    told: Callable[[str], None] | None,
) -> int:
    """Replay unexplained starts from the recorded state just before them; return how many starts are not tried.

    Where that gives the recorded start, `cause` is set to `STATE` in place. At most `MOST_RESTARTS` replays are made.
    """
    records, interval = site.records, site.interval
    left = np.flatnonzero(cause == UNEXPLAINED)
    left = left[np.argsort(records.start[rows[left]], kind="stable")]
    given = tuple(name for name in full.given if name != BEFORE)
    tries = 0
    while left.size and tries < MOST_RESTARTS:
        first = float(records.start[rows[left[0]]])
        together = left[records.start[rows[left]] <= first + interval]
        left = left[together.size :]
        tries += 1
        if told is not None:
            told(f"from the state before {seconds_since_begin(site, first)}")
        here = site.at(first - 1.0 - interval, first + 2 * interval)
        try:
            problem = replay_problem_of(here, policy, given=given)
            schedule = simulate(problem.workload, problem.federation, problem.policy)
        except FedschedError:  # today's machine may be too small for what ran then
            continue
        start = dict(zip(ids_of_records(here, problem.rows), (schedule.start + here.zero).tolist(), strict=True))
        for k in together.tolist():
            row = int(rows[k])
            if abs(start.get(int(records.id[row]), np.inf) - records.start[row]) <= interval:
                cause[k] = STATE
    return int(left.size)


def ids_of_records(site: Site, rows: NDArray[np.int64]) -> list[int]:
    """Return the ids of the records in these rows."""
    ids: list[int] = site.records.id[rows].tolist()
    return ids


def seconds_since_begin(site: Site, moment: float) -> str:
    """Return a wall-clock time as seconds since the dump begins, for a progress line."""
    return f"second {moment - site.since:.0f}"
