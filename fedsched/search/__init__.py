"""Searches over plans: encodings and their operators, the methods, and the run that drives them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedsched.search.methods.adapters import deap_individual_toolbox as deap_individual_toolbox
    from fedsched.search.methods.adapters import deap_toolbox as deap_toolbox
    from fedsched.search.methods.adapters import pymoo_problem as pymoo_problem
    from fedsched.search.methods.methods import METHODS as METHODS
    from fedsched.search.problem.objectives import Objectives as Objectives
    from fedsched.search.problem.problem import SearchProblem as SearchProblem

_HOME = {
    "METHODS": "methods.methods",
    "Objectives": "problem.objectives",
    "SearchProblem": "problem.problem",
    "deap_individual_toolbox": "methods.adapters",
    "deap_toolbox": "methods.adapters",
    "pymoo_problem": "methods.adapters",
}
__all__ = ["METHODS", "Objectives", "SearchProblem", "deap_individual_toolbox", "deap_toolbox", "pymoo_problem"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'fedsched.search' has no attribute {name!r}")
    return getattr(import_module(f"fedsched.search.{_HOME[name]}"), name)
