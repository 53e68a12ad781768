"""Apply changes in words, such as policy=fcfs, nodes=+20% or set.bf_interval=60, to a case of a study."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from fedsched.core.errors import FederationError, FieldError, shown, unknown_name
from fedsched.io.slurm_files.slurm_conf import SlurmConf, read_slurm_conf
from fedsched.io.slurm_files.slurm_keys import GLOBAL, KEYS, SECTION_OF, Treatment
from fedsched.io.slurm_files.slurm_values import is_on
from fedsched.model.jobs.labels import Labels
from fedsched.model.power.switching import power_saving_named
from fedsched.model.time.downtimes import Downtime
from fedsched.policies import policy_or_own
from fedsched.slurm import Slurm
from fedsched.slurm.conf.parameters import SWITCHES
from fedsched.study.machine_sizes import on_hosts, resized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fedsched.core.names import PlacementName
    from fedsched.study.study_case import Case

    Change = str | Callable[[Case], Case]

KNOWN = ("policy", "placement", "nodes", "set.NAME", "conf", "federate", "partition", "estimates",
         "maintenance", "load", "power")  # fmt: skip
SCHEDULER = "SchedulerParameters"
CLUSTER = "clustername"
OF_FILES = (CLUSTER, "slurm_version")  # parameters that no scenario may set
FEDERATE: dict[str, PlacementName] = {"home": "home", "single": "single", "co": "fastest"}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)\.\.(\d+(?:\.\d+)?)([smhdw]?)", re.ASCII)
_LENGTH = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def scenarios_of(given: object) -> dict[str, Change]:
    """Return a mapping from scenarios' names to changes; a change without a name is named by its words or function.

    `given` is one change, a list of changes, or a mapping. Raise if two names are equal.
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        pairs = [_named(one) for one in listed]
    found: dict[str, Change] = {}
    for name, change in pairs:
        if not isinstance(name, str) or not (isinstance(change, str) or callable(change)):
            raise TypeError(
                f"study: scenarios={shown(given)} must be words or functions, by name or not: fs.study(base, "
                "{'more nodes': 'nodes=+20%'}) or fs.study(base, ['nodes=+20%', 'policy=fcfs'])."
            )
        if name in found:
            raise ValueError(f"Two scenarios are named {name!r}; give one another name.")
        found[name] = change
    return found


def _named(change: object) -> tuple[object, object]:
    if not isinstance(change, str):
        return getattr(change, "__name__", None), change
    name, mark, words = change.partition(": ")
    return name.strip(), (words if mark else name).strip()


def change_of(change: Change) -> Callable[[Case], Case]:
    """Return a change as a function from a case to a case; words are applied from left to right."""
    if not isinstance(change, str):
        return change
    words = dict(_words(change))

    def changed(case: Case) -> Case:
        for name, value in words.items():
            case = _applied(case, name, value)
        return case

    return changed


def _words(text: str) -> Iterator[tuple[str, str]]:
    for word in text.split():
        name, mark, value = word.partition("=")
        if not mark or not value:
            raise FieldError("{scenario}={!r}: {!r} must be NAME=VALUE, e.g. nodes=+20% or policy=fcfs.", text, word)
        if not name.startswith("set.") and name not in KNOWN:
            raise unknown_name("change", name, KNOWN)
        yield name, value


def _applied(case: Case, name: str, value: str) -> Case:
    match name:
        case "policy":
            return _under(case, value)
        case "placement":
            return replace(case, placement=cast("PlacementName", value))
        case "nodes":
            return resized(case, value)
        case "conf":
            return _with_file(case, read_slurm_conf(value))
        case "federate":
            return _federated(case, value)
        case "partition":
            return _moved(case, value)
        case "estimates":
            return _estimated(case, value)
        case "maintenance":
            return _closed(case, value)
        case "load":
            return _loaded(case, value)
        case "power":
            return _saving(case, value)
    return _set(case, name.removeprefix("set."), value)


def _under(case: Case, name: str) -> Case:
    if name.lower() == "slurm":
        if not isinstance(case.policy, Slurm):
            raise FieldError("{policy}={!r} needs the configuration of a dump; give a dump's folder.", name)
        return case
    return replace(case, policy=policy_or_own(name))


def _slurm_of(case: Case, what: str) -> Slurm:
    if not isinstance(case.policy, Slurm):
        raise FieldError("{scenario}={!r} changes a slurm.conf, and the policy is {}; begin with a dump.", what,
                         str(case.policy))  # fmt: skip
    return case.policy


def _set(case: Case, name: str, value: str) -> Case:
    """Return the case with another value of a parameter of slurm.conf or of its SchedulerParameters."""
    slurm = _slurm_of(case, f"set.{name}={value}")
    parameters = dict(slurm.conf.parameters)
    small = name.lower()
    _check_decides(name, value)
    if small in KEYS[SCHEDULER]:
        words = [one for one in parameters.get(SCHEDULER.lower(), "").split(",") if one]
        words = [one for one in words if one.partition("=")[0].strip().lower() != small]
        if small not in SWITCHES:
            words.append(f"{small}={value}")
        elif is_on(value, f"set.{name}", name):
            words.append(small)
        parameters[SCHEDULER.lower()] = ",".join(words)
    else:
        parameters[small] = value
    return _with_conf(case, replace(slurm.conf, parameters=parameters))


def _check_decides(name: str, value: str) -> None:
    """Raise if setting a parameter of slurm.conf changes nothing: it does not exist in Slurm, or is not modelled."""
    tables = (KEYS[SCHEDULER], KEYS[GLOBAL])
    decides = (Treatment.MODELLED, Treatment.BY_WORD)
    known = {key.name for keys in tables for small, key in keys.items() if key.standing in decides
             and small not in SECTION_OF and small not in OF_FILES}  # fmt: skip
    key = next((keys[name.lower()] for keys in tables if name.lower() in keys), None)
    if key is None:
        raise unknown_name("parameter of slurm.conf (as in set.NAME=VALUE)", name, known)
    if key.name in known:
        return
    why = "decides on no start" if key.standing is Treatment.IGNORED else "is not modelled"
    if name.lower() in SECTION_OF or name.lower() in OF_FILES:
        why = "is of a whole file"
    raise FieldError("{scenario}={!r} changes nothing: {} {}; leave it out, or give another file as conf=FILE.",
                     f"set.{name}={value}", key.name, why)  # fmt: skip


def _with_conf(case: Case, conf: SlurmConf) -> Case:
    """Return the case under another configuration, with a note on each thing that only this one does not model."""
    slurm = _slurm_of(case, "conf")
    policy = slurm.on_another(conf)
    for note in policy.notes:
        if note not in slurm.notes:
            case = case.noted(note)
    return replace(case, policy=policy)


def _with_file(case: Case, conf: SlurmConf) -> Case:
    """Return the case under a slurm.conf, on the machine of that file.

    The cluster's name and the order of hosts stay those of the dump. Downtimes of single nodes stay if the hosts do.
    """
    old = _slurm_of(case, f"conf={conf.path}").conf
    hosts = [host for host in old.nodes if host in conf.nodes]
    hosts += [host for host in conf.nodes if host not in old.nodes]
    conf = replace(
        conf,
        nodes={host: conf.nodes[host] for host in hosts},
        parameters=dict(conf.parameters) | {CLUSTER: old.name},
    )
    return on_hosts(_with_conf(case, conf), old, conf, f"conf={conf.path}")


def _federated(case: Case, value: str) -> Case:
    if value not in FEDERATE:
        raise unknown_name("way to federate", value, FEDERATE)
    if len(case.federation.clusters) < 2:
        raise FieldError("{federate}={!r} needs several clusters; give several logs or dumps.", value)
    return replace(case, placement=FEDERATE[value])


def _moved(case: Case, value: str) -> Case:
    source, mark, target = value.partition(">")
    names = [one.name for one in case.federation.partitions]
    for name in (source, target):
        if not mark or name not in names:
            raise unknown_name("partition (as in partition=FROM>TO)", name, names)
    labels = {name: case.workload.label(name) for name in (case.workload.labels.texts if case.workload.labels else {})}
    asked = labels.get("partition")
    if asked is None:
        raise FieldError("{partition}={!r}: no job requests a partition; leave it out.", value)
    labels["partition"] = np.where(case.workload.partition == source, target, asked).astype(object)
    return replace(case, workload=replace(case.workload, labels=Labels.of(labels, case.workload.id)))


def _estimated(case: Case, value: str) -> Case:
    """Return the case with other requested times: the exact run times, or the present ones times a factor.

    A requested time does not become shorter than the run time.
    """
    workload = case.workload
    if value == "exact":
        return replace(case, workload=replace(workload, estimate=workload.runtime))
    factor = re.fullmatch(r"x(\d+(?:\.\d+)?)", value, re.ASCII)
    if factor is None or float(factor[1]) <= 0:
        raise FieldError("{estimates}={!r} must be exact, or a factor as x0.5.", value)
    estimate = np.maximum(workload.estimate * float(factor[1]), workload.runtime)
    return replace(case, workload=replace(workload, estimate=estimate))


def _closed(case: Case, value: str) -> Case:
    """Return the case with all nodes in maintenance over a span such as 1d..1.5d, counted from the first submit."""
    match = _SPAN.fullmatch(value)
    if match is None:
        raise FieldError("{maintenance}={!r} must be a span from the first submit on, as 36h..44h or 2d..2.5d.", value)
    first = float(case.workload.submit[case.compared].min(initial=np.inf))
    begin, end = (first + float(match[k]) * _LENGTH[match[k + 1]] for k in (1, 3))
    closed = tuple(Downtime(one.name, begin, end, name="maintenance") for one in case.federation.clusters)
    case = replace(case, federation=replace(case.federation, calendar=(*case.federation.calendar, *closed)))
    said = f"all nodes closed from {case.said(begin)} to {case.said(end)}, counted from the first submit"
    return case.noted(f"maintenance={value}: {said}")


def _loaded(case: Case, value: str) -> Case:
    if not re.fullmatch(r"\d+(?:\.\d+)?", value, re.ASCII) or float(value) <= 0:
        raise FieldError("{load}={!r} must be a factor: 1.2 for a fifth more jobs in the same time.", value)
    return replace(case, workload=case.workload.scale_load(float(value)), zero=None)


def _saving(case: Case, value: str) -> Case:
    """Return the case with idle nodes switched off as a text says, such as timeout:10m."""
    try:
        return replace(case, federation=replace(case.federation, power=power_saving_named(value)))
    except FederationError as error:
        raise FieldError("{power}={!r}: {}", value, str(error)) from None


def sweep_of(text: str) -> Mapping[str, str]:
    """Return the scenarios of a sweep such as nodes=80%..140%:10 or set.bf_interval=30..120:30, by name."""
    match = re.fullmatch(
        r"([\w.]+)=(\D*?)(\d+(?:\.\d+)?)(%?)\.\.(\D*?)(\d+(?:\.\d+)?)(%?):(\d+(?:\.\d+)?)%?", text, re.ASCII
    )
    if match is None or match[4] != match[7] or match[2] != match[5] or float(match[8]) <= 0:
        raise FieldError("{sweep}={!r} must be NAME=FROM..TO:STEP, as nodes=80%..140%:10.", text)
    first, last, step = float(match[3]), float(match[6]), float(match[8])
    values = np.arange(first, last + step * 1e-9, step).tolist()
    if not values or len(values) > 200:
        raise FieldError("{sweep}={!r} has {} values; give 1 to 200.", text, len(values))
    words = [f"{match[1]}={match[2]}{value:g}{match[4]}" for value in values]
    return {word: word for word in words}
