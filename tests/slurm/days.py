"""The scripted days: what administrators ask of a scheduler beside the order of the queue, a few dozen jobs each.

The seeds of the jobs that are drawn are the first ones under which no decision of ours hangs on a few seconds: it makes
no other one when each run lasts up to 12 s longer, drawn six times (one seed in five to fourteen). That was asked for
after days of other seeds had been played and had gone apart, and that of the chains had been played before with this
seed. The days that are played again have other jobs: arrays of the next such seed, maintenance of one put aside.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

from slurm.script import MINUTE, Cancel, Day, Reserve, Submit

STUDENT = "daemon"  # a user that every machine has


def mixed(
    seed: int, jobs: int, *, nodes: int, every: float, first: float = 0.0, widest: int | None = None
) -> list[Submit]:
    """Return jobs of all sizes whose requests are up to three times what they need, one submitted after the other."""
    rng = random.Random(seed)
    sizes = [size for size in (1, 1, 1, 2, 2, 3, 3, 4, 5, nodes) if size <= (widest or nodes)]
    found = []
    for k in range(jobs):
        minutes = rng.randint(2, 6)
        runs = round(rng.uniform(0.35, 0.95) * minutes * MINUTE)
        found.append(Submit(f"j{k}", first + k * every, rng.choice(sizes), minutes, runs))
    return found


def chains() -> Day:
    """Return chains of every kind with lags, jobs that fail, singletons; all among others that wait for nodes only."""
    others = mixed(1, 14, nodes=8, every=40.0, widest=4)
    waiting = [
        # A job, and what may follow it when it ends well.
        Submit("good", 5, 2, 4, 150),
        Submit("good_ok", 8, 2, 3, 100, "afterok:{good}"),
        Submit("good_any", 11, 1, 3, 80, "afterany:{good}"),
        Submit("good_notok", 14, 1, 3, 80, "afternotok:{good}"),
        Submit("good_started", 17, 1, 3, 70, "after:{good}"),
        Submit("good_started_later", 20, 1, 3, 70, "after:{good}+3"),
        # The same where it fails.
        Submit("bad", 45, 2, 4, 110, fails=True),
        Submit("bad_ok", 48, 2, 3, 100, "afterok:{bad}"),
        Submit("bad_any", 51, 1, 3, 80, "afterany:{bad}"),
        Submit("bad_notok", 54, 3, 3, 90, "afternotok:{bad}"),
        Submit("bad_started", 57, 1, 3, 60, "after:{bad}"),
        # One that its limit ends.
        Submit("slow", 90, 1, 2, 600),
        Submit("slow_ok", 93, 1, 3, 80, "afterok:{slow}"),
        Submit("slow_notok", 96, 2, 3, 80, "afternotok:{slow}"),
        # Several conditions, chains of chains, and what waits for somebody who never starts.
        Submit("both", 120, 3, 4, 120, "afterok:{good_ok},afterany:{bad_notok}"),
        Submit("then", 123, 4, 3, 100, "afterok:{both}:{good_any}"),
        Submit("last", 126, 2, 2, 60, "after:{then}+1,afterany:{slow}"),
        Submit("never", 129, 1, 2, 60, "afterany:{bad_ok}"),
        # Of one name, one at a time, be they successful or not.
        Submit("alone_1", 200, 2, 3, 110, "singleton", name="alone"),
        Submit("alone_2", 203, 2, 3, 70, "singleton", name="alone", fails=True),
        Submit("alone_3", 206, 1, 3, 90, "singleton", name="alone"),
        Submit("alone_4", 260, 2, 3, 60, "singleton,afterok:{both}", name="alone"),
        Submit("alone_5", 300, 1, 2, 50, "singleton", name="alone"),
    ]
    return Day(8, (*others, *waiting))


def maintenance(seed: int = 1) -> Day:
    """Return two stretches of maintenance, the first of three named nodes, the second of all, with jobs around them."""
    works = (
        Reserve("rack", 20, 6 * MINUTE, 8, "n[6-8]"),
        Reserve("switches", 30, 22 * MINUTE, 6, "ALL"),
    )
    return Day(8, (*works, *mixed(seed, 26, nodes=8, every=40.0, first=40.0)))


def array(seed: int = 17) -> Day:
    """Return an array of which three tasks may run at once, one of which one may, and jobs that wait for arrays."""
    others = mixed(seed, 16, nodes=8, every=50.0, widest=4)
    arrays = (
        Submit("sweep", 10, 1, 4, 130, array="0-11%3"),
        Submit("file", 70, 2, 3, 80, array="0-4%1"),
        Submit("after_sweep", 75, 2, 3, 90, "afterok:{sweep}"),
        Submit("after_file", 80, 3, 3, 90, "afterany:{file}"),
    )
    return Day(8, (*others, *arrays))


def begin() -> Day:
    """Return jobs that may not start before a time of their own, some of them behind others as well."""
    rng = random.Random(4)
    early = mixed(2, 30, nodes=8, every=35.0)
    late = [
        Submit(one.key, one.at, one.nodes, one.minutes, one.runs, begin=rng.randint(30, 600)) if k % 2 else one
        for k, one in enumerate(early)
    ]
    behind = (
        Submit("behind", 100, 2, 3, 90, "afterok:{j0}", begin=400.0),
        Submit("at_once", 105, 2, 3, 90, begin=0.0),
        Submit("odd", 110, 1, 3, 90, begin=47.0),
    )
    return Day(8, (*late, *behind))


def corners() -> Day:
    """Return what jobs that wait for others do in every corner, on so many nodes that nobody waits for one."""
    def asked(key: str, at: float, whom: str, lag: str = "") -> list[Submit]:
        kinds = ("after", "afterany", "afterok", "afternotok")
        return [Submit(f"{key}_{kind}", at + k, 1, 2, 20, f"{kind}:{{{whom}}}{lag}") for k, kind in enumerate(kinds)]

    return Day(
        24,
        (
            Submit("well", 0, 1, 5, 100),
            *asked("well", 2, "well"),
            *asked("well_lag", 8, "well", "+2"),
            Submit("badly", 14, 1, 5, 90, fails=True),
            *asked("badly", 16, "badly"),
            *asked("badly_lag", 21, "badly", "+2"),
            Submit("stopped", 27, 1, 5, 250),
            *asked("stopped", 29, "stopped"),
            Cancel("stopped", 200),
            Submit("withdrawn", 36, 1, 5, 100, begin=1000.0),
            *asked("withdrawn", 38, "withdrawn"),
            Cancel("withdrawn", 210),
            Submit("too_long", 44, 1, 1, 600),
            *asked("too_long", 46, "too_long"),
            # Who waits for somebody that never starts; later that one is cancelled.
            *asked("of_nobody", 52, "badly_afterok"),
            Submit("given_up", 58, 1, 2, 20, "afternotok:{well}"),
            *asked("given_up", 60, "given_up"),
            Cancel("given_up", 300),
            # On jobs that have ended long ago.
            *asked("late_well", 420, "well"),
            *asked("late_badly", 426, "badly"),
            # One at a time: behind a waiting one of the name, behind one that is cancelled, before a later one.
            Submit("line_1", 64, 1, 3, 60, name="line", begin=100.0),
            Submit("line_2", 66, 1, 3, 60, "singleton", name="line"),
            Submit("cut_1", 70, 1, 5, 250, name="cut"),
            Submit("cut_2", 72, 1, 3, 30, "singleton", name="cut"),
            Cancel("cut_1", 220),
            Submit("gate", 74, 1, 4, 120),
            Submit("before", 76, 1, 3, 40, "singleton,afterany:{gate}", name="overtaken"),
            Submit("later", 78, 1, 5, 240, name="overtaken"),
            Submit("stuck_1", 80, 1, 2, 20, "afterok:{badly}", name="stuck"),
            Submit("stuck_2", 82, 1, 2, 20, "singleton", name="stuck"),
        ),
    )


def overtaken() -> Day:
    """Return a wide job that waits for the end of a maintenance, and a long one behind it that has room now."""
    return Day(
        4,
        (
            Reserve("works", 2, 120, 3, "n[3-4]"),
            Submit("wide", 60, 4, 2, 60),
            Submit("long", 70, 2, 10, 400),
            Submit("brief", 80, 1, 2, 60),
        ),
    )


def course() -> Day:
    """Return a course for which two of six nodes are kept, and others' jobs, which find room at once but for one.

    Of the course's jobs one comes before it begins, one behind somebody else's that waits, and one asks for more time
    than is left.
    """
    others = (
        Submit("o1", 60, 2, 4, 150),
        Submit("o2", 82, 1, 3, 100),
        Submit("o3", 100, 1, 3, 90),
        Submit("o4", 240, 4, 2, 80),
        Submit("o5", 350, 1, 3, 90),
        Submit("o6", 360, 3, 3, 70),
        Submit("o7", 500, 4, 3, 120),
        Submit("waits", 520, 2, 2, 60),
        Submit("after", 900, 6, 2, 40),
    )
    students = (
        Submit("early", 8, 1, 2, 50),
        Submit("wide", 70, 2, 3, 100),
        Submit("behind_wide", 80, 1, 2, 40),
        Submit("beside", 90, 1, 3, 110),
        Submit("both", 300, 2, 2, 60),
        Submit("narrow", 310, 1, 2, 45),
        Submit("held_up", 540, 1, 2, 50),
        Submit("endless", 720, 1, 30, 600),
    )
    kept = (replace(one, reservation="course", user=STUDENT) for one in students)
    return Day(6, (Reserve("course", 2, 40, 14, "n[5-6]", STUDENT), *others, *kept))


def short() -> Day:
    """Return ten minutes with some of everything, on which no decision hangs on a few seconds or on single nodes."""
    return Day(
        6,
        (
            Reserve("works", 2, 460, 2, "n[5-6]"),
            # One behind whom is backfilled: by the brief one, and not by the long one.
            Submit("wide", 0, 4, 3, 120),
            Submit("head", 4, 6, 2, 60),
            Submit("brief", 8, 2, 2, 45),
            Submit("long", 12, 2, 5, 100),
            Submit("brief_ok", 16, 1, 1, 20, "afterok:{brief}"),
            Submit("fails", 20, 1, 2, 30, "after:{head}+1", fails=True),
            Submit("fails_notok", 24, 1, 2, 30, "afternotok:{fails}"),
            Submit("fails_any", 28, 1, 2, 30, "afterany:{fails_notok}"),
            Submit("alone_1", 200, 1, 2, 40, "singleton", name="alone"),
            Submit("alone_2", 204, 1, 2, 40, "singleton", name="alone"),
            Submit("later", 40, 1, 2, 30, begin=250),
            Submit("sweep", 300, 1, 3, 40, array="0-3%2"),
            # Around the maintenance: on the other nodes, or after it.
            Submit("around", 330, 2, 3, 60),
            Submit("behind", 380, 6, 2, 30),
            Submit("last", 400, 1, 1, 20),
        ),
    )


DAYS = {
    "chains": chains,
    "maintenance": maintenance,
    "array": array,
    "begin": begin,
    "overtaken": overtaken,
    "maintenance_again": partial(maintenance, 2),
    "array_again": partial(array, 39),
    "course": course,
    "corners": corners,
}
