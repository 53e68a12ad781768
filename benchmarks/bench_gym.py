"""Environments: steps and jobs a second, single and vector, beside an environment in plain Python in the same process.

The plain one is `plain_environment.py`, after RLScheduler's description. RLScheduler itself cannot be installed from a
package registry; with --rlscheduler FOLDER, a copy of its repository (DIR-LAB/deep-batch-scheduler), its own loop is
measured too, which its README calls SchedGym; the other environment of that name, sched-rl-gym, is not. All see 128
jobs and always choose the first one, which gives FCFS in each: the starts are compared first, and then the jobs placed
a second.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from measuring import Report, best_of
from plain_environment import PlainEnvironment, PlainJob
from rlscheduler import OwnLoop

import fedsched as fs
from fedsched.gym import SchedulingEnv, SchedulingVectorEnv

NODES, JOBS, PLACES, SIDE_BY_SIDE = 160, 256, 128, 256


def plain_of(log: fs.Workload, first: int, jobs: int) -> PlainEnvironment:
    """Return the plain environment over a stretch of a log that is sorted."""
    columns = zip(
        *(getattr(log, name)[first : first + jobs].tolist() for name in ("submit", "tasks", "runtime", "estimate")),
        strict=True,
    )
    listed = [PlainJob(row, *column) for row, column in enumerate(columns)]
    return PlainEnvironment(listed, NODES, float(log.estimate.max()))


def by_plain(env: PlainEnvironment) -> int:
    """Return how many steps an episode took."""
    env.reset()
    steps, over = 0, False
    while not over:
        _, _, over = env.step(0)
        steps += 1
    return steps


def by_single(env: SchedulingEnv, first: int) -> int:
    """Return how many steps an episode took."""
    env.reset(options={"first": first})
    steps, over = 0, False
    while not over:
        _, _, over, _, _ = env.step(0)
        steps += 1
    return steps


def by_vector(env: SchedulingVectorEnv, rows: np.ndarray) -> int:
    """Return how many steps the episodes took together, until the last is over; those after the first do not count."""
    env.reset(options={"first": rows})
    under_way, steps = np.ones(env.num_envs, dtype=bool), 0
    actions = np.zeros(env.num_envs, dtype=np.int64)
    while under_way.any():
        _, _, over, _, _ = env.step(actions)
        steps += int(under_way.sum())
        under_way &= ~over
    return steps


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes; the figures mean nothing")
    parser.add_argument("--rlscheduler", type=Path, metavar="FOLDER", help="a copy of RLScheduler's repository")
    return parser.parse_args()


def main() -> None:
    """Print the table."""
    options = arguments()
    smoke = options.smoke
    jobs, many, rounds = (40, 4, 1) if smoke else (JOBS, SIDE_BY_SIDE, 5)
    cluster = fs.Federation.homogeneous(NODES)
    log = fs.Workload.example().filter(fs.Workload.example().tasks <= NODES).sorted()
    first = 100
    plain = plain_of(log, first, jobs)
    single = SchedulingEnv(log, cluster, jobs=jobs, waiting_places=PLACES)
    vector = SchedulingVectorEnv(log, cluster, num_envs=many, jobs=jobs, waiting_places=PLACES, copy=False)
    rows = np.full(many, first)
    ways = {
        "plain Python": lambda: by_plain(plain),
        "single": lambda: by_single(single, first),
        "vector": lambda: by_vector(vector, rows),
    }
    if options.rlscheduler is not None:
        own = OwnLoop(options.rlscheduler, log, nodes=NODES, first=first, jobs=jobs)
        ways["RLScheduler"] = own.steps
    steps = {name: way() for name, way in ways.items()}
    ours, theirs = single.schedule().start, {"plain Python": np.array([job.start for job in plain.jobs])}
    if options.rlscheduler is not None:
        theirs["RLScheduler"] = own.starts
    seconds = dict(zip(ways, best_of(rounds, *ways.values()), strict=True))
    placed = {name: (many if name == "vector" else 1) * jobs / spent for name, spent in seconds.items()}
    decided = {name: steps[name] / spent for name, spent in seconds.items()}
    report = Report(f"episodes of {jobs} jobs on {NODES} nodes, {PLACES} jobs seen, FCFS, {many} side by side")
    for name, starts in theirs.items():
        same = np.isclose(ours, starts, rtol=0.0, atol=1e-6).mean()
        report.row(f"starts that agree with {name}'s", 100 * same, "%", 100)
    for name in ways:
        report.row(f"{name}: jobs placed", placed[name], "/s")
        report.row(f"{name}: steps", decided[name], "/s")
    for name in theirs:
        report.row(f"single beside {name}, steps", decided["single"] / decided[name], "×")
        report.row(f"vector beside {name}, steps", decided["vector"] / decided[name], "×", 50)
        report.row(f"vector beside {name}, jobs placed", placed["vector"] / placed[name], "×")


if __name__ == "__main__":
    main()
