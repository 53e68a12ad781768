"""Reading and writing of Batsim's JSON workloads: jobs, and profiles that describe the work of jobs."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import TraceError, unknown_name
from fedsched.core.text import one_line
from fedsched.io.atomic import atomic_text
from fedsched.io.files import SKIP, parse_json, read_text
from fedsched.io.swf import WHOLE_JOBS
from fedsched.io.swf.cleaning import SITES_NOTE, Clean, Cleaning, OverRequest, Sites, workload_of_log
from fedsched.io.swf.swf_table import FIELDS, OnError, RawLog
from fedsched.io.tables.frame import named
from fedsched.model.jobs.job import EXTRAS
from fedsched.model.jobs.log import UNREAD, CleaningReport, Demand

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload

# The names that versions of Batsim give to profiles with a run time.
DELAYS = ("delay", "DelayProfile")
EACH = ("parallel_homogeneous", "ptask_homogeneous", "ParallelTaskHomogeneousProfile", "msg_par_hg")
TOTAL = ("parallel_homogeneous_total", "msg_par_hg_tot")
SPREAD = ("DefinedAmountsSpreadUniformly", "defined_amount_spread_uniformly")
KNOWN_TYPES = (*DELAYS, *EACH, *TOTAL)
# The fields of a job and of its profile that are read, or that add nothing to those.
READ = {"id", "subtime", "res", "profile", "walltime", "extra_data", "description", "comment"}
READ_OF_PROFILES = {"type", "delay", "cpu", "com", "generation_strategy", "np", "description", "comment"}
MOST_NAMES = 5
OURS = "fedsched"  # the key of data for which Batsim has no field


def read_batsim(
    path: str | PathLike[str],
    *,
    clean: Clean = "standard",
    nodes: int | None = None,
    over_request: OverRequest = "raise",
    statuses: Collection[int] | None = WHOLE_JOBS,
    sites: Sites = "auto",
    rebase: bool = False,
    renumber: bool = False,
    on_error: OnError = "raise",
    name: str | None = None,
    node_speed: float | None = None,
) -> Workload:
    """Return the jobs of a Batsim workload; its `cleaning` counts what was left out or altered.

    A delay is a job's run time. A homogeneous parallel task runs cpu / `node_speed` seconds, and each of its n tasks
    sends com·(n − 1) bytes in that time, which gives its bandwidth. In Batsim computation hides communication, so its
    compute fraction is 1 (contention does not stretch it) unless fedsched wrote another one. Profiles of other types
    (traces, sequences, matrices, storage) give no run time without Batsim's network: they are an error, or with
    on_error="skip" their jobs are left out and counted.

    Parameters
    ----------
    path
        A JSON file with `nb_res`, `jobs` and `profiles`.
    clean, nodes, over_request, statuses, sites, rebase, renumber, on_error, name
        As in `fedsched.io.read_swf`. In Batsim a job ends at its walltime, as with over_request="cap". If an
        id is no whole number, the jobs get new ids.
    node_speed
        The flop/s of a reference node, for profiles that count flops; `fedsched.io.node_speed`
        reads it from a platform file.

    Examples
    --------
    >>> from fedsched.io import read_batsim, write_batsim
    >>> write_batsim(fs.read("sample").head(50), "first.json")
    >>> len(read_batsim("first.json"))
    50
    """
    how = Cleaning(
        clean=clean,
        nodes=nodes,
        over_request=over_request,
        statuses=statuses,
        sites=sites,
        rebase=rebase,
        renumber=renumber,
        name=name,
    )
    return workload_of_log(read_log(path, on_error=on_error, node_speed=node_speed), path, how)


def read_log(path: str | PathLike[str], *, on_error: OnError = "raise", node_speed: float | None = None) -> RawLog:
    """Return the jobs of a Batsim workload as a log with the fields of the Standard Workload Format, not cleaned.

    A job without a run time raises a TraceError, or is left out and counted with on_error="skip".
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error={on_error!r} must be "raise" or "skip".')
    _check_speed(node_speed)
    return _Reader(str(path), node_speed, skip=on_error == "skip").log()


def _check_speed(node_speed: float | None) -> None:
    if node_speed is not None and not (math.isfinite(node_speed) and node_speed > 0):
        raise ValueError(f"node_speed={node_speed!r} must be finite and above 0 flop/s.")


class ProfileError(TraceError):
    """The error for a profile from which no run time can be computed."""


class _Reader:
    """A reader of one Batsim workload; it holds the parsed jobs, profiles, number of nodes and names of sites."""

    def __init__(self, path: str, node_speed: float | None, *, skip: bool) -> None:
        self.path = path
        self.node_speed = node_speed
        self.skip = skip
        data = parse_json(read_text(path), path)
        self.jobs, self.profiles = self._member(data, "jobs", list), self._member(data, "profiles", dict)
        nodes = data.get("nb_res", 0)
        if isinstance(nodes, bool) or not isinstance(nodes, int) or not 0 <= nodes < 2**53:
            raise TraceError(f"{path}: nb_res={_short(nodes)} must be a whole number of nodes.")
        ours = data.get(OURS)
        ours = ours if isinstance(ours, dict) else {}
        self.nodes = 0 if ours.get("nodes") == 0 else nodes
        named = ours.get("sites", [])
        if not isinstance(named, list) or not all(isinstance(site, str) for site in named):
            raise TraceError(f"{path}: {OURS}.sites={_short(named)} must be a list of names.")
        self.sites = {site: k for k, site in enumerate(named)}

    def _member(self, data: Any, key: str, kind: type) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get(key), kind):
            what = "a list" if kind is list else "an object"
            raise TraceError(
                f"{self.path}: it has no {key!r}, {what}; a Batsim workload has nb_res, jobs and profiles."
            )
        return data[key]

    def log(self) -> RawLog:
        """Return the jobs as a log with the fields of the Standard Workload Format.

        An invalid job raises a TraceError, or is left out and counted with `skip`. If ids are not all whole and
        distinct, the jobs are numbered from 1.
        """
        rows: list[tuple[float, ...]] = []
        said: list[dict[str, Any]] = []
        unread: list[set[str]] = []
        malformed = unmapped = 0
        for k, job in enumerate(self.jobs):
            try:
                row, ours, names = self._row(job, f"{self.path}, job {k + 1}"), self._ours(job, ""), self._unread(job)
                self._check(ours, k + 1)
            except TraceError as error:
                if not self.skip:
                    raise
                unmapped += isinstance(error, ProfileError)
                malformed += not isinstance(error, ProfileError)
            else:
                rows.append(row)
                said.append(ours)
                unread.append(names)
        if not rows:
            raise TraceError(f"{self.path}: it has no job with a run time.")
        ids, submit, runtime, tasks, limit, user, site, fraction, bandwidth = np.array(rows, dtype=np.float64).T
        numbered = bool(np.isfinite(ids).all()) and len(np.unique(ids)) == len(ids)
        table = np.full((len(FIELDS), len(rows)), -1.0)
        table[0] = ids if numbered else np.arange(1, len(rows) + 1)
        table[1], table[3], table[4], table[7], table[8], table[11] = submit, runtime, tasks, tasks, limit, user
        table[10] = 1.0  # each job completes
        table[15] = np.where(site >= 0, site + 1, -1)
        columns: dict[str, NDArray[Any]] = {"compute_fraction": fraction, "task_bandwidth": bandwidth}
        for field, kind in EXTRAS.items():
            columns |= named(kind, kind.of_jobs([ours.get(field) for ours in said]))
        header: list[tuple[str, str]] = [("MaxProcs", str(self.nodes))] if self.nodes else []
        if any(unread):
            columns["demands"] = np.array([Demand.UNREAD * bool(names) for names in unread], dtype=np.float64)
            header += [(UNREAD, _listed(set().union(*unread)))]
        if self.sites:
            header += [("Partition", f"{k + 1} {site}") for site, k in self.sites.items()]
            header += [SITES_NOTE]
            allowed = [ours.get("allowed") for ours in said]
            if any(names is not None for names in allowed):
                columns["allowed"] = np.array([[names is None or s in names for s in self.sites] for names in allowed])
        return RawLog(
            table,
            tuple(header),
            malformed,
            columns=columns,
            found=CleaningReport(records=0, kept=0, unmapped=unmapped, renumbered=0 if numbered else len(rows)),
            logged=any(unread),
        )

    def _row(self, job: Any, where: str) -> tuple[float, ...]:
        if not isinstance(job, dict):
            raise TraceError(f"{where}: {_short(job)} is no object.")
        for key in ("id", "subtime", "res", "profile"):
            if key not in job:
                raise TraceError(f"{where}: it has no {key!r}; a job has id, subtime, res and profile.")
        where = f"{where} (id {_short(job['id'])})"
        tasks = _real(job["res"], f"{where}: res")
        if tasks < 1 or tasks != int(tasks):
            raise TraceError(f"{where}: res={_short(job['res'])} must be a whole number of at least 1.")
        ours = self._ours(job, where)
        runtime, bandwidth = self._runtime(job["profile"], tasks, where)
        site = ours.get("origin")
        if site is not None and (not isinstance(site, str) or site not in self.sites):
            raise TraceError(f"{where}: origin={_short(site)} is not among {OURS}.sites.")
        return (
            _id(job["id"]),
            _real(job["subtime"], f"{where}: subtime"),
            runtime,
            tasks,
            _real(job["walltime"], f"{where}: walltime") if job.get("walltime") is not None else -1.0,
            _real(ours.get("user", -1), f"{where}: user"),
            -1.0 if site is None else self.sites[site],
            _real(ours.get("compute_fraction", 1.0), f"{where}: compute_fraction"),
            _real(ours.get("task_bandwidth", bandwidth), f"{where}: task_bandwidth"),
        )

    def _ours(self, job: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the data that fedsched wrote to a job's `extra_data`; {} if there are none."""
        extra = job.get("extra_data")
        if not isinstance(extra, str) or OURS not in extra:
            return {}
        data = parse_json(extra, f"{where}: extra_data")
        ours = data.get(OURS, {}) if isinstance(data, dict) else {}
        return ours if isinstance(ours, dict) else {}

    def _unread(self, job: Mapping[str, Any]) -> set[str]:
        """Return the names of non-empty fields of a job and its profile that are not read."""
        profile = self.profiles[job["profile"]]
        said = {name for name, value in job.items() if value and name not in READ}
        said |= {f"profile's {name}" for name, value in profile.items() if value and name not in READ_OF_PROFILES}
        extra = job.get("extra_data")
        return said | ({"extra_data"} if extra and not self._ours(job, "") else set())

    def _runtime(self, name: Any, tasks: float, where: str) -> tuple[float, float]:
        """Return the run time in seconds that a profile gives a job of `tasks` tasks, and the bytes a second of a task.

        Raise a TraceError if the profile is unknown, has no run time, or counts flops and no node speed is given.
        """
        if not isinstance(name, str) or name not in self.profiles:
            raise TraceError(
                f"{where}: {unknown_name('profile', name if isinstance(name, str) else _short(name), self.profiles)}"
            )
        profile, where = self.profiles[name], f"{where}, profile {name[:40]!r}"
        kind = profile.get("type") if isinstance(profile, dict) else None
        if kind in DELAYS:
            return _real(profile.get("delay"), f"{where}: delay"), 0.0
        if kind not in (*EACH, *TOTAL):
            raise ProfileError(
                f"{where}: its type {_short(kind)} says no run time; known are {', '.join(KNOWN_TYPES)}. "
                f"{SKIP} leaves such jobs out and counts them."
            )
        flops, sent = (_real(profile.get(key, 0), f"{where}: {key}") for key in ("cpu", "com"))
        if kind in TOTAL or profile.get("generation_strategy") in SPREAD:
            flops, sent = flops / tasks, sent / max(1.0, tasks * (tasks - 1))
        if not flops > 0:
            raise ProfileError(f"{where}: cpu={flops!r} flops: how long it only sends depends on Batsim's network.")
        if self.node_speed is None:
            raise TraceError(
                f"{where}: it counts flops: give read_batsim(..., node_speed=flop/s of a node), or convert it with "
                "--federation PLATFORM.xml."
            )
        seconds = flops / self.node_speed
        return seconds, sent * (tasks - 1) / seconds if seconds > 0 else 0.0

    def _check(self, ours: Mapping[str, Any], job: int) -> None:
        """Raise a TraceError if the data that fedsched wrote about a job are invalid; `job` is its place from 1."""
        names = ours.get("allowed") or []
        if not isinstance(names, list) or not all(isinstance(one, str) and one in self.sites for one in names):
            raise TraceError(
                f"{self.path}, job {job}: allowed={_short(names)} must be a list of names of {OURS}.sites."
            )
        for field in EXTRAS.keys() & ours.keys():
            try:
                EXTRAS[field].of(EXTRAS[field].of_jobs([ours[field]]), np.array([job]))
            except (TypeError, ValueError, OverflowError) as error:
                raise TraceError(f"{self.path}, job {job}: {field}={_short(ours[field])}: {error}") from None


def _listed(names: set[str]) -> str:
    """Return names on one line: at most 5, each shortened to 40 characters, and how many more there are."""
    shown = [name if len(name) <= 40 else f"{name[:39]}…" for name in sorted(names)[:MOST_NAMES]]
    return one_line(", ".join(shown)) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def _short(value: object) -> str:
    return repr(value)[:40]


def _real(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2.0**63:
        raise TraceError(f"{where}={_short(value)} must be a number.")
    return float(value)


def _id(value: Any) -> float:
    """Return a job's number: `17`, "17", or 17 of the workload w0 in "w0!17"; NaN for any other text."""
    text = str(value).rpartition("!")[2]
    return float(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else math.nan


# ---- writing ------------------------------------------------------------------------------------------------------


def write_batsim(workload: Workload, path: str | PathLike[str], *, node_speed: float | None = None) -> None:
    """Write a Batsim workload; `read_batsim` reads back the same jobs, but not all that their log says.

    Data for which Batsim has no field (user, site, compute fraction, bandwidth) are in each job's `extra_data`, which
    Batsim passes on; header, history and the log's other columns are lost.

    Parameters
    ----------
    workload, path
        The workload, and the file to write.
    node_speed
        The flop/s of a reference node: if given, communicating jobs of several tasks are written as homogeneous
        parallel tasks with flops and bytes (their run times are read back to about 15 digits), all others as delays.

    Examples
    --------
    >>> from fedsched.io import read_batsim, write_batsim
    >>> write_batsim(fs.read("sample").head(50), "first.json")
    >>> bool((read_batsim("first.json").tasks == fs.read("sample").head(50).tasks).all())
    True
    """
    _check_speed(node_speed)
    profiles: dict[str, dict[str, object]] = {}
    jobs = list(_jobs(workload, profiles, node_speed))
    head: dict[str, Any] = {"nb_res": workload.nodes or int(workload.tasks.max(initial=1))}
    if workload.sites or not workload.nodes:
        # Batsim needs a size even if none is known.
        head[OURS] = {"sites": list(workload.sites)} | ({} if workload.nodes else {"nodes": 0})
    with atomic_text(path) as out:
        out.write(json.dumps(head)[:-1])
        out.write(',\n"jobs": [\n')
        out.write(",\n".join(map(json.dumps, jobs)))
        out.write('\n],\n"profiles": {\n')
        out.write(",\n".join(f"{json.dumps(name)}: {json.dumps(profile)}" for name, profile in profiles.items()))
        out.write("\n}}\n")


def _jobs(
    workload: Workload, profiles: dict[str, dict[str, object]], node_speed: float | None
) -> Iterator[dict[str, object]]:
    """Give each job as an object for Batsim's JSON, and add its profile to `profiles`."""
    w = workload
    columns = (w.id, w.submit, w.tasks, w.runtime, w.estimate, w.user, w.origin, w.compute_fraction, w.task_bandwidth)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for row, (job, submit, tasks, runtime, estimate, user, origin, fraction, bandwidth) in enumerate(rows):
        if node_speed is not None and bandwidth > 0 and tasks > 1:
            profile = f"task{job}"
            profiles[profile] = {
                "type": EACH[0],
                "cpu": runtime * node_speed,
                "com": bandwidth * runtime / (tasks - 1),
            }
        else:
            profile = f"delay{runtime!r}"
            profiles[profile] = {"type": DELAYS[0], "delay": runtime}
        ours: dict[str, object] = {}
        if user != -1:
            ours["user"] = user
        if origin >= 0:
            ours["origin"] = w.sites[origin]
        if fraction != 1.0 or bandwidth:
            ours |= {"compute_fraction": fraction, "task_bandwidth": bandwidth}
        if w.allowed is not None:
            ours["allowed"] = [site for site, may in zip(w.sites, w.allowed[row].tolist(), strict=True) if may]
        ours |= {field: asked for field, part in w.extras.items() if (asked := part.of_job(row)) is not None}
        said: dict[str, object] = {
            "id": str(job), "subtime": submit, "walltime": estimate, "res": tasks, "profile": profile,
        }  # fmt: skip
        yield said | ({"extra_data": json.dumps({OURS: ours})} if ours else {})
