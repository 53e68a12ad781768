"""What a comparison is made of, and what can be said of it: tables, ranks, tests, fronts, a report."""

from fedsched.comparison.entrants import Entrant, Outcome
from fedsched.comparison.instances import Budget, Instance
from fedsched.comparison.record import Comparison, RunRecord

__all__ = ["Budget", "Comparison", "Entrant", "Instance", "Outcome", "RunRecord"]
