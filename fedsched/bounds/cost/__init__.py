"""Bounds on sums over jobs and on costs: Lagrangian prices over time, linear programs, and the cheapest hours.

The input is a relaxation; the output is multipliers, and the bounds that they prove.
"""
