"""A long workload in packages: each searched from the state that the plan before it leaves (the thesis's mode)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.baselines import baseline_schedules, values_of
from fedsched.optimize import Search, bound_on, bounds_of, problem_of, search_once, versions, warm_up
from fedsched.policies import Rules
from fedsched.result import Baseline, Front, PlannedQueue, Result
from fedsched.schedule import Schedule
from fedsched.search.driver import ended_early
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from fedsched.engine.arrays import Ints
    from fedsched.federation import Federation
    from fedsched.search.checkpoint import Checkpoint
    from fedsched.search.problem import SearchProblem
    from fedsched.search.run import Moment
    from fedsched.simulate import RunningJobs
    from fedsched.workload import Workload


def optimize_in_packages(search: Search, whole: SearchProblem, package: int, saved: Checkpoint) -> Result:
    """Return one schedule of the whole problem, made package by package, and one history.

    A package is searched at the moment when the last job of the one before it starts (with submits="keep", not before
    its own last job is submitted); what still runs then, runs on beside it.
    """
    if package < 1:
        raise ValueError(f"package={package} must be at least 1 job.")
    if len(search.objectives.names) > 1:
        raise ValueError(
            f"package={package} makes one schedule, so it needs one objective, not {search.objectives.names}; "
            "name one, e.g. objectives='makespan'."
        )
    warm_up(search)
    workload, cluster, t0 = whole.workload, whole.federation, whole.problem.t0
    jobs = len(workload)
    start, finish = np.full(jobs, np.nan), np.full(jobs, np.nan)
    counts = np.zeros((jobs, len(cluster.groups)), dtype=np.int64)
    done: list[Result] = []
    history: list[Moment] = []
    now, running, still = t0, whole.running, np.zeros(0, dtype=np.int64)
    if running is not None:
        running, still = replace(running, rows=np.arange(len(running.rows))), running.rows
    waiting = whole.problem.arrival[~np.isin(whole.problem.arrival, still)]
    packages = [waiting[begin : begin + package] for begin in range(0, len(waiting), package)]
    for number, fresh in enumerate(packages, 1):
        now = max(now, float(workload.submit[fresh].max()))
        rows = np.concatenate([still, fresh])
        part = workload.take(rows)
        inner = replace(search, settings=replace(search.settings, submits="keep", t0=now), baselines=())
        problem = problem_of(inner, part, cluster, running=running)
        known = number <= len(saved.packages)
        result = saved.packages[number - 1] if known else search_once(inner, problem, saved)
        history += _later(result.history, done)
        done.append(result)
        if not len(result.front):
            break  # cut short before its first plan
        best = result.best()
        start[rows], finish[rows], counts[rows] = best.start, best.finish, best.counts
        early = ended_early(result.stop_reason)
        if known:
            saved.check(problem.objectives, result.front.values * problem.objectives.signs, values_of(problem, [best]))
        elif not early:
            saved.end_package(result)
        if early or number == len(packages):
            break
        now = max(float(best.start[len(still) :].max()), float(workload.submit[packages[number]].max()))
        running, still = _state_at(now, result, part, cluster, running, rows)
    schedule = Schedule(
        workload=workload,
        federation=cluster,
        start=start,
        finish=finish,
        counts=counts,
        t0=t0,
        saturation=search.settings.saturation,
        policy=f"{search.info.name} in packages of {package}",
        kill_at_estimate=search.settings.kill_at_estimate,
        notes=() if not np.isnan(start).any() else (f"interrupted in package {len(done)} of {len(packages)}",),
    )
    schedules = baseline_schedules(whole, search.baselines)
    names, values = list(schedules), values_of(whole, schedules.values())
    bounds = bounds_of(whole)
    (objective,) = search.objectives.names
    row = np.array(tuple(schedule.metrics(users=False).as_dict().values()))
    value = float(search.objectives.values(row)[0] * search.objectives.signs[0])
    return Result(
        workload=workload,
        federation=cluster,
        settings=replace(search.settings, t0=t0),
        method=search.info.name,
        seed=search.seed,
        objectives=search.objectives.names,
        weights=search.objectives.weights,
        front=Front(search.objectives.names, np.array([[value]]), (PlannedQueue(schedule=schedule),)),
        baselines=tuple(
            Baseline(name, tuple((row * search.objectives.signs).tolist()))
            for name, row in zip(names, values, strict=True)
        ),
        lower_bounds={objective: bound_on(bounds, objective)},
        bound_front=np.zeros((0, 2)),
        energy_penalty=float("nan"),
        history=tuple(history),
        evaluations=sum(result.evaluations for result in done),
        seconds=sum(result.seconds for result in done),
        stop_reason=done[-1].stop_reason,
        versions=versions(),
        packages=len(packages),
        islands=search.islands,
    )


def _later(history: tuple[Moment, ...], done: list[Result]) -> list[Moment]:
    # A package's history, counted on from those before it.
    evaluations = sum(result.evaluations for result in done)
    seconds = sum(result.seconds for result in done)
    return [
        replace(moment, evaluations=evaluations + moment.evaluations, seconds=seconds + moment.seconds)
        for moment in history
    ]


def _state_at(
    time: float, result: Result, part: Workload, cluster: Federation, running: RunningJobs | None, rows: Ints
) -> tuple[RunningJobs, Ints]:
    """Return what the package's best plan has running at a time, as the first rows of the next package."""
    plan = result.front.plans[result.front.best_index(result.objectives[0])]
    settings = result.settings
    run = prepare(
        part,
        cluster,
        Rules(order="fcfs" if plan.order is None else plan.order, dispatch=plan.dispatch, placement=plan.placement),
        caps=plan.caps,
        knowledge=settings.knowledge,
        saturation=settings.saturation,
        kill_at_estimate=settings.kill_at_estimate,
        t0=settings.t0,
        running=running,
    )
    state = run.advance(until=time).running()
    return replace(state, time=time, rows=np.arange(len(state.rows))), rows[state.rows]
