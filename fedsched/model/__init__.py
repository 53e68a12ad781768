"""The model: the classes for jobs, machines, constraints and schedules that all other code uses.

It also has the metrics of schedules and the checks that a schedule is valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.lazy import lazily

if TYPE_CHECKING:
    from fedsched.model.jobs.assumed import Noted as Noted
    from fedsched.model.jobs.log import CleaningReport as CleaningReport
    from fedsched.model.jobs.log import LogColumns as LogColumns
    from fedsched.model.schedule.integrals import Integrals as Integrals
    from fedsched.model.schedule.metrics import Metric as Metric
    from fedsched.model.schedule.metrics import Metrics as Metrics
    from fedsched.model.schedule.node_use import NodeUse as NodeUse
    from fedsched.model.schedule.workflows import Workflow as Workflow

_HOMES = {
    "CleaningReport": "model.jobs.log",
    "Integrals": "model.schedule.integrals",
    "LogColumns": "model.jobs.log",
    "Metric": "model.schedule.metrics",
    "Metrics": "model.schedule.metrics",
    "NodeUse": "model.schedule.node_use",
    "Noted": "model.jobs.assumed",
    "Workflow": "model.schedule.workflows",
}
__all__ = [
    "CleaningReport",
    "Integrals",
    "LogColumns",
    "Metric",
    "Metrics",
    "NodeUse",
    "Noted",
    "Workflow",
]
__getattr__, __dir__ = lazily(__name__, _HOMES)
