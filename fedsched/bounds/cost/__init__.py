"""Bounds on sums over jobs and on costs: Lagrangian prices over time, linear programs, and the cheapest hours.

The input is a relaxation (jobs without contention on classes of equal nodes). The output is multipliers, and the bounds
that they prove.
"""
