"""Searches over plans: encodings and their operators, the methods, and the run that drives them.

A plan is a queue order with caps on each job's nodes, a dispatch rule and a placement rule; a simulation evaluates it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.lazy import lazily

if TYPE_CHECKING:
    from fedsched.io.trees import Saved as Saved
    from fedsched.search.encoding.genome import PlanLayout as PlanLayout
    from fedsched.search.methods.adapters import deap_individual_toolbox as deap_individual_toolbox
    from fedsched.search.methods.adapters import deap_toolbox as deap_toolbox
    from fedsched.search.methods.adapters import pymoo_problem as pymoo_problem
    from fedsched.search.methods.methods import METHODS as METHODS
    from fedsched.search.methods.methods import Method as Method
    from fedsched.search.methods.methods import MethodInfo as MethodInfo
    from fedsched.search.methods.methods import Welcoming as Welcoming
    from fedsched.search.problem.objectives import Objectives as Objectives
    from fedsched.search.problem.problem import SearchProblem as SearchProblem
    from fedsched.search.run.archive import Archive as Archive
    from fedsched.search.run.archive import Entry as Entry
    from fedsched.search.run.run import Moment as Moment
    from fedsched.search.run.run import Run as Run
    from fedsched.search.run.stopping import GapReached as GapReached
    from fedsched.search.run.stopping import MaxEvaluations as MaxEvaluations
    from fedsched.search.run.stopping import MaxSeconds as MaxSeconds
    from fedsched.search.run.stopping import NoProgress as NoProgress
    from fedsched.search.run.stopping import StoppingRule as StoppingRule
    from fedsched.search.run.stopping import Target as Target

_HOMES = {
    "Archive": "search.run.archive",
    "deap_individual_toolbox": "search.methods.adapters",
    "deap_toolbox": "search.methods.adapters",
    "Entry": "search.run.archive",
    "GapReached": "search.run.stopping",
    "MaxEvaluations": "search.run.stopping",
    "MaxSeconds": "search.run.stopping",
    "Method": "search.methods.methods",
    "MethodInfo": "search.methods.methods",
    "METHODS": "search.methods.methods",
    "Moment": "search.run.run",
    "NoProgress": "search.run.stopping",
    "Objectives": "search.problem.objectives",
    "PlanLayout": "search.encoding.genome",
    "pymoo_problem": "search.methods.adapters",
    "Run": "search.run.run",
    "Saved": "io.trees",
    "SearchProblem": "search.problem.problem",
    "StoppingRule": "search.run.stopping",
    "Target": "search.run.stopping",
    "Welcoming": "search.methods.methods",
}
__all__ = [
    "METHODS",
    "Archive",
    "Entry",
    "GapReached",
    "MaxEvaluations",
    "MaxSeconds",
    "Method",
    "MethodInfo",
    "Moment",
    "NoProgress",
    "Objectives",
    "PlanLayout",
    "Run",
    "Saved",
    "SearchProblem",
    "StoppingRule",
    "Target",
    "Welcoming",
    "deap_individual_toolbox",
    "deap_toolbox",
    "pymoo_problem",
]
__getattr__, __dir__ = lazily(__name__, _HOMES)
