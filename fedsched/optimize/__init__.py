"""The search for plans: one job log, one machine, one call."""

from fedsched.optimize.verb import optimize as optimize
