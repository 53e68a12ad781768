"""fedsched: schedule batches of parallel jobs on one cluster or a federation of clusters."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from fedsched.core import moved

if TYPE_CHECKING:
    from fedsched import bounds as bounds
    from fedsched import errors as errors
    from fedsched import executors as executors
    from fedsched import gang as gang
    from fedsched import generate as generate
    from fedsched import io as io
    from fedsched import market as market
    from fedsched import model as model
    from fedsched import plot as plot
    from fedsched import policies as policies
    from fedsched import report as report
    from fedsched import search as search
    from fedsched import site as site
    from fedsched import slurm as slurm
    from fedsched.compare import Budget as Budget
    from fedsched.compare import Instance as Instance
    from fedsched.compare import compare as compare
    from fedsched.engine.sharing import NodeSharing as NodeSharing
    from fedsched.io import read as read
    from fedsched.io import read_federation as read_federation
    from fedsched.io import write as write
    from fedsched.model.jobs.job import Job as Job
    from fedsched.model.jobs.workload import Workload as Workload
    from fedsched.model.machine.federation import Cluster as Cluster
    from fedsched.model.machine.federation import Federation as Federation
    from fedsched.model.machine.federation import NodeGroup as NodeGroup
    from fedsched.model.machine.federation import Pool as Pool
    from fedsched.model.machine.limits import Limit as Limit
    from fedsched.model.machine.partition import Partition as Partition
    from fedsched.model.reading import Reading as Reading
    from fedsched.model.schedule.schedule import Schedule as Schedule
    from fedsched.model.time.downtimes import Downtime as Downtime
    from fedsched.model.time.signal import Signal as Signal
    from fedsched.optimize import optimize as optimize
    from fedsched.optimize.result import Result as Result
    from fedsched.optimize.rolling import Rolling as Rolling
    from fedsched.optimize.shifting import shifts as shifts
    from fedsched.policies import ListHeuristic as ListHeuristic
    from fedsched.policies import Policy as Policy
    from fedsched.policies import Rules as Rules
    from fedsched.simulate import simulate as simulate
    from fedsched.site.tuning import tune as tune
    from fedsched.study import study as study
    from fedsched.study.scenario import Scenario as Scenario

__version__ = "0.2.0"

# Public name -> the module or package that holds it, imported when the name is first used. None: a package itself.
_HOME: dict[str, str | None] = {
    "Budget": "compare",
    "Cluster": "model.machine.federation",
    "Downtime": "model.time.downtimes",
    "Federation": "model.machine.federation",
    "Instance": "compare",
    "Job": "model.jobs.job",
    "Limit": "model.machine.limits",
    "ListHeuristic": "policies",
    "NodeGroup": "model.machine.federation",
    "NodeSharing": "engine.sharing",
    "Partition": "model.machine.partition",
    "Policy": "policies",
    "Pool": "model.machine.federation",
    "Reading": "model.reading",
    "Result": "optimize.result",
    "Rolling": "optimize.rolling",
    "Rules": "policies",
    "Scenario": "study.scenario",
    "Schedule": "model.schedule.schedule",
    "Signal": "model.time.signal",
    "Workload": "model.jobs.workload",
    "bounds": None,
    "compare": "compare",
    "errors": None,
    "executors": None,
    "gang": None,
    "generate": None,
    "io": None,
    "market": None,
    "model": None,
    "optimize": "optimize",
    "plot": None,
    "policies": None,
    "read": "io",
    "read_federation": "io",
    "report": None,
    "search": None,
    "shifts": "optimize.shifting",
    "simulate": "simulate",
    "site": None,
    "slurm": None,
    "study": "study",
    "tune": "site.tuning",
    "write": "io",
}

__all__ = [
    "Budget",
    "Cluster",
    "Downtime",
    "Federation",
    "Instance",
    "Job",
    "Limit",
    "ListHeuristic",
    "NodeGroup",
    "NodeSharing",
    "Partition",
    "Policy",
    "Pool",
    "Reading",
    "Result",
    "Rolling",
    "Rules",
    "Scenario",
    "Schedule",
    "Signal",
    "Workload",
    "__version__",
    "bounds",
    "compare",
    "errors",
    "executors",
    "gang",
    "generate",
    "io",
    "market",
    "model",
    "optimize",
    "plot",
    "policies",
    "read",
    "read_federation",
    "report",
    "search",
    "shifts",
    "simulate",
    "site",
    "slurm",
    "study",
    "tune",
    "write",
]


class _Package(ModuleType):
    """The type of the package: `fedsched.simulate` stays the function even if the module of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing fedsched.simulate makes Python bind that module here, over the function of that name.
        if isinstance(value, ModuleType) and _HOME.get(name) == name:
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
moved.install()


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'fedsched' has no attribute {name!r}")
    home = _HOME[name]
    module = import_module(f"fedsched.{home or name}")
    return module if home is None else getattr(module, name)


def __dir__() -> list[str]:
    return list(__all__)
