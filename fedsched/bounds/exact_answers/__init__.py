"""Optimal schedules of small problems, by constraint programming.

The input is a workload and a federation; the output is the best schedule, and a bound that the solver has proven.
"""
