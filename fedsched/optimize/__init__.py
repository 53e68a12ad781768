"""The search for plans: one job log, one machine, one call."""

from fedsched.optimize.entry_point import optimize as optimize
