"""Results as complete JSON files, so that a Result can be inspected and repeated anywhere.

Version 2 of the format has the jobs that ran at the begin; version 1 lacks them. A file of version 1 is read if its
plans and baselines, simulated without such jobs, have the values that it states.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FedschedError, TraceError, shortened
from fedsched.engine.shared_nodes.arrays import Held
from fedsched.engine.sharing import NodeSharing
from fedsched.engine.sharing.result import SharedSchedule, shared_schedule
from fedsched.model.jobs.job import OPTIONAL
from fedsched.model.jobs.layout import layout_of
from fedsched.model.jobs.log import CleaningReport
from fedsched.model.jobs.shaping import with_shapes
from fedsched.model.jobs.workload import Workload
from fedsched.model.reading import CLAIRVOYANT
from fedsched.model.schedule.integrals import Integrals
from fedsched.model.schedule.lost import LostRuns
from fedsched.model.schedule.node_use import NodeUse
from fedsched.model.schedule.promises import Promises
from fedsched.model.schedule.schedule import Schedule
from fedsched.optimize.result.record import Baseline, Front, PlannedQueue, Result, Settings

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.simulate import RunningJobs

FORMAT = "fedsched result 2"
WORDS = ("knowledge", "saturation", "kill_at_estimate", "alternatives")  # of the reading; a search's instants are whole
OF_USE = ("job", "node", "tasks", "devices")  # columns of a NodeUse
WITHOUT_RUNNING = "fedsched result 1"
COLUMNS = (
    "submit", "tasks", "runtime", "estimate", "id", "compute_fraction", "task_bandwidth", "origin", "user",
)  # fmt: skip


def write_result(result: Result, path: str | PathLike[str]) -> None:
    """Write a Result to a JSON file."""
    from fedsched.io.atomic import atomic_text

    with atomic_text(path) as stream:
        json.dump(as_data(result), stream)


def read_result(path: str | PathLike[str], *, baselines: bool | None = None) -> Result:
    """Return the Result of a file, checked against its jobs and plans; parts that cannot be checked are `unverified`.

    Raise TraceError if the file is missing, damaged or untrue.
    """
    from fedsched.io.files import read_json
    from fedsched.optimize.result.verification import DeniedError, verified

    if not Path(path).is_file():
        raise TraceError(f"{path}: there is no such file; check the path.")
    try:
        data = read_json(path)
    except TraceError as error:
        raise TraceError(f"{error} A saved result is JSON; save it again.") from None
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, WITHOUT_RUNNING):
        raise TraceError(f"{path}: not a saved result: its format is neither {FORMAT!r} nor {WITHOUT_RUNNING!r}.")
    try:
        result = of_data(data)
        return replace(result, unverified=verified(result, baselines=baselines)).keep(result.problem)
    except DeniedError as error:
        raise TraceError(f"{path}: a saved result, but not a true one: {error}{_why(data)}; search again.") from None
    except (FedschedError, KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise TraceError(
            f"{path}: a saved result, but damaged ({type(error).__name__}: {shortened(str(error), 200)})."
        ) from None


def _why(data: dict[str, Any]) -> str:
    # Possible causes other than an edited file.
    import fedsched

    reasons = []
    if data["format"] == WITHOUT_RUNNING and data["settings"].get("submits") == "keep":
        reasons.append("jobs may have run at its begin, which files of this old format do not hold")
    if (saved_by := data["versions"].get("fedsched")) != fedsched.__version__:
        reasons.append(f"it was saved by fedsched {shortened(str(saved_by), 20)}, this is {fedsched.__version__}")
    return f" ({'; '.join(reasons)})" if reasons else ""


def as_data(result: Result) -> dict[str, Any]:
    """Return a Result as plain data that JSON can hold; NaN becomes None."""
    from fedsched.io.platforms.toml import federation_text

    w = result.workload
    return {
        "format": FORMAT,
        "workload": {
            **{name: getattr(w, name).tolist() for name in COLUMNS},
            "allowed": None if w.allowed is None else w.allowed.tolist(),
            "sites": list(w.sites),
            "name": w.name,
            "nodes": w.nodes,
            "cleaning": None if w.cleaning is None else asdict(w.cleaning),
            "history": list(w.history),
            "header": [list(pair) for pair in w.header],
            **{field: None if (part := getattr(w, field)) is None else part.data() for field in OPTIONAL},
        },
        "federation": federation_text(result.federation),
        "settings": _settings_data(result.settings),
        "method": result.method,
        "seed": result.seed,
        "objectives": list(result.objectives),
        "weights": list(result.weights),
        "front": _front_data(result.front),
        "baselines": [asdict(baseline) for baseline in result.baselines],
        "lower_bounds": {name: _or_none(value) for name, value in result.lower_bounds.items()},
        "bound_front": result.bound_front.tolist(),
        "energy_penalty": _or_none(result.energy_penalty),
        "history": [asdict(moment) for moment in result.history],
        "evaluations": result.evaluations,
        "seconds": result.seconds,
        "stop_reason": result.stop_reason,
        "versions": result.versions,
        "packages": result.packages,
        "islands": result.islands,
        "running": _running_data(result.running),
        "left_out": list(result.left_out),
        "refused": result.refused,
        "warm_up": result.warm_up,
    }


def of_data(data: dict[str, Any]) -> Result:
    """Return the Result made from the data of `as_data`, not yet checked."""
    from fedsched.io.platforms.toml import federation_of_data
    from fedsched.search.run.run import Moment

    jobs = data["workload"]
    workload = Workload(
        **{name: jobs[name] for name in COLUMNS},
        allowed=None if jobs["allowed"] is None else np.array(jobs["allowed"], dtype=np.bool_),
        sites=tuple(jobs["sites"]),
        name=jobs["name"],
        nodes=jobs["nodes"],
        cleaning=CleaningReport(**jobs["cleaning"]) if jobs.get("cleaning") else None,
        history=tuple(jobs["history"]),
        header=[(label, text) for label, text in jobs.get("header", ())],
        **{field: jobs.get(field) for field in OPTIONAL},
    )
    federation = federation_of_data(tomllib.loads(data["federation"]), source="saved result", name="federation")
    objectives = tuple(data["objectives"])
    values = np.array(data["front"]["values"], dtype=np.float64).reshape(-1, len(objectives))
    settings = _settings_of(data["settings"])
    plans = tuple(_plan_of(plan, workload, federation, settings.sharing) for plan in data["front"]["plans"])
    return Result(
        workload=workload,
        federation=federation,
        settings=settings,
        method=data["method"],
        seed=data["seed"],
        objectives=objectives,
        weights=tuple(data["weights"]),
        front=Front(objectives, values, plans, _planned_of(data["front"]), tuple(data["front"].get("missing", ()))),
        baselines=tuple(
            Baseline(
                one["policy"],
                tuple(one["values"]),
                tuple(one["planned"]) if one.get("planned") is not None else None,  # absent from older files
                one.get("missing", 0),
                one.get("late", 0.0),
            )
            for one in data["baselines"]
        ),
        lower_bounds={name: _or_nan(value) for name, value in data["lower_bounds"].items()},
        bound_front=np.array(data["bound_front"], dtype=np.float64).reshape(-1, 2),
        energy_penalty=_or_nan(data["energy_penalty"]),
        history=tuple(
            Moment(one["evaluations"], one["seconds"], tuple(one["best"]), one["hypervolume"])
            for one in data["history"]
        ),
        evaluations=data["evaluations"],
        seconds=data["seconds"],
        stop_reason=data["stop_reason"],
        versions=data["versions"],
        packages=data["packages"],
        islands=data["islands"],
        running=_running_of(data["running"]) if data.get("running") is not None else None,
        left_out=tuple(str(name) for name in data.get("left_out", ())),  # files of version 1 have none of these three
        refused={str(name): str(why) for name, why in data.get("refused", {}).items()},
        warm_up=float(data.get("warm_up", 0.0)),
    )


def _front_data(front: Front) -> dict[str, Any]:
    data: dict[str, Any] = {"values": front.values.tolist(), "plans": [_plan_data(plan) for plan in front.plans]}
    planned = {} if front.planned is None else {"planned": front.planned.tolist()}
    return {**data, **planned, **({"missing": list(front.missing)} if front.missing else {})}


def _planned_of(front: dict[str, Any]) -> NDArray[np.float64] | None:
    planned = front.get("planned")
    return None if planned is None else np.array(planned, dtype=np.float64).reshape(np.shape(front["values"]))


def _settings_data(settings: Settings) -> dict[str, Any]:
    data = asdict(settings)
    return data | {word: value for word, value in data.pop("reading").items() if word in WORDS}


def _settings_of(data: dict[str, Any]) -> Settings:
    words = {word: data[word] for word in WORDS if word in data}
    others = {name: data[name] for name in data if name not in WORDS}
    if others.get("sharing") is not None:
        others["sharing"] = NodeSharing(**others["sharing"])
    return Settings(reading=CLAIRVOYANT.but(**words), **others)


APART = ("shapes", "submit", "use")  # what a plan's data has beside the fields of a schedule


def _running_data(running: RunningJobs | None) -> dict[str, Any] | None:
    if running is None or not running.rows.size:
        return None
    held = None if running.held is None else _lists(running.held)
    return _lists(running._replace(held=None)) | ({} if held is None else {"held": held})


def _lists(of: RunningJobs | Held) -> dict[str, Any]:
    columns = of._asdict().items()
    return {
        name: values.tolist() if isinstance(values, np.ndarray) else values
        for name, values in columns
        if values is not None
    }


def _running_of(data: dict[str, Any]) -> RunningJobs:
    from fedsched.simulate import RunningJobs

    held, columns = data.get("held"), dict[str, Any](time=float(data["time"]))
    for name in RunningJobs._fields:
        if name not in ("time", "held"):
            columns[name] = np.array(data[name], dtype=np.int64 if name in ("rows", "counts") else np.float64)
    if held is not None:
        columns["held"] = Held(*(np.array(held[name], dtype=np.int64) for name in Held._fields))
    return RunningJobs(**columns)


def _plan_data(plan: PlannedQueue) -> dict[str, Any]:
    if plan.schedule is not None:
        s = plan.schedule
        return {
            "start": s.start.tolist(), "finish": s.finish.tolist(), "counts": s.counts.tolist(), "t0": s.t0,
            "policy": s.policy, **asdict(s.reading),
            **{name: _or_none(value) for name, value in s.integrals._asdict().items()},
            "notes": list(s.notes),
            **({"lost": [column.tolist() for column in s.lost]} if s.lost.runs else {}),
            **({} if s.delays is None else {"delays": s.delays.tolist()}),
            **({} if s.workload.feedback is None else {"submit": s.workload.submit.tolist()}),
            **({} if s.promises is None else {"promises": _promises_data(s.promises)}),
            **({} if plan.alternatives is None else {"shapes": plan.alternatives.tolist()}),
            **({"use": _use_data(s.use)} if isinstance(s, SharedSchedule) else {}),
        }  # fmt: skip
    if plan.order is None:
        return {"policy": plan.policy}
    caps = None if plan.caps is None else plan.caps.tolist()
    shapes = {} if plan.alternatives is None else {"alternatives": plan.alternatives.tolist()}
    return {
        "order": plan.order.tolist(), "caps": caps, "dispatch": plan.dispatch, "placement": plan.placement, **shapes,
        **({} if plan.delays is None else {"delays": plan.delays.tolist()}),
    }  # fmt: skip


def _promises_data(promises: Promises) -> list[list[float | None]]:
    return [[_or_none(time) for time in promises.time.tolist()], promises.turn.tolist()]


def _promises_of(data: list[list[float | None]]) -> Promises:
    times, turns = data
    return Promises(np.array([_or_nan(time) for time in times]), np.array(turns, dtype=np.int64))


def _use_data(use: NodeUse) -> dict[str, Any]:
    return {name: getattr(use, name).tolist() for name in OF_USE}


def _with_use(schedule: Schedule, sharing: NodeSharing, data: dict[str, Any]) -> SharedSchedule:
    columns: dict[str, Any] = {name: np.array(data[name], dtype=np.int64) for name in OF_USE}
    jobs: dict[str, Any] = {name: getattr(schedule, name) for name in ("workload", "federation", "start", "finish")}
    use = NodeUse(**jobs, alone=layout_of(schedule.workload)[1], **columns)
    return shared_schedule(schedule, sharing, [(use, np.arange(len(schedule)))])


def _plan_of(
    data: dict[str, Any], workload: Workload, federation: Federation, sharing: NodeSharing | None = None
) -> PlannedQueue:
    if "start" in data:
        shapes = np.array(data["shapes"], dtype=np.int64) if "shapes" in data else None
        jobs = workload if shapes is None else with_shapes(workload, federation, shapes)
        schedule = Schedule(
            workload=replace(jobs, submit=data["submit"]) if "submit" in data else jobs,
            federation=federation,
            integrals=Integrals(*(_or_nan(data.get(name)) for name in Integrals._fields)),  # older files lack some
            **{
                **{name: value for name, value in data.items() if name not in (*Integrals._fields, *APART)},
                "start": np.array(data["start"], dtype=np.float64),
                "finish": np.array(data["finish"], dtype=np.float64),
                "counts": np.array(data["counts"], dtype=np.int64),
                "notes": tuple(data.get("notes", ())),  # absent from files of version 1
                "lost": LostRuns.of(list(zip(*data["lost"], strict=True))) if "lost" in data else None,
                "promises": _promises_of(data["promises"]) if "promises" in data else None,
            },
        )
        if "use" in data and sharing is not None:
            schedule = _with_use(schedule, sharing, data["use"])
        return PlannedQueue(schedule=schedule, alternatives=shapes)
    if "policy" in data:
        return PlannedQueue(policy=data["policy"])
    caps = None if data["caps"] is None else np.array(data["caps"], dtype=np.int64)
    order = np.array(data["order"], dtype=np.int64)
    shapes = np.array(data["alternatives"], dtype=np.int64) if "alternatives" in data else None
    rules = {"dispatch": data["dispatch"], "placement": data["placement"]}
    delays = np.array(data["delays"], dtype=np.int64) if "delays" in data else None
    return PlannedQueue(order=order, caps=caps, alternatives=shapes, delays=delays, **rules)


def _or_none(value: float) -> float | None:
    return None if value != value else value


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
