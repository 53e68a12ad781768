"""SearchProblem: a package of jobs on a federation, packed once, with the batch evaluation that all searches use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays import Plan
from fedsched.engine.batch import in_slices
from fedsched.engine.codes import Dispatch, Placement, QueueKey, SameTime, Saturation
from fedsched.engine.loop import first_unplaceable
from fedsched.engine.pack import caps_table, new_state, pack
from fedsched.engine.simulation import running_without_end, start_of, without_end
from fedsched.errors import InfeasibleError, TraceError, unknown_name
from fedsched.metrics import Column, Measured
from fedsched.search.genome import Layout, Running, Space, decode_weights, evaluate_rows, repair, unpacked
from fedsched.values import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fedsched.engine.arrays import Floats, Ints, State
    from fedsched.federation import Federation
    from fedsched.policies import Policy
    from fedsched.schedule import Schedule
    from fedsched.search.objectives import Objectives
    from fedsched.simulate import RunningJobs
    from fedsched.workload import Workload

SUBMITS = ("now", "keep")
KNOWLEDGE = ("runtime", "estimate")
PLAN_DISPATCH = (Dispatch.GREEDY, Dispatch.STRICT, Dispatch.EASY)


class SearchProblem:
    """A package of jobs on a federation, as searches see it: rows in, objective values out.

    Parameters
    ----------
    workload, federation
        The jobs to plan, and what they run on.
    objectives
        What is minimised.
    submits
        "now": all jobs wait already, as a package. "keep": their submit times stay, and the plan knows them.
    knowledge
        "runtime": plans see true run times. "estimate": what users asked for.
    saturation, kill_at_estimate
        As in `simulate`.
    t0
        The time's origin; the earliest submit when not given.
    running
        Jobs of the workload that run already.
    threads
        How many threads evaluate; results do not depend on it.
    """

    def __init__(
        self,
        workload: Workload,
        federation: Federation,
        objectives: Objectives,
        *,
        submits: str = "now",
        knowledge: str = "runtime",
        saturation: str = "dynamic",
        kill_at_estimate: bool = False,
        t0: float | None = None,
        running: RunningJobs | None = None,
        threads: int = 1,
    ) -> None:
        for kind, value, known in (
            ("submits", submits, SUBMITS),
            ("knowledge", knowledge, KNOWLEDGE),
            ("saturation", saturation, ("dynamic", "static")),
        ):
            if value not in known:
                raise unknown_name(kind, value, known)
        if len(workload) == 0:
            raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to plan.")
        threads = whole("optimize", "threads", threads, least=1)
        t0 = start_of("optimize", t0, running)
        if running is not None and submits == "now":
            raise ValueError("submits='now' would move the running jobs' submits too; use submits='keep' with running.")
        if submits == "now":
            now = float(workload.submit.min()) if t0 is None else float(t0)
            workload = replace(workload, submit=np.full(len(workload), now))
        self.workload = workload
        self.federation = federation
        self.objectives = objectives
        self.submits, self.knowledge, self.saturation = submits, knowledge, saturation
        self.kill_at_estimate = kill_at_estimate
        self.running = running
        self.threads = threads
        self.problem = pack(
            workload,
            federation,
            same_time=SameTime.BATCH,
            saturation=Saturation[saturation.upper()],
            knowledge=knowledge,
            kill_at_estimate=kill_at_estimate,
            t0=t0,
            running=() if running is None else tuple(running.rows.tolist()),
        )
        self.layout = Layout(len(workload), len(federation.groups))
        self.space = self._space()
        self.states: list[State] = [
            new_state(self.problem, dispatch=int(max(PLAN_DISPATCH)), separate_backfill=False) for _ in range(threads)
        ]
        self.no_users = np.zeros((0, 2))

    def anew(self, threads: int = 1) -> SearchProblem:
        """Return the same problem with workspaces of its own, for another thread or process."""
        return SearchProblem(
            self.workload,
            self.federation,
            self.objectives,
            submits=self.submits,
            knowledge=self.knowledge,
            saturation=self.saturation,
            kill_at_estimate=self.kill_at_estimate,
            t0=self.problem.t0,
            running=self.running,
            threads=threads,
        )

    def __getstate__(self) -> dict[str, object]:
        # Workspaces do not travel: a copy is for `anew`.
        return {**self.__dict__, "states": []}

    # ---- evaluation ---------------------------------------------------------------------------------------------

    def metrics(self, rows: Ints) -> Floats:
        """Return the metric rows of feasible plans, evaluated on all threads."""
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        metrics = np.full((len(rows), len(Column)), np.nan)

        def work(thread: int, first: int, last: int) -> None:
            failed = evaluate_rows(
                self.problem, self.space, rows, self.states[thread], self.no_users, metrics, first, last
            )
            if failed >= 0:
                if (endless := running_without_end(self.problem, self.states[thread])) >= 0:
                    raise InfeasibleError(f"Job {self.workload.id[endless]}: {without_end(self.problem, endless)}")
                raise InfeasibleError(f"Plan {failed} has a job that its caps and placement never let start.")

        in_slices(work, len(rows), jobs=self.layout.jobs, threads=self.threads)
        return metrics

    def values(self, rows: Ints) -> Floats:
        """Return what is minimised, plans × objectives."""
        return self.objectives.values(self.metrics(rows))

    # ---- rows ---------------------------------------------------------------------------------------------------

    def repaired(self, rows: Ints) -> Ints:
        """Return the rows, made feasible in place: caps within limits, every job placeable on the empty federation."""
        repair(self.problem, self.space, rows, self.states[0])
        return rows

    def holds(self, rows: Ints) -> bool:
        """Return whether the rows are plans that `repaired` would leave as they are."""
        layout, space = self.layout, self.space
        caps, rules = layout.caps(rows), layout.rules(rows)
        return bool(
            (np.sort(layout.orders(rows), axis=1) == np.arange(layout.jobs)).all()
            and (caps >= 0).all()
            and (caps <= space.limits).all()
            and np.isin(rules[:, 0], space.dispatches).all()
            and np.isin(rules[:, 1], space.placements).all()
            and np.array_equal(self.repaired(rows.copy()), rows)
        )

    def rows_of_keys(self, keys: Floats) -> Ints:
        """Return the plans of genomes of keys, and write the repaired weights back into the genomes.

        A genome is n random keys (the queue order is their ascending rank) and n·G weights.
        """
        jobs = self.layout.jobs
        rows = np.zeros((len(keys), self.layout.length), dtype=np.int64)
        rows[:, :jobs] = np.argsort(keys[:, :jobs], axis=1, kind="stable")
        rows[:, -2:] = self.default_rules()
        weights = np.ascontiguousarray(keys[:, jobs:])
        decode_weights(self.problem, self.space, weights, rows, self.states[0])
        keys[:, jobs:] = weights
        return rows

    def keys_of_rows(self, rows: Ints) -> Floats:
        """Return genomes of keys that decode to these orders and caps (dispatch and placement are left behind)."""
        jobs = self.layout.jobs
        keys = np.empty((len(rows), self.layout.keys_length))
        np.put_along_axis(keys[:, :jobs], rows[:, :jobs], (np.arange(jobs) + 0.5) / jobs, axis=1)
        caps = self.layout.caps(rows)
        keys[:, jobs:] = ((self.space.nodes - caps) / self.space.nodes).reshape(len(rows), -1)
        return keys

    def default_rules(self) -> tuple[int, int]:
        """Return greedy dispatch and `fastest` placement, or the first rule under which every job fits."""
        placements = self.space.placements.tolist()
        fastest = int(Placement.FASTEST)
        return int(Dispatch.GREEDY), fastest if fastest in placements else placements[0]

    def row(self, order: Sequence[int] | Ints, caps: Ints | None = None, rules: tuple[int, int] | None = None) -> Ints:
        """Return one feasible plan of its parts; by default nothing is forbidden and the rules are the default ones."""
        jobs = self.layout.jobs
        permutation = np.asarray(order, dtype=np.int64)
        if permutation.shape != (jobs,) or not np.array_equal(np.sort(permutation), np.arange(jobs)):
            raise ValueError(f"order: it must hold each of the rows 0..{jobs - 1} exactly once.")
        if caps is not None and np.shape(caps) != self.space.limits.shape:
            raise ValueError(f"caps: shape {np.shape(caps)} must be (jobs, groups) = {self.space.limits.shape}.")
        limits = self.space.limits if caps is None else np.asarray(caps, dtype=np.int64)
        chosen = np.array(self.default_rules() if rules is None else rules, dtype=np.int64)
        if chosen[0] not in PLAN_DISPATCH:  # the workspaces have no room for what other rules keep
            known = ", ".join(rule.name.lower() for rule in PLAN_DISPATCH)
            raise ValueError(f"rules: a plan's dispatch must be {known}, not {Dispatch(chosen[0]).name.lower()}.")
        return self.repaired(self.layout.pack(permutation[None], limits[None], chosen[None]))[0]

    def random_rows(self, count: int, rng: np.random.Generator) -> Ints:
        """Return random plans: any order, and whole groups forbidden at random to about half of the jobs."""
        jobs, groups = self.space.limits.shape
        orders = rng.permuted(np.tile(np.arange(jobs), (count, 1)), axis=1)
        forbidden = (rng.random((count, jobs, 1)) < 0.5) & (rng.random((count, jobs, groups)) < 0.5)
        caps = np.where(forbidden, 0, self.space.limits)
        rules = np.tile(np.array(self.default_rules(), dtype=np.int64), (count, 1))
        return self.repaired(self.layout.pack(orders, caps, rules))

    def schedule(self, row: Ints, *, policy: str = "plan") -> Schedule:
        """Return the schedule of a plan, with its full trace."""
        from fedsched.policies import Rules

        order, caps, dispatch, placement = unpacked(self.layout, row)
        rules = Rules(
            order=order,
            dispatch=Dispatch(dispatch).name.lower(),
            placement=Placement(placement).name.lower(),
            name=policy,
        )
        return self.simulated(rules, caps)

    def simulated(
        self,
        policy: str | Policy,
        caps: Ints | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Schedule:
        """Return what a policy does with the package, knowing what plans know."""
        from fedsched.simulate import simulate

        return simulate(
            self.workload,
            self.federation,
            policy,
            saturation=self.saturation,
            knowledge=self.knowledge,
            kill_at_estimate=self.kill_at_estimate,
            caps=caps,
            t0=self.problem.t0,
            running=self.running,
            progress=progress,
        )

    # ---- packing ------------------------------------------------------------------------------------------------

    def _space(self) -> Space:
        problem = self.problem
        jobs = self.layout.jobs
        nodes = np.array(problem.groups.nodes)
        table, row_of = caps_table(self.workload, self.federation)
        limits = np.ascontiguousarray(np.minimum(table[row_of], problem.tasks[:, None]))
        alone = np.arange(jobs)
        shared = Plan(
            order=alone,
            order_key=int(QueueKey.FIXED),
            backfill_order=alone,
            backfill_key=int(QueueKey.FIXED),
            separate_backfill=False,
            caps=limits,
            cap_row=np.arange(jobs),
            dispatch=int(Dispatch.GREEDY),
            placement=int(Placement.FASTEST),
        )
        return Space(
            shared=shared,
            running=self._running_rows(),
            limits=limits,
            nodes=nodes,
            no_load=np.zeros(len(self.federation.clusters)),
            placements=self._placements(shared),
            dispatches=np.array(PLAN_DISPATCH, dtype=np.int64),
            measured=Measured(
                problem.submit,
                problem.tasks,
                problem.user,
                problem.groups.nodes,
                problem.groups.cluster,
                problem.groups.busy_watts,
                problem.groups.idle_watts,
            ),
        )

    def _placements(self, shared: Plan) -> Ints:
        # The rules under which every job fits somewhere on the empty federation.
        state = new_state(self.problem, dispatch=int(Dispatch.STRICT), separate_backfill=False)
        usable = [
            int(rule)
            for rule in Placement
            if first_unplaceable(self.problem, shared._replace(placement=int(rule)), state) < 0
        ]
        if usable:
            return np.array(usable, dtype=np.int64)
        # No rule will do: let simulate() name the job and the reason.
        from fedsched.policies import Rules
        from fedsched.simulate import prepare

        prepare(self.workload, self.federation, Rules(dispatch="greedy"), t0=self.problem.t0, running=self.running)
        raise InfeasibleError(f"Workload {self.workload.name!r}: no placement rule places all of its jobs.")

    def _running_rows(self) -> Running:
        if self.running is None:
            none = np.zeros(0)
            counts = np.zeros((0, self.layout.groups), dtype=np.int64)
            return Running(none, none, none, none, none, none, none, counts)
        now = self.running
        return Running(
            start=np.array(now.start),
            finish=np.array(now.finish),
            planned_end=np.array(now.planned_end),
            tc=np.array(now.tc),
            work_left=np.array(now.work_left),
            estimate_left=np.array(now.estimate_left),
            since=np.array(now.since),
            counts=np.array(now.counts),
        )
