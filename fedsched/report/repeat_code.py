"""Texts on how to repeat a result: the Python code, the command, and what the record does not contain."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.sharing import NodeSharing
from fedsched.model.machine.federation import Federation
from fedsched.model.reading import CLAIRVOYANT, Reading
from fedsched.model.schedule.metrics import NAMES
from fedsched.optimize.baselines import usual_baselines
from fedsched.policies import is_policy
from fedsched.search.problem.objectives import Objectives

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.result import Result
    from fedsched.report.material import Material


CALL = r"(?:head|window|sample|scale_load)\(.*\)"  # steps of a workload's history that are Python calls already
# How communication was drawn. The command line knows only the defaults, and draws after --head.
DRAWN = r"communication: (?P<options>bandwidth=(?P<bandwidth>\S+), compute_fraction=.*, spread=\S+, seed=\d+)"
USUAL = r"communication: bandwidth=(?P<bandwidth>\S+), compute_fraction=\(0\.5, 1\.0\), spread=4, seed=0"
READ = r"read (?P<file>.*?)(?: \((?P<options>\w+=.*)\))?"


def python_of(material: Material) -> str:
    """Return the Python code that repeats the report's search, or its schedules made by policies of a known name.

    Return "" if it has neither.
    """
    result = material.result
    schedules = [one for one in material.schedules if _has_policy(one)]
    if result is None and not schedules:
        return ""
    lines = ["import fedsched as fs", "", *_problem_code(material.workload, material.federation)]
    if result is not None:
        options = [f"{name}={value!r}" for name, value in _options(result).items()]
        options += _sharing_code(result.settings.sharing)
        call = ",\n    ".join(["workload", "cluster", *options])
        return "\n".join([*lines, f"result = fs.optimize(\n    {call},\n)", 'result.report("report.html")'])
    for schedule in schedules:
        sharing = _sharing_of(schedule)
        policy, _, placement = schedule.policy.removesuffix(f", {sharing}").partition(" on ")
        options = [f"placement={placement!r}"] if placement else []
        options += _sharing_code(sharing)
        options += [f"{word}={value!r}" for word, value in schedule.reading.beside(Reading()).items()]
        lines.append(f"schedule = fs.simulate({', '.join(['workload', 'cluster', repr(policy), *options])})")
    return "\n".join([*lines, 'schedule.report("report.html")'])


def shifts_code(workload: Workload, federation: Federation, words: Mapping[str, object], page: str) -> str:
    """Return the Python code that repeats `shifts` (what moving these jobs saves) and writes its page.

    Parameters
    ----------
    workload, federation
        The jobs, and the machine.
    words
        The other arguments of `shifts`.
    page
        The file of the page.

    Examples
    --------
    >>> from fedsched.report import shifts_code
    >>> code = shifts_code(fs.read("sample"), fs.read_federation("example"), {"seed": 1}, "moved.html")
    >>> code.splitlines()[0]
    'import fedsched as fs'
    """
    call = ", ".join(["workload", "cluster", *(f"{name}={_code(value)}" for name, value in words.items())])
    own = _own(workload, words)
    asks = f"found = shifts({call})" + (f"  # the jobs with their own {own}" if own else "")
    lines = ["import fedsched as fs", "from fedsched.optimize.shifting import shifts", ""]
    return "\n".join([*lines, *_problem_code(workload, federation), asks, f"found.report({page!r})"])


def _code(value: object) -> str:
    return f"fs.{value!r}" if isinstance(value, Reading) else repr(value)


def _own(workload: Workload, words: Mapping[str, object]) -> str:
    """Return "homes", "slack", both joined by "and", or "": what `shifts` takes from the jobs, not from its arguments.

    A home is a job's site, and slack its permitted delay, which is the jobs' own unless `words` has "slacks".
    """
    return " and ".join(["homes"] * bool((workload.origin >= 0).any()) + ["slack"] * ("slacks" not in words))


def _problem_code(workload: Workload, federation: Federation) -> list[str]:
    return [f"workload = {_workload_code(workload)}", f"cluster = {_federation_code(federation)}"]


def _sharing_of(schedule: Schedule) -> NodeSharing | None:
    return getattr(schedule, "sharing", None)


def _sharing_code(sharing: NodeSharing | None) -> list[str]:
    """Return the argument sharing= of a Python call; [] if jobs do not share nodes."""
    if sharing is None:
        return []
    usual = sharing == NodeSharing(choice=sharing.choice)
    return [f"sharing={sharing.choice!r}" if usual else f"sharing=fs.{sharing!r}"]


def _has_policy(schedule: Schedule) -> bool:
    """Return whether a schedule was made by a policy of a known name."""
    return is_policy(schedule.policy.partition(" on ")[0])


def command_of(result: Result) -> str:
    """Return the shell commands that repeat a search and write its report; "" if the command line cannot repeat it."""
    options = _options(result)
    if {"weights", "t0", "baselines"} & set(options) or not set(result.objectives) <= set(NAMES):
        return ""
    trace = _trace_words(result.workload)
    if not trace:
        return ""
    words = ["fedsched", "optimize", *trace, *_federation_words(result.federation)]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if name == "objectives":
            words += [word for one in result.objectives for word in ("--objective", one)]
        elif value is True:
            words.append(option)
        else:
            words += [option, str(value)]
    if (sharing := result.settings.sharing) is not None:
        words += ["--sharing", sharing.choice]
        words += ["--reservation", sharing.reservation] if sharing.reservation != NodeSharing().reservation else []
    return shlex.join([*words, "--save", "result.json"]) + "\n" + "fedsched report result.json --out report.html"


def warnings_of(material: Material, *, python: bool = False) -> list[str]:
    """Return warnings for readers on what the code and the command do not repeat, a sentence or two each.

    `python` says whether the caller gives its own Python code; then a missing policy name is no warning.
    """
    result = material.result
    found = []
    if not _shipped_workload(material.workload):
        found.append(
            f"The workload is the log that calls itself {material.workload.name!r}; a result saved by `result.save` "
            "holds its jobs: fs.Result.load(path).workload."
        )
    others = _other_steps(material.workload)
    if others:
        found.append(f"What else was done to the jobs: {'; '.join(others)}.")
    if result is None:
        strange = dict.fromkeys(one.policy for one in material.schedules if not _has_policy(one))
        if strange and not python:
            found.append(f"Not made by a policy of that name alone, so no Python is given: {', '.join(strange)}.")
        if any(schedule.knowledge is None or schedule.same_time is None for schedule in material.schedules):
            found.append(
                "It is not recorded what a policy knew (knowledge=) and how it read events of one instant "
                "(same_time=); the start hash tells whether a repetition is the same."
            )
        return found
    functions = [name for name in result.objectives if name not in NAMES]
    if functions:
        found.append(f"Objectives that are functions of your own: {', '.join(functions)}; pass them again.")
    settings = result.settings
    if settings.seconds is not None:
        found.append(
            "A budget in seconds gives plans alike, not the same; with evaluations in its place the same seed gives "
            "the same plans on any machine and number of threads."
        )
    if settings.seconds is None and re.fullmatch(r"[\d.e+]+ s", result.stop_reason):
        found.append("The record is an old one, which does not hold the budget that the search was given.")
    if settings.initial:
        found.append(f"The search began with {settings.initial} plans that were given to it; pass them again.")
    if settings.own_rules:
        found.append("The search had stopping rules of its own; pass them again.")
    if result.running is not None:
        found.append("Jobs ran already at its begin; pass running= again.")
    return found


def versions() -> dict[str, str]:
    """Return the present versions of fedsched, Python and numpy."""
    import platform

    import numpy as np

    import fedsched

    return {"fedsched": fedsched.__version__, "python": platform.python_version(), "numpy": np.__version__}


def _options(result: Result) -> dict[str, object]:
    """Return the options of `optimize`, by name, that repeat a result: those that differ from the defaults.

    Objectives, method, budget and seed are always included.
    """
    settings = result.settings
    given: dict[str, object] = {"objectives": result.objectives, "method": result.method}
    if settings.evaluations is not None:
        given["evaluations"] = settings.evaluations
    if settings.seconds is not None:
        given["seconds"] = settings.seconds
    if settings.target is not None:
        given["target"] = settings.target
    given["seed"] = result.seed
    optional = {
        "encoding": (settings.encoding, ""),
        "seeds": (settings.seeds, "structured"),
        "islands": (result.islands, 1),
        "package": (settings.package, 0),
        "submits": (settings.submits, "now"),
    }
    given |= {name: value for name, (value, usual) in optional.items() if value != usual}
    given |= settings.reading.beside(CLAIRVOYANT)
    if set(result.objectives) <= set(NAMES) and result.weights != Objectives(result.objectives).weights:
        given["weights"] = result.weights
    policies = tuple(baseline.policy for baseline in result.baselines)
    usual = {*usual_baselines(len(result.workload), shared=settings.sharing is not None)}
    asked = (*policies, *result.refused)
    if not ({*asked} <= usual <= {*asked, *result.left_out}):
        given["baselines"] = asked  # the search begins with their plans
    if settings.submits == "keep" and settings.t0 not in (None, float(result.workload.submit.min())):
        given["t0"] = settings.t0
    return given


def _shipped_workload(workload: Workload) -> bool:
    # Checked by its file and its jobs, since other logs may be named "sample"; submits may have been scaled since.
    from fedsched.io import read_example
    from fedsched.io.examples import example_names

    known = example_names("workload").get(workload.name)
    if known is None or _source(workload) != (known.name, ""):
        return False
    shipped = read_example(workload.name)
    same = shipped.take(np.flatnonzero(np.isin(shipped.id, workload.id)))
    columns = ("id", "tasks", "runtime", *(() if _other_steps(workload) else ("estimate", "user")))
    return all(np.array_equal(getattr(same, name), getattr(workload, name)) for name in columns)


def _shipped_federation(federation: Federation) -> str:
    from fedsched.io.examples import example_names

    if federation.name in example_names("federation") and Federation.example(federation.name) == federation:
        return federation.name
    return ""


def _workload_code(workload: Workload) -> str:
    steps = _steps(workload)
    made = re.fullmatch(r"generated: (lublin\(.*\))", steps[0]) if steps else None
    if made:
        source = f"fs.generate.{made[1]}"
    elif _shipped_workload(workload):
        source = f"fs.Workload.example({workload.name!r})"
    else:
        file, how = _source(workload)
        source = f"fs.read({', '.join(filter(None, [repr(file or f'{workload.name}.swf'), how]))})"
    return "".join([source, *(f".{call}" for step in steps if (call := _call(step)))])


def _call(step: str) -> str:
    """Return a step of a workload's history as the Python call of a workload's method; "" if it cannot be one."""
    drawn = re.fullmatch(DRAWN, step)
    return f"with_communication({drawn['options']})" if drawn else step if re.fullmatch(CALL, step) else ""


def _other_steps(workload: Workload) -> list[str]:
    # The steps that have no Python call, in words.
    return [step for step in _steps(workload) if not (_call(step) or step.startswith("generated: lublin"))]


def _source(workload: Workload) -> tuple[str, str]:
    """Return the name of the file that the jobs were last read from, and the options of that reading, as text.

    Both are "" if the history has no reading, and the options are "" if they were the defaults.
    """
    reads = [found for step in workload.history if (found := re.fullmatch(READ, step))]
    return (reads[-1]["file"], reads[-1]["options"] or "") if reads else ("", "")


def _steps(workload: Workload) -> list[str]:
    """Return the steps of a workload's history after its last reading from a file; earlier ones are in that file."""
    steps = list(workload.history)
    last = max((k for k, step in enumerate(steps) if re.fullmatch(READ, step)), default=-1)
    return steps[last + 1 :]


def _trace_words(workload: Workload) -> list[str]:
    """Return the command-line arguments that give these jobs; [] if the command line cannot.

    It reads files with default options only, and takes first jobs (--head) and default communication.
    """
    file, how = _source(workload)
    steps = _steps(workload)
    sent = re.fullmatch(USUAL, steps[-1]) if steps else None
    steps = steps[:-1] if sent else steps
    heads = [int(found[1]) for step in steps if (found := re.fullmatch(r"head\((\d+)\)", step))]
    if not file or how or len(heads) < len(steps):
        return []
    words = [workload.name if _shipped_workload(workload) else file]
    words += ["--head", str(min(heads))] if heads else []
    return [*words, "--communication", sent["bandwidth"]] if sent else words


def _federation_code(federation: Federation) -> str:
    shipped = _shipped_federation(federation)
    if shipped:
        return "fs.Federation.example()" if shipped == "example" else f"fs.Federation.example({shipped!r})"
    if federation.watts_assumed and federation == Federation.homogeneous(federation.nodes, name=federation.name):
        return f"fs.Federation.homogeneous({federation.nodes})"
    return 'fs.read_federation("federation.toml")  # its text is below'


def _federation_words(federation: Federation) -> list[str]:
    code = _federation_code(federation)
    if code.startswith("fs.Federation.homogeneous"):
        return ["--nodes", str(federation.nodes)]
    return ["--federation", _shipped_federation(federation) or "federation.toml"]
