"""Environments: steps and jobs a second, single and vector, beside an environment in plain Python in the same process.

The plain one is `plain_environment.py`, after RLScheduler's description. SchedGym and RLScheduler themselves cannot be
installed from a package registry, so nothing is said of them. All see 128 jobs and always choose the first one,
which gives FCFS in each: the starts are compared first, and then the jobs placed a second.
"""

from __future__ import annotations

import numpy as np
from measuring import Report, arguments, best_of
from plain_environment import PlainEnvironment, PlainJob

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


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    jobs, many, rounds = (40, 4, 1) if smoke else (JOBS, SIDE_BY_SIDE, 5)
    cluster = fs.Federation.homogeneous(NODES)
    log = fs.Workload.example().filter(fs.Workload.example().tasks <= NODES).sorted()
    first = 100
    plain = plain_of(log, first, jobs)
    single = SchedulingEnv(log, cluster, jobs=jobs, waiting_places=PLACES)
    vector = SchedulingVectorEnv(log, cluster, num_envs=many, jobs=jobs, waiting_places=PLACES, copy=False)
    rows = np.full(many, first)
    steps = [by_plain(plain), by_single(single, first), by_vector(vector, rows)]
    ours, theirs = single.schedule().start, np.array([job.start for job in plain.jobs])
    same = np.isclose(ours, theirs, rtol=0.0, atol=1e-6).mean()
    ways = (lambda: by_plain(plain), lambda: by_single(single, first), lambda: by_vector(vector, rows))
    seconds = best_of(rounds, *ways)
    placed = [jobs / seconds[0], jobs / seconds[1], many * jobs / seconds[2]]
    decided = [count / spent for count, spent in zip(steps, seconds, strict=True)]
    report = Report(f"episodes of {jobs} jobs on {NODES} nodes, {PLACES} jobs seen, FCFS, {many} side by side")
    report.row("starts that agree with the plain environment's", 100 * same, "%", 100)
    for name, jobs_a_second, steps_a_second in zip(("plain Python", "single", "vector"), placed, decided, strict=True):
        report.row(f"{name}: jobs placed", jobs_a_second, "/s")
        report.row(f"{name}: steps", steps_a_second, "/s")
    report.row("single beside plain Python, steps", decided[1] / decided[0], "×")
    report.row("vector beside plain Python, steps", decided[2] / decided[0], "×", 50)
    report.row("vector beside plain Python, jobs placed", placed[2] / placed[0], "×")


if __name__ == "__main__":
    main()
