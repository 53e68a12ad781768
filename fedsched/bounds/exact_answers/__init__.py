"""Optimal schedules of small problems, by constraint programming.

The input is a workload and a federation. The output is the best schedule found, and a bound that the solver has proven.
"""
