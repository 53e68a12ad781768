"""Pictures of schedules, searches and comparisons; most functions draw on Matplotlib axes and return these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.lazy import lazily

if TYPE_CHECKING:
    from fedsched.plot import attainment as attainment
    from fedsched.plot import convergence as convergence
    from fedsched.plot import cycle as cycle
    from fedsched.plot import gantt as gantt
    from fedsched.plot import load as load
    from fedsched.plot import pareto as pareto
    from fedsched.plot import profile as profile
    from fedsched.plot import ranks as ranks
    from fedsched.plot import result as result
    from fedsched.plot import style as style
    from fedsched.plot import surface as surface

_HOMES = {
    "attainment": "plot.attainment",
    "convergence": "plot.convergence",
    "cycle": "plot.cycle",
    "gantt": "plot.gantt",
    "load": "plot.load",
    "pareto": "plot.pareto",
    "profile": "plot.profile",
    "ranks": "plot.ranks",
    "result": "plot.result",
    "style": "plot.style",
    "surface": "plot.surface",
}
__all__ = [
    "attainment",
    "convergence",
    "cycle",
    "gantt",
    "load",
    "pareto",
    "profile",
    "ranks",
    "result",
    "style",
    "surface",
]
__getattr__, __dir__ = lazily(__name__, _HOMES)
