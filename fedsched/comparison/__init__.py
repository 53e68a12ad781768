"""Comparisons of methods: runs on instances, and tables, ranks, tests, fronts and a report of them."""

from fedsched.comparison.entrants import Entrant, Outcome
from fedsched.comparison.instances import Budget, Instance
from fedsched.comparison.record import Comparison, RunRecord

__all__ = ["Budget", "Comparison", "Entrant", "Instance", "Outcome", "RunRecord"]
