"""What fair shares of uplinks cost beside shares in proportion (`dynamic`): the same plans evaluated in turn.

Times are the processor's.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from measuring import Report, arguments, best_of

import fedsched as fs
from fedsched.engine.codes import Dispatch
from fedsched.engine.pack.problem import pack
from fedsched.engine.run.batch import Evaluator
from fedsched.generate import communication
from fedsched.model.reading import Reading

ALLOWED = 1.5  # times the time of `dynamic`
KINDS = (("links with room", 1e4), ("links that are full now and then", 1e6), ("links that are full all the time", 3e7))


def evaluators(jobs: fs.Workload, federation: fs.Federation) -> list[Evaluator]:
    """Return the batch entries under both kinds of shares."""
    readings = (Reading(saturation="dynamic"), Reading(saturation="fair"))
    return [Evaluator(pack(jobs, federation, reading=reading), threads=1) for reading in readings]


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    size, candidates, rounds = (40, 10, 1) if smoke else (200, 500, 9)
    log = fs.Workload.example().head(size)
    federation = fs.Federation(
        tuple(fs.Cluster(f"C{k}", (fs.NodeGroup(32, 1.0, 200, 90),), uplink=1e8) for k in range(8))
    )
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(size) for _ in range(candidates)])
    report = Report(f"{size} jobs on 8 clusters, {candidates} plans: the time of fair shares over that of dynamic ones")
    for what, bandwidth in KINDS:
        jobs = communication(log, bandwidth=bandwidth, compute_fraction=(0.3, 0.9), seed=1)
        both = evaluators(jobs, federation)
        for dispatch in (Dispatch.GREEDY, Dispatch.EASY):
            rows = [one(orders, dispatch=dispatch) for one in both]
            turns = [partial(one, orders, dispatch=dispatch) for one in both]
            dynamic, fair = best_of(rounds, *turns, clock=time.process_time)
            longer = float(np.mean(rows[1][:, 0] / rows[0][:, 0]))
            name = f"{dispatch.name.lower()}, {what}"
            report.row(name, fair / dynamic, "×", ALLOWED, at_most=True)
            times = f"{1e6 * dynamic / candidates:,.0f} and {1e6 * fair / candidates:,.0f} µs a plan"
            print(f"  {times}; fair makespans {longer:.3f} × dynamic ones")


if __name__ == "__main__":
    main()
